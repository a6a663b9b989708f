# frozen_string_literal: true

# poke.rb - calls into the profiler from where nobody expects them: finalizers, signal handlers,
# to_int, each, write. Whatever the state, they work or raise one of two errors.

require_relative "check"
require_relative "settings"

module Torture
  module Poke
    EXPECTED = ["the heap profiler is not running; start it first",
                "the heap profiler is running already; stop it first"].freeze

    class << self
      # Must the profiler go on as it is? Then nobody starts or stops it.
      attr_accessor :steady
    end

    module_function

    # Yields, and nil if that raised as it may.
    def tolerant
      yield
    rescue RuntimeError => e
      raise unless EXPECTED.include?(e.message)
    end

    # Some call.
    def some(random)
      case random.rand(Poke.steady ? 4 : 6)
      when 0 then Check.stat
      when 1 then tolerant { HeapProfile.snapshot(gc: random.rand(4) == 0) }
      when 2 then tolerant { Check.profile(HeapProfile.snapshot, 20) }
      when 3 then stack(Object.new)
      when 4 then tolerant { HeapProfile.start(**Settings.start(random)) }
      when 5 then HeapProfile.stop
      end
    end

    # Where the object was allocated, if this ruby can tell.
    def stack(object)
      HeapProfile.allocation_stack(object) if HeapProfile.respond_to?(:allocation_stack)
    end
  end
end
