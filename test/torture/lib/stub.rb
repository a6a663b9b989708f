# frozen_string_literal: true

# stub.rb - for a ruby without the profiler: its class, doing nothing. An episode that fails with it
# fails by a fault of Ruby's own.

module Torture
  class NoProfile
    include Enumerable

    KEYS = %i[interval_bytes live_samples total_samples dropped folded truncated sites stack_nodes functions
              memory_used memory_peak memory_budget].freeze

    class << self
      def start(**) = true
      def stop = nil
      def running? = false
      def snapshot(gc: false, **) = (GC.start if gc; new)
      def stat(key = nil) = key ? 0 : KEYS.to_h { |name| [name, 0] }
      def allocation_stack(_) = nil

      def profile(out: nil, gc: true, **)
        yield
        snapshot(gc: gc).tap { |profile| profile.write(out) if out }
      end
    end

    def each = block_given? ? self : to_enum
    def to_pprof = "\x1f\x8b".b

    def write(to)
      to.respond_to?(:write) ? to.write(to_pprof) : File.binwrite(to, to_pprof)
    end
  end

  HeapProfile = defined?(ObjectSpace::HeapProfile) ? ObjectSpace::HeapProfile : NoProfile
end
