# frozen_string_literal: true

# programs.rb - the programs of scenarios.rb, for the child process.
#
# One run of a program returns a reading for each row of the table: the true number, which the
# program knows without the profiler, the profile's estimate of it, and sigma. The variances of
# objects made at several intervals add up.

require "-test-/heapprof_capi"
require "erb"
require "json"
require_relative "sites"

module Accuracy
  # Which objects, in slots of which size, or which blocks; :alloc, :inuse or :dead; and the numbers. With every object
  # sampled the estimate may be `stale` above the truth, or below it where that is negative; and `stackless` below it: what
  # Ractors asked for when another had the VM's lock for long (gc/blocks/waiting.c).
  Reading = Struct.new(:site, :size, :value, :truth, :sigma, :estimate, :stale, :stackless) do
    def exact?
      (estimate - truth).between?([0, stale].min - stackless.to_i, [0, stale].max)
    end
  end

  class Programs
    # The machine stack may still hold so many that are dropped.
    STALE = 3

    def initialize(scenario)
      @scenario = scenario
      @rounds = scenario.rounds
      prepare
    end

    # One run; what it needs and is not to be in the profile is made first.
    def run(seed, intervals = @scenario.intervals)
      @seed = seed
      @intervals = intervals
      @kept = new_kept
      send(@scenario.program)
    ensure
      HeapProfile.stop
    end

    # ---- programs ----

    def mutator
      start
      mutate
      read
    end

    # Each allocation is a GC: what was cut off is joined again before it is reached.
    def stressed
      start
      GC.stress = true
      mutate
      GC.stress = false
      read
    end

    # From 2000 stacks, so that nearly each sample is a row of its own: rounding must not add up.
    def scattered
      start
      @rounds.times { |i| from_stack(i % 2000, 11) { mutate(@kept, i...i + 1) } }
      read
    end

    def threads
      in_four do |kept|
        kept.map { |arrays| Thread.new { mutate(arrays) } }.each(&:join)
      end
    end

    def fibers
      in_four do |kept|
        fibers = kept.map { |arrays| Fiber.new { mutate(arrays) } }
        fibers.each(&:resume).select!(&:alive?) until fibers.empty?
      end
    end

    # A Ractor holds what it keeps until it is told to end.
    def ractors
      start
      ractors = Array.new(4) { Ractor.new(@rounds) { |rounds| Accuracy.mutate_in_ractor(rounds) } }
      ractors.each(&:take)
      readings = read(copies: 4)
      ractors.each { |ractor| ractor.send(:end) }.each(&:take)
      readings
    end

    # Half is made before the fork, half after, on both sides. The child inherits samples.
    def forked
      half = @rounds / 2
      start
      mutate(@kept, 0...half)
      in_child = IO.popen("-", "rb") do |child|
        next Marshal.load(child) if child
        mutate(@kept, half...@rounds)
        $stdout.write(Marshal.dump(read(who: "child, ")))
        $stdout.flush
        exit!(true)
      end
      mutate(@kept, half...@rounds)
      in_child + read(who: "parent, ")
    end

    # ---- with a budget that is used up ----

    # What dies before that stays known at the first interval; all that is made then lives.
    def thinned
      start
      make_short_lived
      make_lasting(0...@rounds)
      read_thinned
    end

    def thinned_scattered
      start
      make_short_lived
      @rounds.times { |i| from_stack(i, 14) { make_lasting(i..i) } }
      read_thinned
    end

    # As forked.
    def thinned_fork
      half = @rounds / 2
      start
      make_short_lived
      make_lasting(0...half)
      in_child = IO.popen("-", "rb") do |child|
        next Marshal.load(child) if child
        make_lasting(half...@rounds)
        $stdout.write(Marshal.dump(read_thinned(who: "child, ")))
        $stdout.flush
        exit!(true)
      end
      make_lasting(half...@rounds)
      in_child + read_thinned(who: "parent, ")
    end

    def thinned_ractors
      start
      make_short_lived
      ractors = Array.new(4) do
        Ractor.new(@rounds / 4, @scenario.sites.first) do |rounds, site|
          kept = Array.new(rounds) { Make.__send__(site) }
          Ractor.yield(:made)
          Ractor.receive
          kept.size
        end
      end
      ractors.each(&:take)
      readings = read_thinned
      ractors.each { |ractor| ractor.send(:end) }.each(&:take)
      readings
    end

    # Each run is a process that is profiled from before it reads this file.
    def booted
      settings = "interval=#{@intervals[0]},malloc=#{@scenario.malloc},seed=#{@seed},out=#{Dir.pwd}/boot.pb.gz"
      command = [ENV.fetch("RUBY"), "--disable-gems", "#{__dir__}/subject.rb", "booted", @scenario.key]
      IO.popen([{ "RUBY_HEAPPROF" => settings }, *command], "rb") { |child| Marshal.load(child) }
    end

    def in_booted_process
      @intervals = [HeapProfile.stat(:interval_bytes)]
      @kept = new_kept
      mutate
      read
    end

    # What it makes the collector itself counts.
    def real
      page = ERB.new(PAGE, trim_mode: "-")
      before, now = Array.new(2) { Array.new(SLOTS.size) }
      count_slots(before)
      start
      @rounds.times { |round| work(page, round) }
      count_slots(now)
      snapshot = HeapProfCAPI.snapshot(false) # which makes no object before it has it
      rows = HeapProfCAPI.each(snapshot, 0, 0)[1]
      counts = now.zip(before).map { |after, at_first| after - at_first }
      [real_reading("objects", counts, rows.sum { |row| row[5] }) { 1 },
       real_reading("bytes", counts, rows.sum { |row| row[9] }) { |slot| slot }]
    end

    private

    def prepare
      @sites = @scenario.sites.map { |name| Site.new(name) }
      @makers = @sites.map(&:make)
    end

    def new_kept = Array.new(@sites.size) { Array.new(@scenario.memory ? @rounds : (@rounds + 2) / 3) }

    # Makes no object, as start with keywords would.
    def start
      HeapProfCAPI.start(@intervals[0], nil, budget, @seed) == :started or raise "not started"
    end

    # The try at interval 1 is to be exact. Makes no object, as [1] would.
    def budget = @intervals.size == 1 && @intervals[0] == 1 ? nil : @scenario.memory

    def in_four
      kept = Array.new(4) { new_kept }
      start
      yield kept
      read(copies: 4)
    end

    # ---- the mutator ----

    def mutate(kept = @kept, rounds = 0...@rounds)
      i = rounds.begin
      while i < rounds.end
        meanwhile(i / @scenario.period) if i % @scenario.period == 0
        around(i) { make(kept, i / 3) }
        i += 1
      end
    end

    def make(kept, place)
      site = 0
      while site < kept.size
        kept[site][place] = @makers[site].call
        site += 1
      end
    end

    # What is said of a round by other programs (label_programs.rb): all rounds count here.
    def around(_) = yield
    def counted?(_) = true
    def counted(rows) = rows

    # Calls the block from the stack of that number, of 2**depth.
    def from_stack(number, depth, &block)
      return yield if depth == 0
      if number.odd?
        from_stack(number / 2, depth - 1, &block)
      else
        from_stack(number / 2, depth - 1, &block)
      end
    end

    def meanwhile(time)
      HeapProfCAPI.set_interval(interval_at(time)) if @intervals.size > 1
      send(@scenario.during, time) if @scenario.during
    end

    def interval_at(time) = @intervals[time % @intervals.size]

    # So many rounds the budget holds.
    def short_lived = [@rounds / 8, 2000].min

    def make_short_lived
      make_lasting(0...short_lived)
      raise "thinned too early" if HeapProfile.stat(:doublings) > 0
      @kept.each { |objects| objects.fill(nil) }
      GC.start
    end

    def make_lasting(rounds)
      rounds.each do |i|
        meanwhile(i / @scenario.period) if i % @scenario.period == 0
        around(i) { make(@kept, i) }
      end
    end

    # ---- what goes on meanwhile ----

    KINDS_OF_GC = [true, false].product([true, false], [true, false])

    def collect(time)
      full, mark, sweep = KINDS_OF_GC[time % KINDS_OF_GC.size]
      GC.start(full_mark: full, immediate_mark: mark, immediate_sweep: sweep)
    end

    def compact(_) = GC.compact

    def collect_and_compact(time)
      GC.auto_compact = true
      collect(time)
    end

    def flush(_) = HeapProfile.snapshot.write("flush.pb.gz")

    def everything(time)
      send(%i[collect flush compact collect_and_compact][time % 4], time / 4)
    end

    def few_among_many(_) = 2000.times { "between" }

    def pass(_) = Thread.pass

    def yield_fiber(_) = Fiber.yield

    # ---- reading ----

    def read(copies: 1, who: "")
      rows = counted(HeapProfile.snapshot(gc: true)).group_by(&:class_name)
      made = (0...@rounds).select { |i| counted?(i) }.group_by { |i| interval_at(i / @scenario.period) }
      @sites.flat_map do |site|
        { alloc: made, inuse: made.transform_values { |rounds| rounds.select { |i| stays?(i) } } }.map do |value, of|
          variance = of.sum { |interval, rounds| Estimator.sigma(copies * rounds.size, site.slot, interval)**2 }
          Reading.new(who + site.name.to_s, site.slot, value, copies * of.sum { |_, rounds| rounds.size },
                      Math.sqrt(variance), site.total(rows, :"#{value}_objects"), value == :inuse ? STALE : 0)
        end
      end
    end

    # What is alive is known at the interval in force, what is dead at the first. To read the rows may
    # take so many samples that it doubles again.
    def read_thinned(who: "")
      interval = HeapProfile.stat(:interval_bytes)
      rows = counted(HeapProfile.snapshot(gc: true)).group_by(&:class_name)
      rounds, short_lived = [@rounds, self.short_lived].map { |count| (0...count).count { |i| counted?(i) } }
      check_thinned
      @sites.flat_map do |site|
        lasting = Estimator.sigma(rounds, site.slot, interval)
        dead = Estimator.sigma(short_lived, site.slot, @intervals[0])
        known = [[:alloc, rounds + short_lived, Math.hypot(lasting, dead), 0], [:inuse, rounds, lasting, STALE]]
        known.map! do |value, truth, sigma, stale|
          Reading.new(who + site.name.to_s, site.slot, value, truth, sigma, site.total(rows, :"#{value}_objects"), stale)
        end
        known.concat(read_dead(*known, dead))
      end
    end

    # Allocated less in use. None where fewer than ten were passed over, of which a standard deviation says nothing.
    def read_dead(alloc, inuse, sigma, each = 1)
      return [] if (sigma / each)**2 < 10
      [Reading.new("#{alloc.site}, dead", alloc.size, :dead, alloc.truth - inuse.truth, sigma,
                   alloc.estimate - inuse.estimate, -inuse.stale)]
    end

    def check_thinned
      doublings, dropped = HeapProfile.stat.values_at(:doublings, :dropped)
      raise "#{doublings} doublings, #{dropped} dropped" if dropped > 0 || (doublings == 0) != budget.nil?
    end

    # Of three that were put into one place the last.
    def stays?(round) = round % 3 == 2 || round == @rounds - 1

    # ---- the real program ----

    PAGE = <<~'ERB'
      <%- items.each do |item| -%>
      <li id="<%= item["id"] %>"><%= ERB::Util.h(item["text"]) %>: <%= item["prices"].sum %></li>
      <%- end -%>
    ERB

    def work(page, round)
      data = Array.new(50) { |i| { id: i, text: "<item> & #{round} " * (i % 30), prices: Array.new(i) { |n| n * 1.1 } } }
      page.result_with_hash(items: JSON.parse(JSON.generate(data)))
      RubyVM::InstructionSequence.compile("def made_#{round} = [1, :two, '3'].map { |x| x.to_s }")
    end

    # Makes no object.
    def count_slots(counts)
      SLOTS.each_index { |heap| counts[heap] = GC.stat_heap(heap, :total_allocated_objects) }
    end

    # Block: what an object in such a slot counts for.
    def real_reading(name, counts, estimate)
      each = SLOTS.zip(counts).map { |slot, count| [yield(slot), count, Estimator.sigma(count, slot, @intervals[0])] }
      Reading.new(name, nil, :alloc, each.sum { |size, count, _| size * count },
                  Math.sqrt(each.sum { |size, _, sigma| (size * sigma)**2 }), estimate, 0)
    end
  end
end
