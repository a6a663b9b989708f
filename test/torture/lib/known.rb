# frozen_string_literal: true

# known.rb - with no other actor about, everything is known: a run at interval 1 has every object
# of a class and its stack, with blocks of the allocator beside them or without, and when it is stopped
# nothing is left.

require_relative "check"
require_relative "settings"

module Torture
  module Known
    class Item; end

    # An object or two may be kept alive by a stale word on the machine stack.
    SLACK = 3

    module_function

    # Stops the profiler, and leaves it started by other settings, or stopped.
    def check(random)
      Poke.steady = true
      HeapProfile.stop
      Check.off(HeapProfile.stat)
      HeapProfile.start(interval: 1, malloc_interval: random.rand(2))
      count(random)
      HeapProfile.stop
      Check.off(HeapProfile.stat)
      HeapProfile.start(**Settings.start(random)) if random.rand(2) == 0
    end

    def count(random)
      kept, dead = random.rand(1..500), random.rand(1..500)
      held = make(kept)
      make(dead)
      stir(random)
      found(kept, dead, *snapshot) unless Check::STUB
      held.clear
    end

    # And how many samples there were before and after it.
    def snapshot
      before = Check.stat
      profile = HeapProfile.snapshot(gc: true)
      after = Check.stat
      Check.equal! 0, after[:dropped], "dropped"
      [profile, before[:total_samples]..after[:total_samples]]
    end

    def found(kept, dead, profile, samples)
      allocated, inuse = Check.objects(profile, Item.name)
      Check.equal! kept + dead, allocated, "objects allocated"
      Check.true! inuse.between?(kept, kept + SLACK), "#{inuse} in use, not #{kept}"
      sum = Check.profile(profile)[:alloc]
      right = HeapProfile.stat(:malloc_interval_bytes) == 0 ? samples.cover?(sum) : sum < samples.last
      Check.true! right, "#{sum} objects in the profile, but #{samples} samples"
    end

    def make(count) = Array.new(count) { Item.new }

    def stir(random)
      random.rand(3).times do
        case random.rand(4)
        when 0 then GC.start
        when 1 then GC.compact
        when 2 then GC.verify_compaction_references(toward: :empty)
        when 3 then 1000.times { |i| [i, i.to_s] }
        end
      end
    end
  end
end
