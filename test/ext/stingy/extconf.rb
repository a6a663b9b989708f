# frozen_string_literal: true

require "mkmf"

create_makefile("-test-/heapprof_stingy")
