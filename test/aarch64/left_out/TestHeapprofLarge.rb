reason = "the limit of memory holds for qemu, too"
exclude(:test_memory_is_at_most_twice_the_profile, reason)
exclude(:test_where_memory_is_short_it_is_said, reason)
