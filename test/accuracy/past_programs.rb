# frozen_string_literal: true

# past_programs.rb - programs whose objects die at known ages, and most of which are alive at once at a known moment: the
# estimates are of how many have died at each age, and of what was alive at the peak.
#
# The collector runs only when a program tells it to. Objects are made, outlive so many GCs, and die in the next; those
# of one age are twice as many as the others, so that the peak is theirs.

require_relative "programs"
require_relative "block_sites"

module Accuracy
  class PastPrograms < Programs
    # How many GCs they outlive; the row of the profile that has them when they are dead; how many there are for each round.
    Cohort = Struct.new(:survived, :age, :share)
    COHORTS = [Cohort.new(0, 0, 1), Cohort.new(1, 1, 1), Cohort.new(3, 2, 2), Cohort.new(5, 4, 1)].freeze
    LARGEST = COHORTS.max_by(&:share)

    def run(...)
      GC.disable
      super
    ensure
      GC.enable
    end

    # ---- programs ----

    def lived
      start
      COHORTS.each { |cohort| live(cohort, @rounds) }
      read_past(@rounds)
    end

    # Half of each cohort before the fork, half after it, on both sides. The child inherits the first half's ages.
    def lived_fork
      half = @rounds / 2
      start
      COHORTS.each { |cohort| live(cohort, half) }
      in_child = IO.popen("-", "rb") do |child|
        next Marshal.load(child) if child
        COHORTS.each { |cohort| live(cohort, @rounds - half) }
        $stdout.write(Marshal.dump(read_ages(@rounds, who: "child, ")))
        $stdout.flush
        exit!(true)
      end
      COHORTS.each { |cohort| live(cohort, @rounds - half) }
      in_child + read_ages(@rounds, who: "parent, ")
    end

    # A Ractor makes when it is told, and lets go when it is told.
    def lived_ractors
      start
      COHORTS.each do |cohort|
        ractors = Array.new(4) { Ractor.new(@rounds * cohort.share / 4) { |rounds| Accuracy.live_in_ractor(rounds) } }
        ractors.each(&:take)
        outlive(cohort)
        ractors.each { |ractor| ractor.send(:drop) }.each(&:take)
        GC.start
        ractors.each { |ractor| ractor.send(:end) }.each(&:take)
      end
      read_past(@rounds)
    end

    # The first die while samples are few. The others are thinned while they are made, outlive a GC, and die.
    def lived_thinned
      start
      make_short_lived
      make_lasting(0...@rounds)
      interval = HeapProfile.stat(:interval_bytes)
      GC.start
      @kept.each { |objects| objects.fill(nil) }
      GC.start
      rows = rows_by_class
      check_thinned
      @sites.flat_map do |site|
        # Of few that were passed over a standard deviation says nothing.
        passed_over = Estimator.sigma(short_lived, site.slot, @scenario.intervals[0])**2
        first = reading(site, rows, "died young", short_lived, @intervals[0], STALE, "", STALE) { |row| young(row) }
        [*([first] if passed_over >= 10),
         reading(site, rows, "at the peak", @rounds, interval, STALE, &:peak_objects),
         reading(site, rows, "died after a GC", @rounds, interval, -STALE) { |row| died_at(row, 1) }]
      end
    end

    private

    def start
      HeapProfile.start(interval: @intervals[0], memory: budget || 1 << 30, seed: @seed, peak: true, lifetimes: true)
    end

    def new_kept = Array.new(@sites.size) { Array.new(@rounds * LARGEST.share) }

    def live(cohort, rounds)
      (rounds * cohort.share).times { |i| make(@kept, i) }
      outlive(cohort)
      @kept.each { |objects| objects.fill(nil) }
      GC.start
    end

    # By what the scenario says, if it says so.
    def outlive(cohort)
      cohort.survived.times { |time| @scenario.during ? send(@scenario.during, time) : GC.start }
    end

    # What it finds alive grows old, and dies in a full GC.
    def minor(_) = GC.start(full_mark: false)

    # ---- reading ----

    def rows_by_class = HeapProfile.snapshot(gc: true).group_by(&:class_name)

    def young(row) = row.temp_objects
    def died_at(row, age) = row.death_age == age ? row.alloc_objects : 0

    # What that site has made that dies at that age, in so many rounds.
    def made(_, cohort, rounds) = rounds * cohort.share

    def read_past(rounds)
      rows = rows_by_class
      read_ages(rounds, rows) + @sites.map do |site|
        reading(site, rows, "at the peak", made(site, LARGEST, rounds), @intervals[0], STALE, &:peak_objects)
      end
    end

    def read_ages(rounds, rows = rows_by_class, who: "")
      @sites.flat_map do |site|
        COHORTS.map do |cohort|
          made = made(site, cohort, rounds)
          reading(site, rows, "died at #{cohort.age}", made, @intervals[0], STALE, who, STALE) do |row|
            cohort.age == 0 ? young(row) : died_at(row, cohort.age)
          end
        end
      end
    end

    # stackless: so many fewer may be seen, for those that the machine stack still holds die older than the others.
    def reading(site, rows, what, count, interval, stale, who = "", stackless = 0)
      estimate = rows.fetch(site.class_name, []).sum do |row|
        row.frames.any? { |frame| frame.label == "Accuracy::Make.#{site.name}" } ? yield(row) : 0
      end
      Reading.new("#{who}#{site.name}, #{what}", site.slot, :past, count, Estimator.sigma(count, site.slot, interval),
                  estimate, stale, stackless)
    end
  end

  # The same with blocks, in bytes: those for which the same was asked may differ by 16, as malloc leaves no less than 32.
  class PastBlockPrograms < PastPrograms
    def run(...)
      super
    ensure
      HeapProfBlocks.join
    end

    private

    def prepare
      @sites = @scenario.sites.map { |name| BlockSites.named(name) }
    end

    def start
      @made = Hash.new { |made, which| made[which] = Hash.new(0) }
      super
    end

    def live(cohort, rounds)
      blocks = @sites.map { |site| Array.new(rounds * cohort.share) { site.ask(nil, 0) } }
      @sites.zip(blocks) { |site, of_site| of_site.each { |block| @made[[site, cohort]][site.block(block, 0)[1]] += 1 } }
      outlive(cohort)
      @sites.zip(blocks) { |site, of_site| of_site.each { |block| site.drop(block) } }
    end

    def rows_by_class = HeapProfile.snapshot(gc: true).select { |row| row.kind == :malloc }

    def young(row) = row.temp_space
    def died_at(row, age) = row.death_age == age ? row.alloc_space : 0

    # How many of each size.
    def made(site, cohort, _) = @made.fetch([site, cohort])

    # The book of what was alive has bytes; so have the rows.
    def reading(site, rows, what, made, interval, _, who = "", _ = 0)
      mine = rows.select do |row|
        site.caller.match?(row.caller) && row.frames.any? { |frame| frame.label == "Accuracy::Ask.#{site.method}" }
      end
      estimate = mine.sum { |row| what == "at the peak" ? row.peak_space : yield(row) }
      variance = made.sum { |bytes, count| (bytes * Estimator.sigma(count, bytes, interval))**2 }
      Reading.new("#{who}#{site.name}, #{what}", site.size, :past, made.sum { |bytes, count| bytes * count },
                  Math.sqrt(variance), estimate, 0)
    end
  end

  def self.live_in_ractor(rounds)
    kept = Array.new(rounds) { Make.item_0 }
    Ractor.yield(:made)
    Ractor.receive
    kept.clear
    Ractor.yield(:dropped)
    Ractor.receive
  end
end
