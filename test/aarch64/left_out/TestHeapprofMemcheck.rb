exclude(:test_valgrind_finds_the_same_blocks, "Valgrind cannot run an emulated program")
exclude(:test_the_leak_of_rbs, "bundled gems are not built for AArch64")
# So all of a stack is looked at, and old words in it lead to what is lost.
reason = "in /proc/self/task qemu shows stack pointers of its own"
exclude(:test_lost_12_memcheck_lose, reason)
exclude(:test_what_a_thread_asks_for_without_the_gvl_has_its_ruby_line_and_what_a_thread_of_its_own_asks_for_has_none, reason)
exclude(:test_core_shows_what_ruby_itself_loses, reason)
