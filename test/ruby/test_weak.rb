# frozen_string_literal: true

# test_weak.rb - finalizers and weak references with every object sampled: entries vanish when they
# do without the profiler, finalizers run as often, and what a finalizer allocates is counted as its.

require_relative "lib/heapprof_test"

class TestHeapProfWeak < Test::Unit::TestCase
  include HeapProfTest

  # Makes things on a stack of its own, which is gone then: no stale word on ours keeps one alive.
  APART = <<~'RUBY'
    class Item
      def initialize(name = nil) = @name = name
      attr_reader :name
      def ==(other) = other.is_a?(Item) && name == other.name
      alias eql? ==
      def hash = name.hash
    end
    def apart(&) = Fiber.new(&).resume

    # A map clears the reference in one GC and counts one entry less in the next.
    def collect = 2.times { GC.start }
  RUBY

  # Runs the script without and with the profiler; both print the same, and what is expected.
  def assert_same_when_profiled(script, expected)
    in_directory do
      plain = run_ruby("--disable-gems", "-", stdin: APART + script)
      assert_clean plain
      assert_operator expected, :===, plain.out
      assert_clean run_ruby("--disable-gems", "-", stdin: APART + script, heapprof: "interval=1,out=p.pb.gz"), out: plain.out
    end
  end

  # ---- weak references ----

  def test_weak_map_loses_what_dies_by_value_and_by_key
    assert_same_when_profiled(<<~'RUBY', "400\n100\n100\n100\n101\n[true, true]\n")
      map = ObjectSpace::WeakMap.new
      keys, values = apart do
        keys, values = Array.new(100) { Item.new }, Array.new(100) { Item.new }
        keys.each { |key| map[key] = key; map[Item.new] = key }
        values.each { |value| map[Item.new] = value; map[value] = Item.new }
        puts map.size
        [keys, values]
      end
      collect
      puts map.size, map.keys.count { |key| keys.any? { |kept| kept.equal?(key) } }
      GC.compact
      puts map.size
      apart { map[:symbol] = Item.new; map[1] = 2 }
      collect
      puts map.size
      p [keys.all? { |key| map[key].equal?(key) }, values.none? { |value| map.key?(value) }]
    RUBY
  end

  def test_weak_key_map_loses_what_dies_and_finds_equal_keys
    assert_same_when_profiled(<<~'RUBY', "300\n100\n[true, true, nil]\n100\n")
      map = ObjectSpace::WeakKeyMap.new
      kept = apart do
        kept = Array.new(100) { |i| Item.new(i) }
        kept.each { |key| map[key] = [key.name] }
        200.times { |i| map[Item.new(1000 + i)] = i }
        puts map.inspect[/size=(\d+)/, 1]
        kept
      end
      collect
      puts map.inspect[/size=(\d+)/, 1]
      p [apart { kept.all? { |key| map[Item.new(key.name)] == [key.name] } },
         apart { kept.all? { |key| map.getkey(Item.new(key.name)).equal?(key) } }, apart { map[Item.new(1000)] }]
      GC.compact
      puts kept.count { |key| map.key?(key) }
    RUBY
  end

  def test_weakref_is_alive_as_long_as_its_object
    assert_same_when_profiled(<<~'RUBY', "[100, 200]\n[100, 100]\n[0, 0]\n:recycled\n")
      require "weakref"
      kept, references = apart do
        kept = Array.new(100) { |i| Item.new(i) }
        [kept, kept.map { |item| WeakRef.new(item) } + Array.new(100) { |i| WeakRef.new(Item.new(i)) }]
      end
      count = -> { apart { [references.first(100).count(&:weakref_alive?), references.count(&:weakref_alive?)] } }
      GC.disable
      p count.call
      GC.enable
      collect
      p count.call
      kept.clear
      collect
      p count.call
      begin references[0].name; rescue WeakRef::RefError; p :recycled; end
    RUBY
  end

  def test_entries_vanish_in_the_same_gc_whatever_its_kind
    assert_same_when_profiled(<<~'RUBY', /\A(\[\d+, 200, 200\]\n){4}\z/)
      [true, false].product([true, false]) do |mark, sweep|
        map = ObjectSpace::WeakMap.new
        kept = apart { Array.new(200) { Item.new }.each { |item| map[item] = item } }
        apart { 300.times { map[Item.new] = Item.new } }
        p Array.new(3) { GC.start(immediate_mark: mark, immediate_sweep: sweep); GC.start if !mark; map.size }
        kept.all? { |item| map.key?(item) } or raise
      end
    RUBY
  end

  def test_samples_of_weakly_held_objects_live_as_long_as_they_do
    in_child(APART + <<~'RUBY')
      def held_weakly(map) = Array.new(300) { Item.new }.each { |item| map[item] = item }
      HeapProfile.start(interval: 1)
      map = ObjectSpace::WeakMap.new
      kept = apart { held_weakly(map).each_slice(3).map(&:first) }
      collect
      profile = HeapProfile.snapshot(gc: true)
      assert_equal [100, 100], [map.size, total(profile, class_name: "Item", label: "Object#held_weakly")]
      map.each_value { |item| assert_include HeapProfile.allocation_stack(item).map(&:label), "Object#held_weakly" }
      kept.clear
      collect
      profile = HeapProfile.snapshot(gc: true)
      assert_equal map.size, total(profile, class_name: "Item")
      assert_operator map.size, :<=, 3
    RUBY
  end

  # ---- finalizers ----

  def test_what_finalizers_allocate_is_counted_and_has_their_stack
    in_child(APART + <<~'RUBY')
      class Made; end
      class Finalizer
        def initialize = @made = []
        def call(_) = @made << Made.new
        attr_reader :made
      end
      HeapProfile.start(interval: 1)
      finalizer = Finalizer.new
      apart { 500.times { ObjectSpace.define_finalizer(Item.new, finalizer) } }
      GC.start
      assert_equal 500, finalizer.made.size
      profile = HeapProfile.snapshot(gc: true)
      assert_equal 500, total(profile, class_name: "Made", label: "Finalizer#call")
      assert_equal 0, total(profile, class_name: "Item")
      assert_equal 500, total(profile, :alloc_objects, class_name: "Item")
      finalizer.made.each { |made| assert_equal ["Class#new", "Finalizer#call"], HeapProfile.allocation_stack(made).first(2).map(&:label) }
    RUBY
  end

  # Each death makes an object that has a finalizer itself, for so many generations.
  def test_finalizers_whose_objects_have_finalizers_are_all_counted
    in_child(APART + <<~'RUBY')
      class Generation; end
      def bear(left) = ObjectSpace.define_finalizer(Generation.new, ->(_) { $deaths += 1; apart { bear(left - 1) } if left > 0 })
      $deaths = 0
      HeapProfile.start(interval: 1)
      apart { 20.times { bear(9) } }
      12.times { GC.start }
      assert_equal 200, $deaths
      profile = HeapProfile.snapshot(gc: true)
      assert_equal [0, 200], [total(profile, class_name: "Generation"), total(profile, :alloc_objects, class_name: "Generation")]
    RUBY
  end

  def test_finalizers_that_allocate_under_gc_stress
    in_child(APART + <<~'RUBY')
      class Made; end
      $made = []
      HeapProfile.start(interval: 1)
      apart { 10.times { ObjectSpace.define_finalizer(Item.new, proc { $made << Made.new << "text" * 30 }) } }
      GC.stress = true
      10.times { Item.new }
      GC.stress = false
      GC.start
      assert_equal 20, $made.size
      assert_equal 10, total(HeapProfile.snapshot(gc: true), class_name: "Made")
    RUBY
  end

  def test_finalizers_run_at_exit_as_without_the_profiler
    assert_same_when_profiled(<<~'RUBY', "kept\n" * 3 + "late\n")
      at_exit { ObjectSpace.define_finalizer($late = Item.new, proc { print "#{[:late, Item.new][0]}\n" }) }
      $kept = Array.new(3) { Item.new.tap { |item| ObjectSpace.define_finalizer(item, proc { print "#{[:kept, Item.new][0]}\n" }) } }
      $kept.each { |item| item.freeze }
    RUBY
  end

  def test_finalizer_that_is_taken_back_does_not_run
    assert_same_when_profiled(<<~'RUBY', "[:kept]\n")
      $ran = []
      items = Array.new(50) { |i| Item.new(i).tap { |item| ObjectSpace.define_finalizer(item, proc { $ran << i }) } }
      items.each { |item| ObjectSpace.undefine_finalizer(item) }
      apart { ObjectSpace.define_finalizer(Item.new.dup, proc { $ran << :kept }) }
      items.clear
      GC.start
      p $ran
    RUBY
  end
end
