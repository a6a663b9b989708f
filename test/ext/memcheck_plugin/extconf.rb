# frozen_string_literal: true

require "mkmf"

$LDFLAGS << " -s" # only what it exports has a name, as in the libraries of a distribution
create_makefile("-test-/heapprof_memcheck_plugin")
