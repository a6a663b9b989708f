# frozen_string_literal: true

# scenarios.rb - what accuracy is measured of: a list. Suite runs them, each in a child process
# (subject.rb); how each thing is done is in programs.rb.
#
# A scenario is a program run once for each seed. Nearly all are the mutator: so many rounds, in
# each of which each of its sites (sites.rb) makes an object, and every third stays. The sites item_0
# to item_4 make objects that fill a slot of each size. Others make blocks instead (blocks.rb).
#
# Of each site some ten samples or more are in use, and some ten were passed over: with fewer the
# standard deviation of 200 runs would scatter more than the table allows. Of few large blocks half
# are samples, which scatter less.
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
    :cut,       # whether make check runs it, too
    :blocks,    # whether its sites are of blocks (blocks.rb), and bytes are estimated
    :malloc,    # whose: :ruby or :all
    :memory,    # the profiler's budget, where it is to be used up
    :labels     # how every other round gets the label that is counted (label_programs.rb), or nil
  ) do
    def key
      [name, *(sites if sites.one?), intervals.join("-")].join(" ")
    end

    # Whether the past is estimated: ages at death, and the peak.
    def past? = program.start_with?("lived")

    def programs
      return (blocks ? PastBlockPrograms : PastPrograms).new(self) if past?
      return (blocks ? LabelBlockPrograms : LabelPrograms).new(self) if labels
      (blocks ? BlockPrograms : Programs).new(self)
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
                 period: 400, ruby: [], cut: true, blocks: false, malloc: :ruby, memory: nil, labels: nil)
      at.each do |intervals|
        SCENARIOS << Scenario.new(name, program, sites, during, Array(intervals), rounds, period, ruby, cut,
                                  blocks, malloc, memory, labels)
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

  scenario "in turn, default interval", at: [65_536], rounds: 60_000, cut: false
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

  # ---- by label ----

  scenario "label, block", labels: :by_block
  scenario "label, YJIT", labels: :by_block, ruby: YJIT
  scenario "label, label!", labels: :by_change, cut: false
  scenario "label, late name", labels: :by_name_that_comes_late
  scenario "label, late name, all of these", at: [[400, 4096, 50, 20_000]], labels: :by_name_that_comes_late, during: :everything,
                                             period: 330, ruby: YJIT, cut: false
  scenario "label, Enumerator", labels: :by_enumerator
  scenario "label, new threads", labels: :by_new_thread, rounds: 3000
  scenario "label, thread of a pool", labels: :by_pool, rounds: 3000
  scenario "label, four threads", :threads, labels: :by_block, during: :pass, rounds: 1500, period: 50
  scenario "label, four fibers", :fibers, labels: :by_block, during: :yield_fiber, rounds: 1500, period: 50
  scenario "label, GCs of every kind", labels: :by_name_that_comes_late, during: :collect
  scenario "label, parent and child of fork", :forked, labels: :by_block, rounds: 3000
  scenario "label, thinned", :thinned, labels: :by_block, at: [100], rounds: 6000, memory: 1 << 20
  scenario "label, late name, thinned", :thinned, labels: :by_name_that_comes_late, at: [100], rounds: 6000, memory: 1 << 20

  # ---- bytes of blocks ----

  GROWING_SITES = %i[chain string array hash].freeze
  SHRUNK_SITES = %i[shrunk_chain shrunk_string shrunk_array shrunk_hash].freeze
  BLOCK_SITES = [*%i[malloc_1000 calloc_8000 held_1000 passed_1000], *SHRUNK_SITES].freeze
  ALL_SITES = %i[plain_1000 shrunk_plain_chain malloc_1000 shrunk_string shrunk_array shrunk_hash].freeze

  class << self
    # Most of what is asked for is sampled, so that fewer rounds will do.
    def blocks(name, program = :mutator, at: [4096], sites: BLOCK_SITES, rounds: 300, period: 20, **settings)
      scenario("blocks, #{name}", program, at: at, sites: sites, rounds: rounds, period: period,
               blocks: true, **settings)
    end
  end

  { 16 => 1500, 100 => 1500, 1000 => 1500, 8000 => 900 }.each do |bytes, rounds|
    blocks "alone", sites: [:"malloc_#{bytes}"], at: [2 * bytes, 20 * bytes], rounds: rounds, cut: false
  end
  blocks "alone", sites: [:malloc_64k], at: [100_000, 524_288], rounds: 600, cut: false
  blocks "alone", sites: [:malloc_1M], at: [524_288, 8 << 20], rounds: 300, cut: false
  blocks "alone", sites: [:malloc_64M], at: [32 << 20, 128 << 20], rounds: 30
  blocks "malloc in turn", sites: %i[malloc_16 malloc_100 malloc_1000 malloc_8000], rounds: 6000, period: 400,
         cut: false
  blocks "calloc in turn", sites: %i[calloc_100 calloc_1000 calloc_8000], rounds: 1500, period: 100
  blocks "malloc and calloc in turn", sites: %i[malloc_8000 calloc_64k malloc_1M], at: [524_288], rounds: 1500,
         period: 100, cut: false
  blocks "freed by the collector", sites: %i[held_100 held_1000 held_8000], rounds: 1500, period: 100
  blocks "freed without the GVL", sites: %i[passed_100 passed_1000], at: [1000]
  GROWING_SITES.each { |site| blocks "alone, growing", sites: [site], at: [4096, 65_536], cut: false }
  SHRUNK_SITES.each { |site| blocks "alone, shrunk and grown again", sites: [site], at: [1000, 16_384], cut: false }
  blocks "alone, growing", sites: [:large_chain], at: [16 << 20], rounds: 60
  blocks "alone, shrunk and grown again", sites: [:shrunk_large_chain], at: [16 << 20], rounds: 60
  blocks "in turn, growing", sites: GROWING_SITES, cut: false
  blocks "in turn", at: [4096, 16_384]
  blocks "in turn, YJIT", ruby: YJIT, cut: false
  blocks "in turn, interval changed", at: [[400, 4096, 1, 20_000]], period: 15, cut: false
  blocks "in turn, flushes", during: :flush, period: 60, cut: false
  blocks "in turn, GCs of every kind", during: :collect, cut: false
  blocks "in turn, GC.compact", during: :compact, period: 75, cut: false
  blocks "in turn, auto_compact", during: :collect_and_compact, period: 50, cut: false
  blocks "in turn, all of these", at: [[400, 4096, 50, 20_000]], during: :everything, period: 16, ruby: YJIT
  blocks "in turn, GC.stress", :stressed, at: [1000], sites: %i[malloc_1000 held_1000], rounds: 30, cut: false
  blocks "from 2000 stacks", :scattered, at: [1000], sites: %i[malloc_100 calloc_1000], rounds: 2000, cut: false
  blocks "four threads", :threads, during: :pass, rounds: 90, period: 5, cut: false
  blocks "four fibers", :fibers, during: :yield_fiber, rounds: 90, period: 5, cut: false
  blocks "four Ractors", :ractors, sites: BLOCK_SITES - [:passed_1000], rounds: 90
  blocks "parent and child of fork", :forked, sites: BLOCK_SITES - [:passed_1000]
  blocks "from boot, by environment", :booted, cut: false
  blocks "malloc=all", malloc: :all, sites: ALL_SITES, cut: false
  blocks "malloc=all, GCs of every kind", malloc: :all, sites: ALL_SITES, during: :collect, cut: false
  blocks "malloc=all, all of these", malloc: :all, sites: ALL_SITES, at: [[400, 4096, 50, 20_000]], during: :everything,
         period: 16, ruby: YJIT
  blocks "malloc=all, four threads", :threads, malloc: :all, sites: ALL_SITES, during: :pass, rounds: 90, period: 5,
         cut: false
  blocks "malloc=all, four Ractors", :ractors, malloc: :all, sites: ALL_SITES, rounds: 90
  blocks "malloc=all, parent and child of fork", :forked, malloc: :all, sites: ALL_SITES, cut: false
  blocks "malloc=all, from boot", :booted, malloc: :all, sites: ALL_SITES, cut: false

  # ---- bytes of blocks by label ----

  { "in a block" => :by_block, "after label!" => :by_change, "late name" => :by_name_that_comes_late, "Enumerator" => :by_enumerator,
    "new threads" => :by_new_thread, "thread of a pool" => :by_pool }.each do |name, way|
    blocks "by label, #{name}", labels: way, rounds: 600, cut: way == :by_name_that_comes_late
  end
  blocks "by label, all of these", labels: :by_name_that_comes_late, at: [[400, 4096, 50, 20_000]], during: :everything, rounds: 600,
         period: 16, ruby: YJIT, cut: false
  blocks "by label, malloc=all", labels: :by_block, malloc: :all, sites: ALL_SITES, rounds: 600, cut: false

  # ---- the past: how old the dead were, and what was alive at the peak ----

  scenario "past", :lived
  scenario "past, minor GCs", :lived, during: :minor
  scenario "past, GC.compact", :lived, during: :compact, at: [400], rounds: 3000
  scenario "past, YJIT", :lived, ruby: YJIT, cut: false
  scenario "past, default interval", :lived, at: [65_536], rounds: 60_000, sites: %i[item_2 item_4], cut: false
  scenario "past, built-in classes", :lived, sites: BUILT_IN_SITES, rounds: 3000, cut: false
  scenario "past, parent and child of fork", :lived_fork, at: [400], rounds: 3000
  scenario "past, four Ractors", :lived_ractors, at: [400], sites: [:item_0], rounds: 4000
  scenario "past, thinned", :lived_thinned, at: [40], rounds: 8000, memory: 1 << 20
  blocks "past", :lived, at: [4096, 20_000], sites: %i[malloc_1000 calloc_8000], rounds: 900
  blocks "past, parent and child of fork", :lived_fork, sites: %i[malloc_1000], rounds: 900, cut: false

  # ---- a budget that is used up ----

  class << self
    # The least budget there is holds some 16,000 samples of objects, or 8,000 of blocks.
    def thinned(name, program = :thinned, **settings)
      scenario("thinned, #{name}", program, memory: 1 << 20, **settings)
    end
  end

  thinned "once", at: [100], rounds: 6000
  thinned "five times", at: [40], sites: [:item_1], rounds: 300_000, cut: false
  thinned "in the midst of GCs of every kind", at: [40], during: :collect, rounds: 8000
  thinned "while the heap is compacted", at: [40], during: :collect_and_compact, rounds: 8000, period: 1000, cut: false
  thinned "each from a stack of its own", :thinned_scattered, at: [40], sites: [:item_0], rounds: 16_000
  thinned "parent and child of fork", :thinned_fork, at: [40], rounds: 8000
  thinned "four Ractors", :thinned_ractors, at: [40], sites: [:item_0], rounds: 40_000, cut: false
  thinned "blocks in turn", blocks: true, at: [100], sites: %i[malloc_100 calloc_1000 malloc_8000], rounds: 6000, cut: false
  thinned "blocks by label", blocks: true, labels: :by_name_that_comes_late, at: [100], sites: %i[malloc_100 calloc_1000 malloc_8000],
                             rounds: 6000, cut: false
  thinned "blocks, twice", blocks: true, at: [100], sites: [:malloc_1000], rounds: 25_000, cut: false
end
