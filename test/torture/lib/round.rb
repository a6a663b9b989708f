# frozen_string_literal: true

# round.rb - some actors beside each other for some steps, then the sums.

module Torture
  class Round
    SECONDS = 4

    def initialize(seed, folder, full)
      @seed = seed
      @random = Torture.random(seed, 0)
      @log = Log.new(folder)
      @exact = one_in(3)
      @ractors = one_in(2) && Check::RACTORS
      end_traces if @ractors
      @world = Ractor.make_shareable(
        World.new(folder: folder, ractors: @ractors, full: full || @ractors, until: Log.now + SECONDS)
      )
    end

    def run
      GC.config(rgengc_allow_full_mark: @world.full)
      Poke.steady = @exact
      HeapProfile.stop if @exact
      HeapProfile.start(interval: 1, memory: 1 << 30) if @exact
      actors = Array.new(rand(1..6)) { |i| start(i) }
      results = finish(actors)
      check(results) if @exact
      Known.check(@random)
    end

    private

    def rand(range) = @random.rand(range)
    def one_in(count) = @random.rand(count) == 0

    # As many as all rounds before can have begun and left: README.md, "What is kept apart".
    def end_traces
      1000.times { ObjectSpace.trace_object_allocations_stop }
    end

    # With Ractors few are left: README.md, "What is kept apart".
    BESIDE_RACTORS = [Allocation, Code, Collection, Evaluation, Profiling, Ractors, Signals, Unwinding].freeze

    def cast
      actors = @ractors ? BESIDE_RACTORS : ACTORS - [Ractors]
      actors -= [Profiling] if @exact
      actors -= [Forks] if ENV["RUBY_FREE_AT_EXIT"]
      actors -= [Finalizers] unless @world.full
      actors
    end

    # In a thread, or in a Ractor that a thread waits for.
    def start(index)
      type = cast.sample(random: @random)
      arguments = [@world, "#{type.title}#{index}", Torture.seed(@seed, 1 + index)]
      steps = rand(1..12)
      if @ractors && type.in_ractor? && (!type.in_thread? || one_in(2))
        Ractor.new(type, arguments, index, steps) { |*rest| Round.play(*rest) }
      else
        Thread.new { Round.play(type, arguments, index, steps) }
      end
    end

    # What each returned: Ractors when no thread is left but this (README.md, "What is kept apart").
    def finish(actors)
      threads, ractors = actors.partition { |actor| actor.is_a?(Thread) }
      results = [*threads, *ractors].to_h { |actor| [actor, actor.is_a?(Thread) ? actor.value : actor.take] }
      sleep 0.001 while Ractor.count > 1 # those nobody takes from end by themselves
      actors.map { |actor| results[actor] }
    end

    def self.play(type, arguments, index, steps)
      type.new(*arguments, marker: index).run(steps)
    rescue Exception => e # nothing may end an actor early
      Check.fail!("#{arguments[1]}: #{e.full_message(highlight: false)}")
    end

    def check(results)
      return if Check::STUB
      stat = Check.stat
      profile = HeapProfile.snapshot(gc: true)
      results.each_with_index do |(made, begun), index|
        found = Check.objects(profile, MARKERS[index].name).first
        Check.true! found.between?(made, begun),
                    "#{found} objects of actor #{index}, which made #{made} to #{begun}; #{stat}"
      end
    end
  end
end
