# frozen_string_literal: true

# block_programs.rb - the same programs with blocks in place of objects (blocks.rb).
#
# What is true of them is added up while they run, in bytes as the allocator has them.

require_relative "programs"
require_relative "blocks"

module Accuracy
  # Where things of one site are kept, and what all that have been there have asked for, of those that count.
  class Shelf
    attr_reader :site, :asked

    def initialize(site, places)
      @site = site
      @places = Array.new(places)
      @counted = Array.new(places)
      @asked, @others = Asked.new, Asked.new
    end

    # In place of what was there.
    def put(place, interval, counted = true)
      @places[place]&.drop
      @places[place] = Holding.new(@site, counted ? @asked : @others).make(interval)
      @counted[place] = counted
    end

    # As far as an estimate may be off by the intervals they were asked for at, or by that one.
    def held(interval = nil)
      @places.zip(@counted).each_with_object(Asked.new) { |(holding, counted), held| holding.add_to(held, interval) if holding && counted }
    end

    def clear
      @places.each { |holding| holding&.drop }.clear
    end
  end

  class BlockPrograms < Programs
    def run(...)
      super
    ensure
      @shelves.each(&:clear).clear
      HeapProfBlocks.join
    end

    # A Ractor tells what it has asked for, and holds it until it is told to end.
    def ractors
      start
      ractors = Array.new(4) do
        Ractor.new(@rounds, @scenario.sites, @intervals[0]) do |*which|
          Accuracy.fill_shelves_in_ractor(*which)
        end
      end
      sums = ractors.map(&:take).transpose.map { |of_site| of_site.transpose.map { |of_value| sum(of_value) } }
      readings = read_sums(sums)
      ractors.each { |ractor| ractor.send(:end) }.each(&:take)
      readings
    end

    private

    def prepare
      @sites = @scenario.sites.map { |name| BlockSites.named(name) }
      @shelves = []
    end

    def start
      return super if @scenario.malloc == :ruby
      HeapProfile.start(interval: @intervals[0], malloc: @scenario.malloc, seed: @seed)
    end

    def new_kept
      kept = @sites.map { |site| Shelf.new(site, @scenario.memory ? @rounds : (@rounds + 2) / 3) }
      @shelves.concat(kept)
      kept
    end

    def mutate(kept = @kept, rounds = 0...@rounds)
      rounds.each do |i|
        time = i / @scenario.period
        meanwhile(time) if i % @scenario.period == 0
        around(i) { kept.each { |shelf| shelf.put(i / 3, interval_at(time), counted?(i)) } }
      end
    end

    def make_lasting(rounds)
      rounds.each { |i| around(i) { @kept.each { |shelf| shelf.put(i, @intervals[0], counted?(i)) } } }
    end

    def make_short_lived
      make_lasting(0...short_lived)
      raise "thinned too early" if HeapProfile.stat(:doublings) > 0
      @kept.each(&:clear)
      @short_lived = @kept.map { |shelf| shelf.asked.dup }
    end

    # All that lives has been asked for at once, and is known at the interval in force.
    def read_thinned(who: "")
      check_thinned
      interval = HeapProfile.stat(:malloc_interval_bytes)
      sums = @kept.zip(@short_lived).map do |shelf, dead|
        held = shelf.held(interval)
        [sum([dead, held]), held]
      end
      read_sums(sums, who).each_slice(2).zip(@short_lived).flat_map do |known, dead|
        known + read_dead(*known, Math.sqrt(dead.variance), known.last.truth.fdiv(@rounds))
      end
    end

    def read(copies: 1, who: "")
      HeapProfBlocks.join
      shelves = @shelves.group_by(&:site)
      read_sums(@sites.map { |site| [sum(shelves[site].map(&:asked)), sum(shelves[site].map(&:held))] }, who)
    end

    def ractors? = @scenario.program == :ractors

    def sum(asked)
      asked.each_with_object(Asked.new) { |one, sum| sum.add(one.bytes, one.variance) }
    end

    def read_sums(sums, who = "")
      rows = counted(HeapProfile.snapshot(gc: true).select(&:caller))
      @sites.zip(sums).flat_map do |site, (asked, held)|
        allocated, in_use = site.total(rows)
        waited = ractors? ? site.without_stack(rows) : [0, 0]
        [Reading.new(who + site.name.to_s, site.size, :alloc, asked.bytes, Math.sqrt(asked.variance),
                     allocated, 0, waited[0]),
         Reading.new(who + site.name.to_s, site.size, :inuse, held.bytes, Math.sqrt(held.variance),
                     in_use, site.free ? 0 : STALE * asked.bytes / @rounds, waited[1])]
      end
    end
  end

  def self.fill_shelves_in_ractor(rounds, names, interval)
    shelves = names.map { |name| Shelf.new(BlockSites.named(name), (rounds + 2) / 3) }
    rounds.times { |i| shelves.each { |shelf| shelf.put(i / 3, interval) } }
    Ractor.yield(shelves.map { |shelf| [shelf.asked, shelf.held] })
    Ractor.receive
    shelves.each(&:clear)
  end
end
