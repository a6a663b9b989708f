# frozen_string_literal: true

# Unwinding: stacks at their deepest, and left at once.

module Torture
  class Unwinding < Actor
    # Calls the profiler when it is looked at.
    Inspected = Struct.new(:random) do
      def inspect = Poke.some(random).class.name
    end

    def self.in_ractor? = true
    def self.rare = %i[deepest deepest_in_blocks no_memory]

    def deepest
      forever([])
    rescue SystemStackError => e
      keep([e.message, e.backtrace.size])
    end

    def deepest_in_blocks
      endless = ->(value) { [value].each { |it| endless.call([it, mark]) } }
      endless.call(nil)
    rescue SystemStackError
      mark
    end

    # Deeper than any depth the profiler is given but one.
    def deep
      keep(down(rand(100..400)) { mark })
    end

    def thrown
      rand(1..20).times do
        keep(catch(:out) { down(rand(1..200)) { throw :out, mark } })
      end
    end

    def raised
      rand(1..20).times do
        down(rand(1..200)) { raise Planned, mark.to_s }
      rescue Planned => e
        keep(e) if one_in(3)
      end
    end

    def ensured
      down(rand(1..100)) do
        begin
          raise Planned
        ensure
          keep(mark)
        end
      end
    rescue Planned => e
      keep(e.full_message(highlight: false))
    end

    def retried
      tries = 0
      begin
        mark
        raise Planned if (tries += 1) < 20
      rescue Planned
        retry
      end
    end

    def no_memory
      return if Check::CHECKING # README.md, "What is kept apart"
      keep("x" * (1 << 46))
      Check.true! false, "64 TiB were had"
    rescue NoMemoryError => e
      keep(e.message)
    end

    def too_large
      Array.new(1 << 60)
    rescue ArgumentError => e
      keep(e)
    end

    def wrong
      nil.no_such_method(mark)
    rescue NoMethodError => e
      keep(e.detailed_message)
    end

    # inspect, called for a message, calls the profiler.
    def inspected
      object = Inspected.new(@random)
      keep([object].inspect)
      Integer(object)
    rescue TypeError => e
      keep(e.message)
    end

    private

    def forever(list)
      list << mark
      forever(list)
    end

    def down(levels, &block)
      return yield if levels <= 0
      made = mark
      [levels - 1].map { |it| down(it, &block) }.push(made).first
    end
  end
end
