# frozen_string_literal: true

require "mkmf"

# The names are those of the symbol table, for gdb as for us: without debug information nothing is inlined for one of them alone.
$CFLAGS << " -O2 -g0 -fno-optimize-sibling-calls"
$CXXFLAGS << " -O2 -g0 -fno-optimize-sibling-calls"
have_library("z")
$libs << " -lstdc++"
create_makefile("-test-/heapprof_native")
