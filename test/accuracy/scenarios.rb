# frozen_string_literal: true

# scenarios.rb - what accuracy is measured of: a list. Suite runs them, each in a child process
# (subject.rb); how each thing is done is in programs.rb.
#
# A scenario is a program run once for each seed. Nearly all are the mutator: so many rounds, in
# each of which each of its sites (sites.rb) makes an object, and every third stays. The sites item_0
# to item_4 make objects that fill a slot of each size.
module Accuracy
  Scenario = Struct.new(
    :name,
    :program,   # a method of Programs
    :sites,     # methods of Make: what is made in each round
    :during,    # a method of Programs that runs every `period` rounds, or nil
    :intervals, # bytes; of several the next, round about, is set every `period` rounds
    :rounds,
    :period,
    :ruby,      # options of ruby
    :cut        # whether CI runs it, too
  ) do
    def key
      [name, *(sites if sites.one?), intervals.join("-")].join(" ")
    end

    def yjit? = ruby.include?("--yjit")
  end

  SLOT_SITES = %i[item_0 item_1 item_2 item_3 item_4].freeze
  BUILT_IN_SITES = %i[string array hash struct bignum float range match exception block].freeze
  YJIT = %w[--yjit --yjit-call-threshold=2].freeze
  SCENARIOS = []

  class << self
    # One scenario for each interval, or group of intervals.
    def scenario(name, program = :mutator, at: [400, 4096], sites: SLOT_SITES, during: nil, rounds: 6000,
                 period: 400, ruby: [], cut: true)
      at.each do |intervals|
        SCENARIOS << Scenario.new(name, program, sites, during, Array(intervals), rounds, period, ruby, cut)
      end
    end

    # The same with each slot size alone, and with all in turn.
    def alone_and_in_turn(name, **settings)
      SLOT_SITES.each { |site| scenario("alone, #{name}", sites: [site], **settings, cut: false) }
      scenario("in turn, #{name}", **settings)
    end
  end

  alone_and_in_turn "no GC", at: [100, 1000, 4096, 20_000]
  alone_and_in_turn "YJIT", ruby: YJIT
  alone_and_in_turn "interval changed", at: [[400, 4096, 1, 20_000]], period: 150
  alone_and_in_turn "flushes", during: :flush, period: 1500
  alone_and_in_turn "GCs of every kind", during: :collect
  alone_and_in_turn "GC.compact", during: :compact, period: 1500
  alone_and_in_turn "auto_compact", during: :collect_and_compact, period: 1000
  alone_and_in_turn "all of these", at: [[400, 4096, 50, 20_000]], during: :everything, period: 330, ruby: YJIT

  scenario "in turn, default interval", at: [524_288], rounds: 60_000, cut: false
  scenario "in turn, GC every 37 rounds", during: :collect, period: 37, rounds: 3000, cut: false
  scenario "in turn, GC.stress", :stressed, at: [400], rounds: 60
  scenario "few among many others", during: :few_among_many, rounds: 300, period: 6
  scenario "from 2000 stacks", :scattered, at: [1000, 4096], rounds: 2000
  scenario "built-in classes in turn", sites: BUILT_IN_SITES, rounds: 3000
  scenario "four threads", :threads, during: :pass, rounds: 1500, period: 50
  scenario "four fibers", :fibers, during: :yield_fiber, rounds: 1500, period: 50
  scenario "four Ractors", :ractors, rounds: 1500
  scenario "parent and child of fork", :forked, rounds: 3000
  scenario "from boot, by environment", :booted, at: [4096], rounds: 6000
  scenario "real program, all it makes", :real, sites: [], at: [400, 4096, 65_536], rounds: 20
end
