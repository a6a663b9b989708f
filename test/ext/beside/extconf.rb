# frozen_string_literal: true

require "mkmf"

$INCFLAGS << " -I$(top_srcdir)/heapprof"
create_makefile("-test-/heapprof_beside")
