# frozen_string_literal: true

require "mkmf"

abort "heapprof-gem: this ruby has no rb_gc_sample_allocations()" unless have_func("rb_gc_sample_allocations", "ruby.h")
create_makefile("heapprof_gem/heapprof_gem")
