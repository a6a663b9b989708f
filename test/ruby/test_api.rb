# frozen_string_literal: true

# test_api.rb - ObjectSpace::HeapProfile as a program uses it (vm/api/api.c, vm/api/heapprof.rb): what
# each method takes, returns and raises. Snapshots have
# test_snapshot.rb; whether the numbers are right is the other tests' matter.

require_relative "lib/heapprof_test"

class TestHeapProfApi < Test::Unit::TestCase
  include HeapProfTest

  # ---- start and stop ----

  def test_start_returns_true_and_stop_nil
    in_child(<<~'RUBY')
      assert_equal false, HeapProfile.running?
      assert_equal true, HeapProfile.start
      assert_equal true, HeapProfile.running?
      assert_nil HeapProfile.stop
      assert_equal false, HeapProfile.running?
      assert_nil HeapProfile.stop
    RUBY
  end

  def test_defaults_are_the_documented_ones
    in_child(<<~'RUBY')
      HeapProfile.start
      assert_equal [65_536, 64 << 20], HeapProfile.stat.values_at(:interval_bytes, :memory_budget)
      assert_not_respond_to HeapProfile, :default
    RUBY
  end

  def test_second_start_raises_and_changes_nothing
    in_child(<<~'RUBY')
      HeapProfile.start(interval: 1)
      kept = Object.new
      error = assert_raise(RuntimeError) { HeapProfile.start(interval: 2) }
      assert_match(/running already; stop it first/, error.message)
      assert_equal 1, HeapProfile.stat(:interval_bytes)
      assert_operator total(HeapProfile.snapshot, class_name: "Object"), :>=, 1
      assert kept
    RUBY
  end

  def test_start_after_stop_begins_with_nothing
    in_child(<<~'RUBY')
      class Item; end
      HeapProfile.start(interval: 1)
      kept = [Item.new]
      HeapProfile.stop
      HeapProfile.start(interval: 1)
      assert_equal 0, total(HeapProfile.snapshot, :alloc_objects, class_name: "Item")
      kept << Item.new
      assert_equal 1, total(HeapProfile.snapshot, :alloc_objects, class_name: "Item")
    RUBY
  end

  def test_every_setting_out_of_range_raises_argument_error_that_names_it_and_the_range
    in_child(<<~'RUBY')
      {
        interval: [0, -1, (1 << 40) + 1, 1 << 64, -(1 << 70)],
        depth: [0, -1, 65_536, 1 << 32, (1 << 32) + 1, 1 << 80],
        memory: [0, -1, (1 << 20) - 1, 1 << 64],
      }.each do |key, values|
        values.each do |value|
          error = assert_raise(ArgumentError, "#{key}: #{value}") { HeapProfile.start(key => value) }
          assert_match(/\A#{key}: out of range \(expected .*\d/, error.message)
          assert_equal false, HeapProfile.running?
        end
      end
    RUBY
  end

  def test_ends_of_every_range_are_accepted
    in_child(<<~'RUBY')
      [{ interval: 1 }, { interval: 1 << 40 }, { depth: 1 }, { depth: 65_535 }, { memory: 1 << 20 },
       { memory: 1 << 40 }, { seed: 0 }, { seed: (1 << 64) - 1 }, { seed: -1 }, { seed: 1 << 100 }].each do |settings|
        assert_equal true, HeapProfile.start(**settings), settings.inspect
        Array.new(1000) { "x" * 100 }
        HeapProfile.snapshot
        HeapProfile.stop
      end
    RUBY
  end

  def test_settings_of_a_wrong_type_raise_type_error
    in_child(<<~'RUBY')
      %i[interval depth memory].each do |key|
        ["4k", nil, :one, Object.new, [1]].each do |value|
          assert_raise(TypeError, "#{key}: #{value.inspect}") { HeapProfile.start(key => value) }
        end
      end
      ["42", :one, Object.new].each { |value| assert_raise(TypeError) { HeapProfile.start(seed: value) } }
      assert_equal false, HeapProfile.running?
    RUBY
  end

  def test_numbers_that_convert_to_integers_are_settings
    in_child(<<~'RUBY')
      number = Struct.new(:to_int)
      HeapProfile.start(interval: number.new(4096), depth: number.new(8), memory: number.new(1 << 20), seed: number.new(1))
      assert_equal [4096, 1 << 20], HeapProfile.stat.values_at(:interval_bytes, :memory_budget)
      HeapProfile.stop
      HeapProfile.start(interval: 4096.9)
      assert_equal 4096, HeapProfile.stat(:interval_bytes)
    RUBY
  end

  def test_interval_changes_while_it_runs_and_estimates_stay_right
    in_child(<<~'RUBY')
      class Item; end
      def before = Array.new(3000) { Item.new }
      def after = Array.new(3000) { Item.new }
      HeapProfile.start(interval: 2000, seed: 1)
      old = before
      assert_equal 1, HeapProfile.interval = 1
      assert_equal [1, 1], HeapProfile.stat.values_at(:interval_bytes, :malloc_interval_bytes)
      new = after
      profile = HeapProfile.snapshot
      assert_equal 3000, total(profile, class_name: "Item", label: "Object#after")
      assert_in_delta 3000, total(profile, class_name: "Item", label: "Object#before"),
                      Estimator.allowance(3000, SLOTS[0], 2000)
      assert_equal [3000, 3000], [old.size, new.size]
    RUBY
  end

  def test_interval_that_cannot_be_set_raises_and_changes_nothing
    in_child(<<~'RUBY')
      error = assert_raise(RuntimeError) { HeapProfile.interval = 1000 }
      assert_match(/not running; start it first/, error.message)
      HeapProfile.start(interval: 500, malloc_interval: 7)
      [0, -1, (1 << 40) + 1, 1 << 64].each do |bytes|
        error = assert_raise(ArgumentError, bytes.inspect) { HeapProfile.interval = bytes }
        assert_equal "interval: out of range (expected 1 to 1099511627776 bytes)", error.message
      end
      ["4k", nil, Object.new].each { |value| assert_raise(TypeError) { HeapProfile.interval = value } }
      assert_equal [500, 7], HeapProfile.stat.values_at(:interval_bytes, :malloc_interval_bytes)
      HeapProfile.interval = 1 << 40
      assert_equal [1 << 40, 7], HeapProfile.stat.values_at(:interval_bytes, :malloc_interval_bytes)
    RUBY
  end

  def test_conversion_that_raises_or_starts_the_profiler_itself_is_met
    in_child(<<~'RUBY')
      raiser, starter = Object.new, Object.new
      def raiser.to_int = raise(IOError, "no")
      def starter.to_int = ObjectSpace::HeapProfile.start(interval: 7) ? 5 : 6
      assert_raise(IOError) { HeapProfile.start(interval: raiser) }
      assert_equal false, HeapProfile.running?
      assert_raise(RuntimeError) { HeapProfile.start(interval: starter) }
      assert_equal 7, HeapProfile.stat(:interval_bytes)
    RUBY
  end

  def test_unknown_keywords_and_positional_arguments_raise_argument_error
    in_child(<<~'RUBY')
      assert_raise(ArgumentError) { HeapProfile.start(intervall: 1) }
      assert_raise(ArgumentError) { HeapProfile.start(1) }
      assert_raise(ArgumentError) { HeapProfile.start({ interval: 1 }) }
      assert_raise(ArgumentError) { HeapProfile.profile(nonsense: 1) { flunk } }
      assert_raise(ArgumentError) { HeapProfile.snapshot(full: true) }
      assert_equal false, HeapProfile.running?
    RUBY
  end

  def test_seed_makes_samples_reproducible
    in_child(<<~'RUBY')
      def estimate(seed)
        # The same free lists to begin with: at each GC they go back to their pages.
        GC.start
        GC.disable
        HeapProfile.start(interval: 2000, seed: seed)
        i = 0
        i += "text".size while i < 40_000
        found = total(HeapProfile.snapshot, :alloc_objects, class_name: "String")
        HeapProfile.stop
        GC.enable
        found
      end
      3.times { estimate(0) }
      assert_equal estimate(7), estimate(7)
      assert_equal estimate(1 << 64), estimate(0), "only 64 bits of a seed are used"
      assert_operator Array.new(10) { |seed| estimate(seed) }.uniq.size, :>, 5
    RUBY
  end

  def test_without_a_seed_samples_differ_from_run_to_run
    in_child(<<~'RUBY')
      counts = Array.new(10) do
        HeapProfile.start(interval: 1000)
        20_000.times { Object.new }
        count = HeapProfile.stat(:total_samples)
        HeapProfile.stop
        count
      end
      assert_operator counts.uniq.size, :>, 2
    RUBY
  end

  # ---- allocation_stack ----

  def test_allocation_stack_is_the_backtrace_at_the_allocation
    in_child(<<~'RUBY')
      class Item
        attr_reader :place
        def initialize = @place = caller
      end
      def make = Item.new

      HeapProfile.start(interval: 1)
      items = Array.new(3) { make }
      items << Class.new(Item).new
      items.each do |item|
        stack = HeapProfile.allocation_stack(item)
        assert_equal item.place, stack.map(&:to_s)
        assert_instance_of HeapProfile::Frame, stack.first
        assert_equal stack, HeapProfile.allocation_stack(item)
        assert_predicate stack, :frozen?
      end
    RUBY
  end

  def test_allocation_stack_of_what_is_not_sampled_is_nil
    in_child(<<~'RUBY')
      before = Object.new
      assert_nil HeapProfile.allocation_stack(before)
      HeapProfile.start(interval: 1 << 40)
      assert_nil HeapProfile.allocation_stack(Object.new)
      HeapProfile.stop
      HeapProfile.start(interval: 1)
      during = Object.new
      [before, nil, true, 1, 1.5, :symbol, :"dynamic #{during.object_id}", String].each do |object|
        assert_nil HeapProfile.allocation_stack(object), object.inspect unless Symbol === object
        HeapProfile.allocation_stack(object)
      end
      assert HeapProfile.allocation_stack(during)
      HeapProfile.stop
      assert_nil HeapProfile.allocation_stack(during)
    RUBY
  end

  def test_allocation_stack_takes_any_object
    in_child(<<~'RUBY')
      HeapProfile.start(interval: 1)
      basic = BasicObject.new
      assert_equal "Class#new", HeapProfile.allocation_stack(basic).first.label
      frozen = "text".dup.freeze
      assert_equal "String#dup", HeapProfile.allocation_stack(frozen).first.label.sub("Kernel", "String")
      assert_raise(ArgumentError) { HeapProfile.allocation_stack }
    RUBY
  end

  def test_allocation_stack_leaves_nothing_behind
    in_child(<<~'RUBY')
      HeapProfile.start(interval: 1)
      object = Object.new
      maps = -> { File.foreach("/proc/self/maps").count }
      GC.disable
      before = maps.call
      2000.times { HeapProfile.allocation_stack(object) }
      assert_operator maps.call - before, :<, 100
    RUBY
  end

  # ---- profile ----

  def test_profile_returns_a_snapshot_of_what_the_block_left
    in_child(<<~'RUBY')
      class Item; end
      kept = []
      profile = HeapProfile.profile(interval: 1) do
        kept.concat(Array.new(10) { Item.new })
        Array.new(90) { Item.new }.clear
        assert HeapProfile.running?
        :ignored
      end
      assert_instance_of HeapProfile, profile
      assert_equal false, HeapProfile.running?
      assert_equal 100, total(profile, :alloc_objects, class_name: "Item")
      assert_in_delta 10, total(profile, class_name: "Item"), 3
    RUBY
  end

  def test_profile_without_gc_has_what_was_not_collected
    in_child(<<~'RUBY')
      class Item; end
      GC.disable
      profile = HeapProfile.profile(interval: 1, gc: false) { Array.new(90) { Item.new }.clear }
      assert_equal 90, total(profile, class_name: "Item")
    RUBY
  end

  def test_profile_stops_however_the_block_ends
    in_child(<<~'RUBY')
      assert_raise(IOError) { HeapProfile.profile { raise IOError } }
      assert_equal false, HeapProfile.running?
      assert_equal :broken, HeapProfile.profile { break :broken }
      assert_equal false, HeapProfile.running?
      assert_equal :thrown, catch(:up) { HeapProfile.profile { throw :up, :thrown } }
      assert_equal false, HeapProfile.running?
      def returns = HeapProfile.profile { return :returned }
      assert_equal :returned, returns
      assert_equal false, HeapProfile.running?
      assert_raise(SystemExit) { HeapProfile.profile { exit } }
      assert_equal false, HeapProfile.running?
      thread = Thread.new { HeapProfile.profile { sleep } }
      Thread.pass until thread.stop?
      thread.kill.join
      assert_equal false, HeapProfile.running?
      assert_instance_of HeapProfile, HeapProfile.profile { next }
    RUBY
  end

  def test_profile_whose_block_raises_writes_nothing
    in_directory do
      in_child('assert_raise(IOError) { HeapProfile.profile(out: "p.pb.gz") { raise IOError } }')
      assert_empty Dir.children(".")
    end
  end

  def test_profile_writes_to_out
    in_directory do
      in_child(<<~'RUBY')
        class Item; end
        kept = []
        HeapProfile.profile(out: "p.pb.gz", interval: 1) { kept << Item.new }
        require "stringio"
        io = StringIO.new("".b)
        HeapProfile.profile(out: io, interval: 1) { kept << Item.new }
        assert_equal "\x1f\x8b".b, io.string.byteslice(0, 2)
      RUBY
      assert_equal %w[p.pb.gz], Dir.children(".")
      assert_equal 1, read_profile("p.pb.gz").total(class_name: "Item")
    end
  end

  def test_profile_whose_block_stopped_the_profiler_raises
    in_child(<<~'RUBY')
      assert_raise(RuntimeError) { HeapProfile.profile { HeapProfile.stop } }
    RUBY
  end

  def test_profile_without_a_block_raises_argument_error
    in_child(<<~'RUBY')
      error = assert_raise(ArgumentError) { HeapProfile.profile }
      assert_match(/a block is needed/, error.message)
      assert_equal false, HeapProfile.running?
    RUBY
  end

  def test_profile_when_running_raises_and_leaves_the_other_run_alone
    in_child(<<~'RUBY')
      HeapProfile.start(interval: 99)
      assert_raise(RuntimeError) { HeapProfile.profile { flunk } }
      assert_equal [true, 99], [HeapProfile.running?, HeapProfile.stat(:interval_bytes)]
    RUBY
  end

  # ---- stat ----

  def test_stat_is_a_hash_or_one_value
    in_child(<<~'RUBY')
      keys = %i[interval_bytes malloc_interval_bytes malloc_all live_samples total_samples dropped folded truncated sites stack_nodes functions
                memory_used memory_peak memory_budget doublings dead_functions dead_stack_nodes dead_sites merged_sites nameless_sites
                other_labels left_out_labels]
      assert_equal keys.to_h { |key| [key, 0] }, HeapProfile.stat
      HeapProfile.start(interval: 1)
      kept = Array.new(1000) { Object.new }
      stat = HeapProfile.stat
      assert_equal keys, stat.keys
      assert stat.values.all?(Integer)
      assert_operator stat[:live_samples], :>=, kept.size
      assert_operator stat[:total_samples], :>=, stat[:live_samples]
      assert_operator stat[:memory_used], :<=, stat[:memory_peak]
      assert_operator stat[:memory_peak], :<=, stat[:memory_budget]
      keys.each { |key| assert_kind_of Integer, HeapProfile.stat(key) }
      HeapProfile.stop
      assert_equal [0], HeapProfile.stat.values.uniq
    RUBY
  end

  def test_stat_of_a_key_allocates_nothing
    in_child(<<~'RUBY')
      HeapProfile.start
      keys = HeapProfile.stat(rss: true).keys
      allocated = lambda do |key|
        before = GC.stat(:total_allocated_objects)
        HeapProfile.stat(key)
        GC.stat(:total_allocated_objects) - before
      end
      keys.each(&allocated) # the first time methods are looked up
      assert_equal keys.to_h { |key| [key, 0] }, keys.to_h { |key| [key, allocated.call(key)] }
    RUBY
  end

  def test_stat_of_a_wrong_key_raises
    in_child(<<~'RUBY')
      %i[nonsense rss_nonsense].each do |key|
        error = assert_raise(ArgumentError) { HeapProfile.stat(key) }
        assert_equal "unknown key: #{key}", error.message
      end
      ["interval_bytes", 1, {}].each { |key| assert_raise(TypeError) { HeapProfile.stat(key) } }
    RUBY
  end

  # ---- profiles as values ----

  VALUES = <<~'RUBY'
    require "stringio"
    class Item; end
    def taken(count, **with)
      HeapProfile.start(interval: 1, malloc_interval: 0)
      kept = Array.new(count) { Item.new }
      HeapProfile.snapshot(gc: true, **with)
    ensure
      HeapProfile.stop
      kept.clear
    end
  RUBY

  def test_profiles_are_equal_by_what_they_say
    in_child(VALUES + <<~'RUBY')
      HeapProfile.start(interval: 1)
      kept = Array.new(100) { [Item.new, "x" * 1000] }
      one = HeapProfile.snapshot(gc: true, owners: true, rss: true)
      kept << Item.new
      other = HeapProfile.snapshot(gc: true, owners: true, rss: true)
      HeapProfile.stop
      again = HeapProfile.load(StringIO.new(one.to_pprof))
      assert_not_same one, again
      assert_equal one, again
      assert_equal again, one
      assert one.eql?(again)
      assert_equal one.hash, again.hash
      assert_equal [1, 2], [[one, again], [one, again, other]].map { |profiles| profiles.uniq.size }
      assert_not_equal one, other
      assert_not_equal one, other - one
      assert_equal other - one, other - again
      assert_equal (other - one).hash, (other - again).hash
      assert_equal one - one, other - other
      [1, nil, "x", Object.new].each { |no| assert_equal false, one == no }
    RUBY
  end

  # Two snapshots of the same heap: the second is of another time, and of the same content.
  def test_time_is_no_content
    in_child(VALUES + <<~'RUBY')
      HeapProfile.start(interval: 1 << 40, malloc_interval: 0)
      one = HeapProfile.snapshot
      sleep 0.01
      assert_equal one, HeapProfile.snapshot
    RUBY
  end

  def test_inspect_says_what_it_adds_up_to
    in_child(VALUES + <<~'RUBY')
      few, many = taken(100), taken(30_000)
      samples = many.sum(&:inuse_objects)
      megabytes = many.sum(&:inuse_space) / 1048576.0
      assert_equal "#<ObjectSpace::HeapProfile #{format('%.2f', megabytes)} MB in use, #{samples} samples, interval 1>", many.inspect
      assert_match(/\A#<ObjectSpace::HeapProfile grew by 1\.\d+ MB, interval 1>\z/, (many - few).inspect)
      assert_match(/\A#<ObjectSpace::HeapProfile shrank by 1\.\d+ MB, interval 1>\z/, (few - many).inspect)
      [many, few - many].each { |profile| assert_equal profile.inspect, HeapProfile.load(StringIO.new(profile.to_pprof)).inspect }
      HeapProfile.start(interval: 1536 << 10)
      assert_match(/interval 1536k>/, HeapProfile.snapshot.inspect)
      HeapProfile.interval = 1 << 30
      assert_match(/interval 1g>/, HeapProfile.snapshot.inspect)
    RUBY
  end

  def test_profiles_are_frozen
    in_child(VALUES + <<~'RUBY')
      profile = taken(10)
      [profile, profile - profile, HeapProfile.load(StringIO.new(profile.to_pprof))].each do |each|
        assert_predicate each, :frozen?
        assert_raise(FrozenError) { each.instance_variable_set(:@a, 1) }
        assert_raise(FrozenError) { def each.own = 1 }
      end
    RUBY
  end
end
