# frozen_string_literal: true

# heapprof - Heapprof::Labels (heapprof/labels), which does nothing on a Ruby without the profiler.
#
#   require "heapprof"
#
#   Heapprof::Labels.with(endpoint: "POST /cart") { serve(request) }
#
# All else is loaded by its own name, as heapprof/rails: what is for a gem needs that gem.

require_relative "heapprof/labels"
