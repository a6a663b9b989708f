# frozen_string_literal: true

# test_malloc.rb - the bytes asked of MRI's allocator: exact at interval 1, and at larger ones
# within 5.7 sigma, by the stack that asked for them; what is freed anywhere leaves. Most of it under
# each allocator of the system (lib/block_cases.rb).

require_relative "lib/heapprof_test"
require_relative "lib/block_cases"

class TestHeapProfMalloc < Test::Unit::TestCase
  include HeapProfTest
  include HeapProfBlockCases

  SETUP = <<~RUBY
    require #{File.join(__dir__, "lib/blocks").dump}
    require "-test-/heapprof_blocks"
    Asked = Blocks = HeapProfBlocks
    FUNCTIONS = %w[malloc calloc].freeze

    def start(**options) = HeapProfile.start(interval: 1 << 30, malloc_interval: 1, **options)
  RUBY

  # The blocks of an object are asked for, given back in part, and replaced; at each step what is in
  # use is what the allocator says they have.
  def test_every_byte_of_objects_that_grow_and_shrink_is_there_at_interval_1
    in_child(SETUP + <<~'RUBY')
      WORD = "word" * 16
      def string(string, bytes)
        string << WORD while string.bytesize < bytes
        string.bytesize > bytes ? Blocks.resize(string, bytes) : string
      end

      def array(array, size)
        array.push(size) while array.size < size
        array.pop while array.size > size
        array
      end

      def hash(hash, size)
        hash[hash.size] = true while hash.size < size
        hash.size > size ? hash.keep_if { |key,| key < size }.rehash : hash
      end

      # The VM asks below these methods, too.
      CALLERS = { string: /str_/, array: /ary_/, hash: /st_init_existing_table_with_size/ }

      def held(object)
        blocks = [Blocks.of(object), *(Blocks.bins(object) if Hash === object)]
        blocks.sum { |block| block == 0 ? 0 : Blocks.bytes(block) }
      end

      sizes = [12, 30, 200, 5000, 1000, 1200, 100_000, 64, 65, 3000, 20]
      { string: +"", array: [], hash: {} }.each do |label, object|
        start
        sizes.each do |size|
          object = send(label, object, size)
          assert_equal held(object), malloc_bytes(snapshot, label, CALLERS[label]).last, "#{label} of #{size}"
        end
        HeapProfile.stop
      end
    RUBY
  end

  def test_freed_by_the_collector
    in_child(SETUP + <<~'RUBY')
      start
      def strings = Array.new(100) { "x" * 10_000 }
      strings
      3.times { GC.start }
      allocated, in_use = malloc_bytes(snapshot, :strings, /\Astr_enc_new \(/)
      assert_operator allocated, :>=, 1_000_000
      assert_operator in_use, :<=, 20_000
    RUBY
  end

  # Of a debug build every GC checks all tables.
  def test_freed_by_another_thread_while_the_collector_runs_and_snapshots_are_taken
    in_child(SETUP + <<~'RUBY')
      HeapProfile.start(interval: 1, malloc_interval: 1)
      def asked = Blocks.malloc(100)
      blocks = Array.new(scaled(10_000)) { asked }
      bytes = blocks.sum { |block| Blocks.bytes(block) }
      kept = blocks.pop(50)
      rest = kept.sum { |block| Blocks.bytes(block) }
      seen = [bytes]
      Blocks.free_meanwhile(blocks) do
        10.times do
          GC.start
          allocated, in_use = malloc_bytes(snapshot, :asked)
          assert_equal bytes, allocated
          assert_include rest..seen.last, in_use
          seen << in_use
        end
      end
      assert_equal [bytes, rest], malloc_bytes(snapshot, :asked)
      assert_operator seen.uniq.size, :>=, debug_build? ? 2 : 3 # some GC came in between
      assert_equal 0, HeapProfile.stat(:dropped)
    RUBY
  end

  def test_blocks_of_ractors_stand_at_their_stacks
    in_child(SETUP + <<~'RUBY')
      Warning[:experimental] = false
      start
      def strings = Array.new(200) { "x" * 5000 }
      ractors = Array.new(3) { Ractor.new { kept = strings; Ractor.yield(:made); Ractor.receive; kept.size } }
      ractors.each(&:take)
      allocated, in_use = malloc_bytes(snapshot, :strings, /\Astr_enc_new \(/)
      assert_equal [3 * 200 * 5016] * 2, [allocated, in_use] # what malloc gives for 5001 bytes
      ractors.each { |ractor| ractor.send(:end) }.each(&:take)
    RUBY
  end

  # A GC may begin anywhere, and what it asks for is no doing of the program's.
  def test_what_the_collector_asks_for_is_of_no_stack
    in_child(SETUP + <<~'RUBY')
      map = ObjectSpace::WeakMap.new
      kept = Array.new(1000) { Object.new }
      kept.each { |object| map[object] = object }
      start
      GC.start
      asked, others = snapshot.select(&:caller).partition { |row| row.frames.empty? }
      assert_operator asked.sum(&:inuse_malloc_space), :>=, 1000 * 8
      assert_equal ["rb_gc_mark_weak (ruby)"], asked.map(&:caller).uniq
      assert_empty others.grep(->(row) { row.caller.include?("gc_mark") })
      assert_equal 0, HeapProfile.stat(:dropped)
    RUBY
  end

  def test_memory_that_is_only_reported
    in_child(SETUP + <<~'RUBY')
      start
      def small = Blocks.report(1000)
      def large = Blocks.report(50_000)
      3.times { small }
      large
      assert_equal [3000, 3000], malloc_bytes(snapshot, :small)
      assert_equal [50_000, 50_000], malloc_bytes(snapshot, :large)
      Blocks.report(-1000)
      assert_equal [3000, 2000], malloc_bytes(snapshot, :small)
      Blocks.report(-50_000)
      assert_equal [50_000, 0], malloc_bytes(snapshot, :large)
      3.times { Blocks.report(-1000) }
      assert_equal [3000, 0], malloc_bytes(snapshot, :small)
    RUBY
  end

  # Mean and standard deviation of z, within 3.5 of their sigmas.
  def test_reported_memory_is_estimated_without_bias
    in_child(SETUP + <<~'RUBY')
      def reported
        2000.times { Blocks.report(5000) }
        1400.times { Blocks.report(-5000) }
        300.times { Blocks.report(5000); Blocks.report(-5000) }
      end
      p = 1 - Math.exp(-5000.fdiv(65_536))
      zs = Array.new(scaled(200)) do |seed|
        start(malloc_interval: 65_536, seed: seed)
        reported
        in_use = malloc_bytes(snapshot, :reported).last
        HeapProfile.stop
        (in_use - 600 * 5000) / (5000 * Math.sqrt(600 * (1 - p) / p))
      end
      mean = zs.sum / zs.size
      assert_in_delta 0, mean, 3.5 / Math.sqrt(zs.size)
      assert_in_delta 1, Math.sqrt(zs.sum { |z| (z - mean)**2 } / zs.size), 3.5 / Math.sqrt(2 * zs.size)
    RUBY
  end

  # A chance of its own for each that is given back would leave a walk that is reflected at 0.
  def test_nothing_reported_is_in_use_when_all_is_given_back
    in_child(SETUP + <<~'RUBY')
      def paired = scaled(10_000).times { Blocks.report(1 << 20); Blocks.report(-(1 << 20)) }
      10.times do |seed|
        HeapProfile.start(interval: 512 << 10, seed: seed)
        paired
        allocated, in_use = malloc_bytes(snapshot, :paired)
        assert_in_delta 1, allocated.fdiv(scaled(10_000) << 20), 0.1
        assert_equal 0, in_use
        HeapProfile.stop
      end
    RUBY
  end

  def test_what_was_reported_before_the_start_is_ignored_when_it_is_given_back
    in_child(SETUP + <<~'RUBY')
      3.times { Blocks.report(1000) }
      start
      def reported = Blocks.report(1000)
      3.times { Blocks.report(-1000) }
      reported
      assert_equal [1000, 1000], malloc_bytes(snapshot, :reported)
    RUBY
  end

  # Another thread writes no countdown for it, but calls; a call that it misses costs 64 MiB at most.
  def test_thread_amid_its_requests_is_sampled_after_each_start
    in_child(SETUP + <<~'RUBY')
      Blocks.start_churn(1000)
      scaled(60).times do
        Blocks.churn(160 << 20)
        start(malloc_interval: 1 << 20)
        Blocks.churned
        Blocks.churn(80 << 20) # more than what a lost call costs
        Blocks.churned
        assert_operator snapshot.sum { |row| row.caller&.start_with?("churn_") ? 1 : 0 }, :>, 0
        HeapProfile.stop
      end
      Blocks.end_churn
    RUBY
  end

  # A sample drawn at one interval and weighted by the next would be 64 MB instead of 1.
  def test_sample_has_the_weight_of_the_interval_that_it_was_drawn_at
    in_child(SETUP + <<~'RUBY')
      require "-test-/heapprof_capi"
      INTERVALS = [1 << 20, 64 << 20].freeze
      rounds, part = scaled(200), 20 << 20
      HeapProfile.start(interval: INTERVALS[0])
      Blocks.start_churn(1000)
      rounds.times do |round|
        Blocks.churn(part)
        HeapProfCAPI.set_interval(INTERVALS[(round + 1) % 2])
        Blocks.churned
        HeapProfile.stat # which settles what waits
      end
      bytes = Blocks.end_churn
      estimate = snapshot.sum { |row| row.caller&.start_with?("churn_") ? row.alloc_malloc_space : 0 }
      assert_equal 0, HeapProfile.stat(:dropped)
      assert_in_delta bytes, estimate, Estimator::SIGMAS * Math.sqrt(bytes * INTERVALS.sum / 2)
    RUBY
  end

  def test_malloc_interval_0_samples_no_blocks
    in_child(SETUP + <<~'RUBY')
      HeapProfile.start(interval: 1, malloc_interval: 0)
      strings = Array.new(100) { "x" * 10_000 }
      assert_equal 0, snapshot.sum(&:alloc_malloc_space)
      assert_equal 0, HeapProfile.stat(:malloc_interval_bytes)
      assert_equal 100, strings.size
    RUBY
  end

  def test_malloc_interval_is_the_interval_unless_set
    in_child(SETUP + <<~'RUBY')
      HeapProfile.start(interval: 4096)
      assert_equal 4096, HeapProfile.stat(:malloc_interval_bytes)
    RUBY
  end
end
