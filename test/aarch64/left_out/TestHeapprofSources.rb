exclude(:test_the_library_of_the_ruby_that_the_program_is_installed_with,
        "it copies the program, which is here a script that starts the one for AArch64")
