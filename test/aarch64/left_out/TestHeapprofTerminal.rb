# Its clock is a library of this machine (test/cli/lib/held.rb), which an emulated program cannot load.
reason = "the clock that a test holds is a library of this machine"
exclude(:test_progress_is_shown_when_reading_takes_long, reason)
exclude(:test_what_is_done_with_a_dump_is_shown_when_it_takes_long, reason)
