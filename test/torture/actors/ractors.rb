# frozen_string_literal: true

# Ractors: born and dead beside each other, and what passes between them.

module Torture
  class Ractors < Actor
    # In one of its own, whose only thread it is: README.md, "What is kept apart".
    def self.in_ractor? = true
    def self.in_thread? = false

    def several
      ractors = Array.new(rand(1..4)) { |i| born(sample([Allocation, Evaluation, Unwinding]), i) }
      ractors.each { |ractor| finish(ractor) }
    end

    def with_code
      finish(born(Evaluation, 0))
    end

    def with_the_profiler
      finish(born(Poke.steady ? Collection : Profiling, 0))
    end

    def fails
      ractor = Ractor.new do
        Array.new(50) { |i| [i] }
        raise ArgumentError, "planned"
      end
      finish(ractor)
    end

    # Neither embedded in a larger slot, nor with references: README.md, "What is kept apart".
    def moved
      ractor = Ractor.new do
        Ractor.receive.then { |it| [it, it.dup] }
      end
      object = sample([Object.new, "moved" * sample([1, 2, 500]), Array.new(sample([1, 2, 3, 200])) { |i| i }])
      ractor.send(object, move: true)
      keep(finish(ractor))
    end

    def copied
      ractor = Ractor.new { Ractor.yield(Ractor.receive); Array.new(50) { |i| i.to_s } }
      ractor.send([Object.new, "copied" * rand(1..200), { b: [Object.new] }])
      keep(ractor.take)
      keep(finish(ractor))
    end

    def shared
      object = Ractor.make_shareable(Array.new(rand(1..50)) { |i| [mark(i), "s#{i}"] })
      ractors = Array.new(rand(1..3)) { Ractor.new(object) { |it| it.map { |x, text| [x, text.dup] } } }
      ractors.each { |ractor| keep(finish(ractor)) }
    end

    def yielding
      ractors = Array.new(rand(1..3)) do |i|
        Ractor.new(i) { |n| 10.times { |x| Ractor.yield([n, x, Object.new]) }; :end }
      end
      until ractors.empty?
        ractor, value = Ractor.select(*ractors)
        value == :end ? ractors.delete(ractor) : keep(value)
      end
    end

    def nested
      ractor = Ractor.new { Ractor.new { Array.new(30) { |i| [i] } }.take.map(&:dup) }
      keep(finish(ractor))
    end

    # Nobody takes what it returns.
    def forgotten
      Ractor.new { Array.new(100) { |i| [i, i.to_s] } }
    end

    def with_collections
      ractor = Ractor.new do
        Array.new(5) { |i| GC.start(full_mark: i.odd?); Array.new(50) { [i] } }.size
      end
      keep(finish(ractor))
    end

    def closed
      ractor = Ractor.new { Ractor.receive rescue Array.new(50) { |i| [i] }.size }
      ractor.close_incoming
      keep(finish(ractor))
    end

    private

    def born(type, number)
      Ractor.new(type, @world, "#{@name}.#{number}", next_seed, rand(1..4)) do |actor, world, name, seed, count|
        actor.new(world, name, seed).run(count)
      end
    end

    def finish(ractor)
      ractor.take
    rescue Ractor::RemoteError => e
      raise unless e.cause.is_a?(ArgumentError) && e.cause.message == "planned"
    end
  end
end
