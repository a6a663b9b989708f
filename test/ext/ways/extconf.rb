# frozen_string_literal: true

require "mkmf"

$libs = append_library($libs, "stdc++") # mkmf links by the C compiler
create_makefile("-test-/heapprof_ways")
