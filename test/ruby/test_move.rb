# frozen_string_literal: true

# test_move.rb - compaction (gc/move.c): a sample follows its object to its new slot, with stack,
# weight and age, and dies where the object then is; names follow the code that moved.

require_relative "lib/heapprof_test"

class TestHeapProfMove < Test::Unit::TestCase
  include HeapProfTest

  ITEMS = <<~'RUBY'
    class Item
      def initialize(text) = @text = text
    end

    # A heap with holes, so that there is where to move to.
    def scattered(count)
      all = Array.new(count) { |i| [Item.new("item #{i}"), "text #{i}" * (i % 60), [i] * (i % 70), { i => i }] }
      kept = all.select.with_index { |_, i| i % 3 == 0 }
      all.clear # the machine stack may hold it
      kept
    end

    # Objects and bytes at each of scattered's sites, whatever their age.
    def contents(profile)
      rows = profile.select do |sample|
        sample.inuse_objects > 0 && %w[Item String Array Hash].include?(sample.class_name) &&
          sample.frames.any? { |frame| frame.label == "Object#scattered" }
      end
      rows.group_by { |sample| "#{sample.class_name} #{sample.frames.join(' ')}" }
          .transform_values { |group| [group.sum(&:inuse_objects), group.sum(&:inuse_space)] }
    end

    # The same but for rounding and for a few objects that the machine stack held by chance.
    def assert_same_contents(before, after, interval)
      slack = 3 / Estimator.probability(SLOTS[0], interval)
      assert_operator before.size, :>=, 5
      assert_equal before.keys.sort, after.keys.sort
      before.each do |site, (objects, space)|
        assert_in_delta objects, after[site][0], slack, site
        assert_in_delta space, after[site][1], slack * SLOTS.last, site
      end
    end

    def moved = GC.latest_compact_info[:moved].values.sum
  RUBY

  def test_moved_objects_keep_their_samples
    in_child(ITEMS + <<~'RUBY')
      [1, 500].each do |interval|
        HeapProfile.start(interval: interval, seed: 1)
        kept = scattered(scaled(20_000))
        before = contents(HeapProfile.snapshot(gc: true))
        GC.compact
        assert_operator moved, :>, 1000
        after = contents(HeapProfile.snapshot(gc: true))
        assert_same_contents before, after, interval
        assert_operator kept.size, :>, 0
        HeapProfile.stop
      end
    RUBY
  end

  def test_samples_follow_objects_through_verify_compaction_references
    in_child(ITEMS + <<~'RUBY')
      HeapProfile.start(interval: 1)
      kept = scattered(scaled(10_000))
      before = contents(HeapProfile.snapshot(gc: true))
      3.times { GC.verify_compaction_references(expand_heap: true, toward: :empty) }
      assert_same_contents before, contents(HeapProfile.snapshot(gc: true)), 1
      assert_operator kept.size, :>, 0
    RUBY
  end

  def test_moved_objects_keep_their_age
    in_child(ITEMS + <<~'RUBY')
      HeapProfile.start(interval: 1)
      GC.disable
      kept = Array.new(100) { Item.new("x") }
      GC.enable
      GC.start
      gc_count = GC.count
      GC.verify_compaction_references(expand_heap: true, toward: :empty)
      survived = 1 + GC.count - gc_count
      found = rows(HeapProfile.snapshot, class_name: "Item")
      assert_equal 100, kept.size
      assert_equal [1 << (survived.bit_length - 1)], found.map(&:gc_age)
    RUBY
  end

  def test_moved_objects_die
    in_child(ITEMS + <<~'RUBY')
      HeapProfile.start(interval: 1)
      kept = scattered(3000)
      GC.verify_compaction_references(expand_heap: true, toward: :empty)
      assert_equal 1000, kept.size
      kept.clear
      profile = HeapProfile.snapshot(gc: true)
      assert_operator total(profile, class_name: "Item"), :<=, 3
      assert_equal 3000, total(profile, :alloc_objects, class_name: "Item")
    RUBY
  end

  def test_samples_survive_compaction_in_a_loop_while_objects_come_and_go
    in_child(ITEMS + <<~'RUBY')
      HeapProfile.start(interval: 1)
      random = Random.new(2)
      kept = []
      scaled(100).times do
        200.times { kept << Item.new("loop") }
        kept.delete_if { random.rand < 0.3 }
        GC.compact
        found = total(HeapProfile.snapshot, class_name: "Item")
        assert_equal ObjectSpace.each_object(Item).count, found
      end
    RUBY
  end

  def test_samples_survive_auto_compaction
    in_child(ITEMS + <<~'RUBY')
      GC.auto_compact = true
      HeapProfile.start(interval: 1)
      kept = []
      count = GC.stat(:compact_count)
      20.times do |round|
        kept.concat(scattered(1000))
        kept.shift(200)
        # Marked and swept in steps: objects are used, and moved back, while the heap is in between.
        GC.start(immediate_mark: false, immediate_sweep: false)
        kept.each { |item, text, array, hash| assert_equal text.size, "#{text}".size; array.sum; hash.keys; item.inspect }
      end
      assert_operator GC.stat(:compact_count), :>, count
      GC.start
      assert_equal ObjectSpace.each_object(Item).count, total(HeapProfile.snapshot, class_name: "Item")
    RUBY
  end

  def test_names_follow_classes_and_code_that_moved
    in_child(ITEMS + <<~'RUBY')
      def make(i)
        klass = Class.new(Item) { class_eval("def made_#{i} = self.class.new('x')") }
        Object.const_set("Moved#{i}", klass)
        klass.new("first").public_send("made_#{i}")
      end

      HeapProfile.start(interval: 1)
      kept = Array.new(50) { |i| make(i) }
      GC.verify_compaction_references(expand_heap: true, toward: :empty)
      kept += Array.new(50) { |i| Object.const_get("Moved#{i}").new("second").public_send("made_#{i}") }
      profile = HeapProfile.snapshot(gc: true)
      assert_equal 100, kept.size
      50.times do |i|
        assert_equal 2, total(profile, class_name: "Moved#{i}", label: "Moved#{i}#made_#{i}"), "Moved#{i}"
      end
    RUBY
  end

  # Where a class was, another may be made.
  def test_new_classes_in_the_places_of_moved_ones_have_their_own_names
    in_child(ITEMS + <<~'RUBY')
      HeapProfile.start(interval: 1)
      kept = []
      5.times do |round|
        100.times do |i|
          Class.new # a hole, soon
          kept << Object.const_set("Round#{round}Class#{i}", Class.new).new
        end
        GC.verify_compaction_references(toward: :empty)
      end
      assert_operator moved, :>, 100
      profile = HeapProfile.snapshot(gc: true)
      counts = kept.map { |item| item.class.name }.tally
      found = counts.to_h { |name, _| [name, 0] }
      profile.each { |sample| found[sample.class_name] += sample.inuse_objects if found.key?(sample.class_name) }
      assert_equal counts, found
    RUBY
  end

  def test_site_stays_one_site_when_its_class_and_code_have_moved
    in_child(ITEMS + <<~'RUBY')
      Object.const_set("Movable", Class.new { def self.waste = Array.new(20) { new }.clear })
      HeapProfile.start(interval: 1)
      4.times do
        Movable.waste
        GC.verify_compaction_references(toward: :empty)
      end
      dead = rows(HeapProfile.snapshot(gc: true), class_name: "Movable").select { |sample| sample.gc_age.nil? }
      assert_equal 1, dead.size
      assert_in_delta 80, dead.first.alloc_objects, 3
    RUBY
  end
end
