exclude(:test_machine_stack_of_a_fiber_may_run_out_at_a_sample, "emulated, MRI itself crashes at the end of a fiber's machine stack")
