# frozen_string_literal: true

# test_free.rb - the death of a sampled object (gc/objects/free.c): it leaves what is in use and stays in
# what was allocated, whichever way it dies: swept at once or lazily, born during marking, with a
# finalizer, as a zombie, with its page. At interval 1 the profile can be held against the heap.

require_relative "lib/heapprof_test"

class TestHeapProfFree < Test::Unit::TestCase
  include HeapProfTest

  ITEMS = <<~'RUBY'
    class Item; end

    def make(count) = Array.new(count) { Item.new }

    # Makes garbage of which the machine stack holds an object or two by chance, at most.
    def waste(count) = make(count).clear

    def inuse(profile = HeapProfile.snapshot) = total(profile, :inuse_objects, class_name: "Item")
    def alloc(profile = HeapProfile.snapshot) = total(profile, :alloc_objects, class_name: "Item")
    def on_heap = ObjectSpace.each_object(Item).count
  RUBY

  def test_freed_objects_leave_inuse_and_stay_in_alloc
    in_child(ITEMS + <<~'RUBY')
      HeapProfile.start(interval: 1)
      kept = make(500)
      waste(2000)
      profile = HeapProfile.snapshot(gc: true)
      assert_in_delta 500, inuse(profile), 3 # the machine stack may hold a few
      assert_equal 2500, alloc(profile)
      400.times { kept.pop }
      profile = HeapProfile.snapshot(gc: true)
      assert_in_delta 100, inuse(profile), 3
      assert_equal 2500, alloc(profile)
    RUBY
  end

  def test_inuse_is_what_a_walk_of_the_heap_finds
    in_child(ITEMS + <<~'RUBY')
      HeapProfile.start(interval: 1)
      random = Random.new(1)
      kept = []
      20.times do
        kept.concat(make(300))
        waste(300)
        kept.shuffle!(random: random)
        kept.pop(random.rand(300))
        GC.start(full_mark: random.rand < 0.5)
        without_gc { assert_equal on_heap, inuse }
      end
      GC.disable # or what the profile has found alive dies before it is counted again
      profile = HeapProfile.snapshot(gc: true)
      assert_equal on_heap, inuse(profile)
      assert_equal 20 * 600, alloc
    RUBY
  end

  # What is born behind the sweep has no mark, and a Ractor that ends gives back its free lists as at the
  # end of marking.
  def test_objects_born_while_pages_are_swept_are_not_judged_by_marks_of_before
    in_child(ITEMS + <<~'RUBY')
      Warning[:experimental] = false
      kept = []
      [true, false].each do |full_mark|
        ractor = Ractor.new { Ractor.receive }
        waste(50_000)
        GC.start(full_mark: full_mark, immediate_sweep: false)
        HeapProfile.start(interval: 1) unless HeapProfile.running?
        kept << make(500)
        ractor.send(1)
        assert_equal 1, ractor.take
        Thread.pass until Ractor.count == 1
        assert_equal :sweeping, GC.latest_gc_info(:state)
        assert_in_delta kept.size * 500, inuse, 3 # the machine stack may hold a few of the waste
      end
    RUBY
  end

  # Before its page is swept, too. The machine stack may hold a few.
  def test_what_was_born_since_the_last_gc_and_is_not_marked_is_dead_at_once
    in_child(ITEMS + <<~'RUBY')
      HeapProfile.start(interval: 1, lifetimes: true)
      GC.start
      GC.disable
      kept = make(500)
      waste(20_000)
      assert_equal 20_500, inuse
      GC.enable
      GC.start(immediate_sweep: false)
      assert_equal :sweeping, GC.latest_gc_info(:state)
      assert_in_delta 500, inuse, 3
      assert_equal 20_500, alloc
      assert_equal 500, kept.size
      died = HeapProfile.snapshot.select { |sample| sample.class_name == "Item" && sample.inuse_objects == 0 }
      assert_in_delta 20_000, died.sum(&:alloc_objects), 3
    RUBY
  end

  # A page's mark bits stand for its slots by their size.
  def test_inuse_of_every_slot_size_is_what_a_walk_of_the_heap_finds
    in_child(<<~'RUBY')
      CLASSES = [3, 8, 18, 38, 78].map { |count| Object.const_set(:"Of#{count}", Struct.new(*Array.new(count) { |i| :"m#{i}" })) }
      def of(klass) = HeapProfile.snapshot.select { |row| row.class_name == klass.name }
      HeapProfile.start(interval: 1)
      random = Random.new(1)
      kept = []
      10.times do
        2000.times { kept << CLASSES.sample(random: random).new }
        kept.shuffle!(random: random)
        kept.pop(random.rand(2000))
        GC.start(full_mark: random.rand < 0.5)
        without_gc { CLASSES.each { |klass| assert_equal ObjectSpace.each_object(klass).count, of(klass).sum(&:inuse_objects), klass } }
      end
      slots = CLASSES.map { |klass| of(klass).sum(&:inuse_slot_space) / of(klass).sum(&:inuse_objects) }
      assert_equal GC.stat_heap.values.map { |heap| heap[:slot_size] }, slots
    RUBY
  end

  def test_inuse_of_every_class_is_what_a_walk_of_the_heap_finds
    in_child(<<~'RUBY')
      Pair = Struct.new(:left, :right)
      class Text < String; end
      class List < Array; end
      class Table < Hash; end
      class Failure < StandardError; end
      classes = [Pair, Text, List, Table, Failure]
      HeapProfile.start(interval: 1)
      kept = Array.new(200) do |i|
        text = Text.new("text" * i)
        [Pair.new(text, i), text, List.new(i), Table.new.merge!(i => i), Failure.new(text)]
      end
      kept.select!.with_index { |_, i| i % 3 == 0 }
      GC.disable # or what the profile has found alive dies before it is counted again
      profile = HeapProfile.snapshot(gc: true)
      classes.each do |klass|
        assert_equal ObjectSpace.each_object(klass).count, total(profile, class_name: klass.name), klass.name
      end
    RUBY
  end

  def test_dead_but_not_swept_is_not_in_use
    in_child(ITEMS + <<~'RUBY')
      HeapProfile.start(interval: 1)
      waste(20_000)
      GC.start(immediate_sweep: false)
      assert_operator inuse, :<=, 3
    RUBY
  end

  def test_objects_born_while_marking_goes_on_are_followed_to_their_death
    in_child(ITEMS + <<~'RUBY')
      ballast = Array.new(200_000) { [] }
      HeapProfile.start(interval: 1)
      10.times do
        GC.start(immediate_mark: false, immediate_sweep: false)
        waste(3000)
      end
      assert_equal 200_000, ballast.size
      assert_equal 30_000, alloc
      GC.start
      without_gc { assert_equal on_heap, inuse }
      assert_operator inuse, :<=, 3
    RUBY
  end

  def test_sample_dies_with_the_object_and_not_with_its_finalizer
    in_child(ITEMS + <<~'RUBY')
      HeapProfile.start(interval: 1)
      finalized = 0
      inuse_then = nil
      reaper = proc do
        finalized += 1
        inuse_then ||= inuse
      end
      make(500).each { |item| ObjectSpace.define_finalizer(item, reaper) }.clear
      ObjectSpace.garbage_collect
      GC.start
      assert_in_delta 500, finalized, 3
      assert_operator inuse_then, :<=, 3
      assert_equal 500, inuse + finalized
      assert_equal 500, alloc
    RUBY
  end

  def test_zombies_are_not_in_use
    in_child(<<~'RUBY')
      HeapProfile.start(interval: 1)
      def open_files = 200.times { File.open(File::NULL) }
      open_files
      profile = HeapProfile.snapshot(gc: true)
      assert_equal 200, total(profile, :alloc_objects, class_name: "File", label: "Object#open_files")
      assert_operator total(profile, class_name: "File", label: "Object#open_files"), :<=, 3
    RUBY
  end

  def test_object_in_a_dead_objects_slot_is_another_sample
    in_child(ITEMS + <<~'RUBY')
      class Other; end
      def others = Array.new(3000) { Other.new }
      HeapProfile.start(interval: 1)
      5.times do |round|
        waste(3000)
        GC.start
        kept = others
        profile = HeapProfile.snapshot(gc: true)
        assert_operator inuse(profile), :<=, 3
        found = rows(profile, class_name: "Other").select { |s| s.inuse_objects > 0 }
        assert_in_delta kept.size, found.sum(&:inuse_objects), 3
        assert found.all? { |s| s.frames.any? { |f| f.label == "Object#others" } }
        kept.clear
      end
    RUBY
  end

  def test_samples_die_with_pages_that_are_given_back
    in_child(ITEMS + <<~'RUBY')
      HeapProfile.start(interval: 1000)
      3.times do
        waste(scaled(300_000))
        GC.start
        GC.compact
        assert_operator inuse, :<=, 300
      end
      assert_operator HeapProfile.stat(:live_samples), :<, 500
    RUBY
  end

  def test_weak_references_see_the_same_deaths
    in_child(ITEMS + <<~'RUBY')
      HeapProfile.start(interval: 1)
      map = ObjectSpace::WeakMap.new
      kept = make(300)
      (kept + make(300)).each { |item| map[item] = item }.clear
      GC.start
      assert_equal kept.size, (kept & map.values).size
      assert_in_delta kept.size, map.size, 3
      without_gc { assert_equal on_heap, inuse }
    RUBY
  end

  def test_age_is_the_number_of_gcs_survived_rounded_down_to_a_power_of_two
    in_child(ITEMS + <<~'RUBY')
      HeapProfile.start(interval: 1)
      kept = make(10)
      ages = Array.new(10) do
        age = rows(HeapProfile.snapshot, class_name: "Item").filter_map(&:gc_age)
        GC.start
        age
      end
      assert_equal 10, kept.size
      assert_equal [[0], [1], [2], [2], [4], [4], [4], [4], [8], [8]], ages
    RUBY
  end

  def test_dead_rows_have_no_age
    in_child(ITEMS + <<~'RUBY')
      HeapProfile.start(interval: 1)
      waste(1000)
      found = rows(HeapProfile.snapshot(gc: true), class_name: "Item")
      dead, living = found.partition { |sample| sample.gc_age.nil? }
      assert_equal [0], dead.map(&:inuse_objects).uniq
      assert living.all? { |sample| sample.inuse_objects == sample.alloc_objects }
      assert_in_delta 1000, dead.sum(&:alloc_objects), 3
    RUBY
  end
end
