# frozen_string_literal: true

# test_peak.rb - what a profile knows of the past: what was alive when most was alive
# (gc/objects/peak.c), and how many GCs the dead have survived (gc/objects/free.c).
#
# At interval 1 both are held against an account that MRI's events make (lib/accounting.rb,
# ../ext/census), to the object and byte, and those of blocks against a book that the test keeps. That
# estimates are without bias at other intervals, and when samples are thinned, is for ../accuracy.

require_relative "lib/heapprof_test"

class TestHeapProfPeak < Test::Unit::TestCase
  include HeapProfTest

  SETUP = <<~RUBY
    require #{File.join(__dir__, "lib/accounting").dump}
    require #{File.join(__dir__, "lib/mutator").dump}

    def assert_past(gc: true)
      assert_equal [], Accounting.differences_of_past(gc: gc).first(5)
    end

    # A mutator that grows and shrinks, for some seeds; the block says what happens after each round.
    def mutate(rounds, steps = scaled(300))
      (debug_build? ? [1] : [1, 2, 3]).each do |seed|
        HeapProfCensus.start(true)
        mutator = Mutator.new(seed)
        rounds.times do |round|
          mutator.run(steps)
          mutator.kept.fill(nil, round * 100 % 900, 300) if round % 3 == 2
          yield mutator, round
        end
        assert_past
        HeapProfCensus.stop
      end
    end
  RUBY

  def test_the_past_of_a_random_program
    in_child(SETUP + "mutate(12) { assert_past }")
  end

  def test_the_past_amid_lazy_sweeps_and_incremental_marking
    in_child(SETUP + <<~'RUBY')
      mutate(20, scaled(200)) do |mutator, _|
        mutator.collect
        mutator.run(scaled(50))
        assert_past(gc: false)
      end
    RUBY
  end

  def test_the_past_with_compaction
    in_child(SETUP + <<~'RUBY')
      mutate(6) do |mutator, round|
        round.odd? ? GC.compact : GC.verify_compaction_references(expand_heap: true, toward: :empty)
        mutator.run(20)
        assert_past(gc: round % 3 == 0)
      end
    RUBY
    in_child(SETUP + <<~'RUBY')
      GC.auto_compact = true
      mutate(8) do |mutator, round|
        mutator.collect
        assert_past(gc: round.odd?)
      end
    RUBY
  end

  def test_the_past_under_gc_stress
    in_child(SETUP + <<~'RUBY')
      mutate(2, 1) do |mutator, _|
        GC.stress = true
        mutator.run(debug_build? ? 2 : 10)
        GC.stress = false
        assert_past
      end
    RUBY
  end

  def test_the_past_in_parent_and_child_of_a_fork
    in_child(SETUP + <<~'RUBY')
      mutate(3) do |mutator, _|
        pid = fork do
          mutator.run(200)
          GC.start
          differences = Accounting.differences_of_past
          warn differences.first(5)
          exit!(differences.empty?)
        end
        mutator.run(100)
        assert_predicate Process.wait2(pid)[1], :success?
        assert_past
      end
    RUBY
  end

  # While profiles are written, their tables are copied in steps; the peak and the ages are those of the first step.
  def test_the_past_is_that_of_the_moment_of_the_profile
    in_child(SETUP + <<~'RUBY')
      HeapProfCensus.start(true)
      mutator = Mutator.new(1)
      writer = Thread.new { 10.times { HeapProfile.snapshot(owners: false).write(File::NULL) } }; line = __LINE__
      while writer.alive?
        mutator.run(20)
        mutator.collect
        Thread.pass
      end
      writer.join
      # The profiles themselves are in the census.
      assert_empty Accounting.differences_of_past.reject { |text| text.include?(":#{line}\n") }
    RUBY
  end

  def test_the_accounting_of_the_past_finds_what_is_missing
    in_child(SETUP + <<~'RUBY')
      HeapProfCensus.start(true)
      objects = Array.new(100) { Object.new; Object.new }
      GC.start
      seen = HeapProfCensus.take(true, false)
      assert_operator Accounting.at_peak(seen).values.sum(&:first), :>=, 100
      stack = Accounting.at_peak(seen).max_by { |_, (count, _)| count }.first
      row = seen[:rows].find { |one| one[1] == stack && one[7] > 0 }
      row[7] -= 1
      assert_equal 1, Accounting.compare("", Accounting.at_peak(seen), Accounting.peak(seen)).size
      assert_equal 100, objects.size
      row = seen[:rows].find { |one| one[5] == 0 }
      row[4] += 1
      assert_equal 1, Accounting.compare("", Accounting.ages_of_dead(seen), Accounting.death_ages(seen)).size
    RUBY
  end

  # ---- blocks ----

  # One GC a round. The book has what each way of asking holds after each GC, and what it had asked for that died, by age.
  BLOCKS = <<~'RUBY'
    require "zlib"
    require "-test-/heapprof_blocks"
    GC.disable

    def small = asked(HeapProfBlocks.malloc(1000))
    def large = asked(HeapProfBlocks.malloc(50_000))
    def grown = asked(HeapProfBlocks.realloc(HeapProfBlocks.malloc(500), 3000))
    def shrunk = asked(HeapProfBlocks.malloc(9000)).then { |block, bytes| [HeapProfBlocks.realloc(block, 700), bytes] }
    def asked(block) = [block, HeapProfBlocks.bytes(block)]
    WAYS = %i[small large grown shrunk]
    AGES = [0, 1, 2, 2, 4]

    random = Random.new(Integer(ARGV[0]))
    held, books = WAYS.to_h { |way| [way, []] }, {}
    died = WAYS.to_h { |way| [way, Hash.new(0)] }
    HeapProfile.start(interval: 1, malloc_interval: 1, memory: 1 << 28, peak: true, lifetimes: true)
    20.times do
      random.rand(200).times { WAYS.sample(random: random).then { |way| held[way] << [*send(way), GC.count] } }
      held.each do |way, blocks|
        random.rand(blocks.size + 1).times do
          block, bytes, birth = blocks.delete_at(random.rand(blocks.size))
          died[way][AGES[[GC.count - birth, 4].min]] += bytes
          HeapProfBlocks.free(block)
        end
      end
      GC.start
      books[GC.count] = held.transform_values { |blocks| blocks.sum { |block,| HeapProfBlocks.bytes(block) } }
    end
    profile = HeapProfile.snapshot
    profile.write("past.pb.gz")
    HeapProfile.stop
    peak_gc = Integer(Zlib.gunzip(File.binread("past.pb.gz"))[/peak: \d+ bytes after GC (\d+)/, 1])
    WAYS.each do |way|
      mine = profile.select { |row| row.caller&.end_with?("(heapprof_blocks.so)") && row.frames.any? { |frame| frame.label == "Object##{way}" } }
      assert_equal books.fetch(peak_gc).fetch(way), mine.sum(&:peak_space), way
      ages = mine.select(&:death_age).group_by(&:death_age).transform_values { |rows| rows.sum(&:alloc_space) }
      assert_equal died[way].sort, ages.sort, way
      assert_equal died[way][0], mine.sum(&:temp_space), way
      assert_equal [0, 0], [mine.sum(&:peak_objects), mine.sum(&:temp_objects)]
    end
    assert_operator died.values.flat_map(&:keys).uniq.size, :==, 4
    assert_operator books[peak_gc].values.sum, :>, 100_000
  RUBY

  def test_blocks_at_the_peak_and_their_ages
    3.times { |seed| in_directory { in_child("ARGV.replace([#{seed.to_s.dump}])\n" + BLOCKS) } }
  end

  # Two threads free and ask without the GVL while the collector works: sums and tables stay one (the debug build looks).
  def test_blocks_that_threads_free_meanwhile
    in_child(<<~'RUBY')
      require "-test-/heapprof_blocks"
      HeapProfile.start(interval: 1, malloc_interval: 1, memory: 1 << 28, peak: true, lifetimes: true)
      def asked = HeapProfBlocks.malloc(3000)
      5.times do
        blocks = Array.new(200) { asked }
        HeapProfBlocks.free_meanwhile(blocks) { 5.times { Array.new(1000) { +"text" }; GC.start } }
      end
      blocks = Array.new(300) { asked }
      2.times { GC.start }
      bytes = blocks.sum { |block| HeapProfBlocks.bytes(block) }
      mine = HeapProfile.snapshot.select { |row| row.caller&.end_with?("(heapprof_blocks.so)") }
      assert_equal bytes, mine.sum(&:inuse_space)
      assert_operator mine.sum(&:peak_space), :<=, bytes
      assert_equal mine.sum(&:alloc_space) - bytes, mine.select(&:death_age).sum(&:alloc_space)
    RUBY
  end

  # ---- Ractors ----

  # No GC but those of the test, so that each object dies at a known age; the machine stack may still hold a few.
  def test_ractors
    in_child(<<~'RUBY', "-W:no-experimental")
      class Item; end
      STALE = 20
      GC.disable
      HeapProfile.start(interval: 1, memory: 1 << 28, peak: true, lifetimes: true)
      ractors = Array.new(4) do |age|
        Ractor.new(age) do |number|
          kept = Array.new(1000) { Item.new }
          Ractor.yield(:made)
          Ractor.receive
          kept.clear
          Ractor.yield(:dropped)
          Ractor.receive
        end
      end
      ractors.each(&:take)
      ractors.each_with_index do |ractor, survived|
        ractor.send(:drop)
        ractor.take
        GC.start
        assert_in_delta 1000 * (3 - survived), total(HeapProfile.snapshot, class_name: "Item"), STALE
      end
      ractors.each { |ractor| ractor.send(:end) }.each(&:take)
      profile = HeapProfile.snapshot(gc: true)
      died = rows(profile, class_name: "Item").select(&:death_age).group_by(&:death_age)
      { 0 => 1000, 1 => 1000, 2 => 2000 }.each do |age, count|
        assert_in_delta count, died.fetch(age).sum(&:alloc_objects), STALE, age
      end
      assert_equal 4000, total(profile, :alloc_objects, class_name: "Item")
      assert_equal died.fetch(0).sum(&:alloc_objects), total(profile, :temp_objects, class_name: "Item")
      assert_in_delta 3000, total(profile, :peak_objects, class_name: "Item"), STALE
    RUBY
  end

  # ---- a budget that is used up ----

  # What is dead is dead, whatever is thinned: the ages always add up to it.
  def test_ages_add_up_to_the_dead_when_samples_are_thinned
    in_child(<<~'RUBY')
      HeapProfile.start(interval: 40, memory: 1 << 20, peak: true, lifetimes: true)
      kept = []
      60.times do |round|
        kept << Array.new(scaled(3000)) { |i| eval("'text #{round} #{i % 50}'").dup }
        kept.shift if round % 3 == 2
        GC.start if round % 10 == 0
      end
      kept.clear
      profile = HeapProfile.snapshot(gc: true)
      assert_operator HeapProfile.stat(:doublings), :>, 0
      dead = profile.select(&:death_age)
      %i[objects space].each do |unit|
        assert_equal profile.total(:"alloc_#{unit}") - profile.sum(&:"inuse_#{unit}"), dead.sum(&:"alloc_#{unit}"), unit
      end
      assert_equal dead.select { |row| row.death_age == 0 }.sum(&:alloc_space), profile.total(:temp_space)
      assert_operator profile.total(:peak_space), :>, profile.total(:inuse_space) * 2
    RUBY
  end

  # ---- what is asked for ----

  def test_a_profile_has_the_past_only_if_it_was_asked_for
    { "interval=1" => [[], []],
      "interval=1,peak=1" => [%w[peak_objects/count peak_space/bytes], [/\Apeak: \d+ bytes after GC \d+, \d{4}-\d\d-\d\dT[\d:]{8}\.\d{9}Z\z/]],
      "interval=1,lifetimes=1" => [%w[temp_objects/count temp_space/bytes], []],
      "interval=1,peak=1,lifetimes=1" => [%w[peak_objects/count peak_space/bytes temp_objects/count temp_space/bytes], [/\Apeak: /]]
    }.each do |settings, (types, comments)|
      profile_script("1000.times { 'text'.dup }; GC.start", settings: settings) do |out, _|
        lines = pprof("-raw", out).lines(chomp: true)
        assert_equal types, lines[lines.index("Samples:") + 1].split[10..]
        found = lines.grep(/\AComment: peak/).map { |line| line.delete_prefix("Comment: ") }
        assert_equal comments.size, found.size
        comments.zip(found) { |pattern, line| assert_match pattern, line }
      end
    end
  end

  def test_the_time_of_the_peak
    in_directory do
      in_child(<<~'RUBY')
        require "zlib"
        time = -> { Process.clock_gettime(Process::CLOCK_REALTIME, :nanosecond) }
        GC.disable
        HeapProfile.start(interval: 1, peak: true)
        kept = Array.new(5000) { +"x" * 100 }
        before = time.call
        GC.start
        after = time.call
        gc = GC.count
        kept.clear
        GC.start
        HeapProfile.snapshot.write("peak.pb.gz")
        text = Zlib.gunzip(File.binread("peak.pb.gz"))
        found = text.match(/peak: (\d+) bytes after GC #{gc}, (\d+)-(\d+)-(\d+)T(\d+):(\d+):(\d+)\.(\d{9})Z/n)
        bytes, *time, ns = found.captures.map { |digits| Integer(digits, 10) }
        assert_include before..after, Time.utc(*time).to_i * 10**9 + ns
        assert_equal HeapProfile.peak.total(:inuse_space), bytes
      RUBY
    end
  end

  def test_peak_is_a_profile_like_one_that_was_taken_then
    in_child(<<~'RUBY')
      class Item; end
      assert_raise(RuntimeError) { HeapProfile.peak }
      HeapProfile.start(interval: 1)
      GC.start
      assert_nil HeapProfile.peak
      assert_nil HeapProfile.snapshot.peak
      HeapProfile.stop
      HeapProfile.start(interval: 1, peak: true)
      assert_nil HeapProfile.peak
      kept = Array.new(1000) { Item.new }
      GC.start
      at_peak = HeapProfile.snapshot(owners: false)
      kept.clear
      GC.start
      peak = HeapProfile.peak
      assert_operator total(HeapProfile.snapshot, class_name: "Item"), :<, 10
      assert_equal 1000, total(peak, class_name: "Item")
      assert_equal 1000 * SLOTS[0], total(peak, :inuse_space, class_name: "Item")
      assert_equal total(at_peak, class_name: "Item"), total(peak, class_name: "Item")
      assert_equal peak.total(:inuse_space), peak.total(:alloc_space)
      assert_equal [[nil, nil]], peak.map { |row| [row.gc_age, row.death_age] }.uniq
      assert_equal 0, peak.total(:peak_space)
      assert_nil peak.peak
      assert_predicate peak, :frozen?
    RUBY
  end

  def test_a_profile_that_was_loaded_knows_the_past
    in_child(<<~'RUBY')
      require "stringio"
      HeapProfile.start(interval: 1, peak: true, lifetimes: true)
      Array.new(1000) { +"x" * 100 }
      3.times { GC.start }
      profile = HeapProfile.snapshot
      profile.write(io = StringIO.new.binmode)
      loaded = HeapProfile.load(StringIO.new(io.string))
      assert_equal profile, loaded
      assert_equal profile.peak, loaded.peak
      %i[peak_objects peak_space temp_objects temp_space].each do |value|
        assert_operator profile.total(value), :>, 0
        assert_equal profile.total(value), loaded.total(value)
      end
      loaded.write(again = StringIO.new.binmode)
      assert_equal loaded, HeapProfile.load(StringIO.new(again.string))
      assert_raise(ArgumentError) { profile.peak.write(StringIO.new.binmode, by: :peak_space) }
      profile.write(StringIO.new.binmode, by: :peak_space)
    RUBY
  end

  def test_a_difference_has_the_past_if_both_have_it
    in_child(<<~'RUBY')
      def take(**settings)
        HeapProfile.start(interval: 1, **settings)
        Array.new(1000) { +"x" * 100 }
        GC.start
        HeapProfile.snapshot
      ensure
        HeapProfile.stop
      end
      with, without = take(peak: true, lifetimes: true), take
      assert_equal [0, 0], [(with - without).total(:peak_space), (without - with).total(:temp_space)]
      assert_empty (with - with).to_a
      HeapProfile.start(interval: 1, peak: true, lifetimes: true)
      before = HeapProfile.snapshot
      500.times { Object.new }
      GC.start
      grown = HeapProfile.snapshot - before
      assert_in_delta 500, total(grown, :temp_objects, class_name: "Object"), 3
      assert_equal [[nil, nil]], grown.map { |row| [row.gc_age, row.death_age] }.uniq
    RUBY
  end
end
