# frozen_string_literal: true

# Collection: every way to collect and to compact, between and during other actors' allocations.

module Torture
  class Collection < Actor
    def self.in_ractor? = true
    def self.rare = %i[doubled stressed stressed_while_compacting warmed]

    def full = GC.start

    def young
      rand(1..5).times { GC.start(full_mark: false) }
    end

    def begun
      begin_marking
      rand(10..3000).times { mark }
    end

    def lazy
      GC.start(full_mark: one_in(2), immediate_sweep: false)
      rand(10..3000).times { |i| keep(mark(i)) }
    end

    def compacted = GC.compact

    # Both walk the heap, which with Ractors nobody may: README.md, "What is kept apart".
    def verified
      return if @world.ractors
      GC.verify_compaction_references(toward: :empty)
    end

    def doubled
      return if @world.ractors
      GC.verify_compaction_references(expand_heap: true, toward: sample([nil, :empty]))
      forget
    end

    def moving
      GC.auto_compact = one_in(2)
      rand(100..3000).times { |i| keep(mark([i])) }
      GC.start
    end

    def stressed
      GC.stress = sample([true, 1, 4, 5])
      rand(1..10).times { keep(mark("stress")) }
    ensure
      GC.stress = false
    end

    def stressed_while_compacting
      GC.auto_compact = true
      GC.stress = true
      rand(1..5).times { keep(mark([1])) }
    ensure
      GC.stress = false
    end

    def disabled
      GC.disable
      rand(10..3000).times { mark }
      GC.start if one_in(2)
    ensure
      GC.enable
    end

    def measured
      GC.measure_total_time = one_in(2)
      GC::Profiler.enable
      rand(1..3).times { GC.start }
      GC::Profiler.clear
    ensure
      GC::Profiler.disable
    end

    def counted
      [GC.stat, GC.stat_heap, GC.count, GC.latest_gc_info, GC.config].each { |it| keep(it) }
    end

    # Collects, compacts, and makes all old.
    def warmed = Process.warmup
  end
end
