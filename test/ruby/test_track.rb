# frozen_string_literal: true

# test_track.rb - what the profiler knows of an object (gc/book/track.c): the flag bit, and that it is
# set exactly as long as the object is known, from the first GC on; what young samples have in common
# with the rest; whose copies are not known; what objects are called that have no class.

require_relative "lib/heapprof_test"

class TestHeapProfTrack < Test::Unit::TestCase
  include HeapProfTest

  # How many of the objects have the flag, and how many samples of their class there are: each
  # sample stands for 1/p objects.
  AGREE = <<~'RUBY'
    require "-test-/heapprof_capi"

    def assert_flags_are_samples(objects, class_name, slot, interval)
      GC.start
      estimate = total(HeapProfile.snapshot, :inuse_objects, class_name: class_name)
      flagged = objects.count { |object| HeapProfCAPI.flagged?(object) }
      assert_operator flagged, :>, 0
      assert_equal flagged, (estimate * Estimator.probability(slot, interval)).round, class_name
    end

    class Item; end
    class Text < String; end
    class List < Array; end
  RUBY

  def test_flag_is_set_on_sampled_objects_only
    in_child(AGREE + <<~'RUBY')
      HeapProfile.start(interval: 300)
      items = Array.new(5000) { Item.new }
      assert_flags_are_samples(items, "Item", SLOTS[0], 300)
    RUBY
  end

  def test_copies_of_sampled_objects_are_not_sampled_by_inheritance
    in_child(AGREE + <<~'RUBY')
      HeapProfile.start(interval: 300)
      items = Array.new(3000) { Item.new }
      items += items.flat_map { |item| [item.dup, item.clone, item.clone(freeze: true)] }
      assert_flags_are_samples(items, "Item", SLOTS[0], 300)

      texts = Array.new(3000) { |i| Text.new("text #{i}") }
      texts += texts.flat_map { |text| [text.dup, text.clone, text.clone(freeze: true)] }
      assert_flags_are_samples(texts, "Text", SLOTS[0], 300)

      lists = Array.new(3000) { |i| List.new([i]) }
      lists += lists.flat_map { |list| [list.dup, list.clone, list.clone(freeze: true)] }
      assert_flags_are_samples(lists, "List", SLOTS[0], 300)
    RUBY
  end

  def test_samples_have_the_flag_from_the_first_gc_on_or_since_somebody_has_asked_for_one
    in_child(AGREE + <<~'RUBY')
      HeapProfile.start(interval: 1)
      GC.disable
      items = Array.new(100) { Item.new }
      assert_equal 100, total(HeapProfile.snapshot, class_name: "Item")
      assert_equal [false], items.map { |item| HeapProfCAPI.flagged?(item) }.uniq
      assert_equal "Class#new", HeapProfile.allocation_stack(items[0]).first.label
      assert_equal [true], items.map { |item| HeapProfCAPI.flagged?(item) }.uniq
      items += Array.new(100) { Item.new }
      assert_equal 100, items.count { |item| HeapProfCAPI.flagged?(item) }
      GC.enable
      GC.start
      assert_equal 200, items.count { |item| HeapProfCAPI.flagged?(item) }
      assert_equal 200, total(HeapProfile.snapshot, class_name: "Item")
    RUBY
  end

  # A class has the flag because something is named after it; its copy is another class.
  def test_copies_of_known_classes_and_modules_do_not_inherit_the_flag
    in_child(AGREE + <<~'RUBY')
      module Helper
        def self.help = "help"
      end
      HeapProfile.start(interval: 1)
      kept = [Item.new, Helper.help]
      HeapProfile.snapshot
      assert kept
      assert HeapProfCAPI.flagged?(Item)
      HeapProfile.stop
      HeapProfile.start(interval: 1 << 40)
      HeapProfCAPI.set_flag(Item, true)
      HeapProfCAPI.set_flag(Helper, true)
      copies = [Item.dup, Item.clone, Class.new(Item), Helper.dup, Helper.clone]
      assert_equal [false] * 5, copies.map { |copy| HeapProfCAPI.flagged?(copy) }
      HeapProfCAPI.set_flag(Item, false)
      HeapProfCAPI.set_flag(Helper, false)
    RUBY
  end

  def test_flag_survives_rb_obj_setup
    in_child(AGREE + <<~'RUBY')
      HeapProfile.start(interval: 1)
      items = Array.new(100) { Item.new }
      GC.start
      items.each { |item| HeapProfCAPI.setup_again(item) }
      assert items.all? { |item| HeapProfCAPI.flagged?(item) }
      GC.verify_compaction_references(expand_heap: true, toward: :empty)
      assert_flags_are_samples(items, "Item", SLOTS[0], 1)
      items.clear
      assert_equal 0, total(HeapProfile.snapshot(gc: true), class_name: "Item")
    RUBY
  end

  def test_flag_survives_what_changes_an_object_in_place
    in_child(AGREE + <<~'RUBY')
      HeapProfile.start(interval: 1)
      item, string, array, hash = Item.new, +"short", [1], { 1 => 2 }
      GC.start
      50.times { |i| item.instance_variable_set("@v#{i}", i) }
      string << "long" * 1000
      array.concat((1..1000).to_a)
      100.times { |i| hash[i] = i }
      string.replace("shared" * 100)
      array.replace(Array.new(200))
      hash.compare_by_identity
      item.singleton_class
      [item, string, array, hash].each { |object| object.freeze }
      assert [item, string, array, hash].all? { |object| HeapProfCAPI.flagged?(object) }
    RUBY
  end

  def test_object_that_becomes_another_keeps_its_sample
    in_child(AGREE + <<~'RUBY')
      HeapProfile.start(interval: 1)
      io = File.open(File::NULL)
      assert_equal 1, total(HeapProfile.snapshot(gc: true), class_name: "File")
      io.reopen(File.open(File::NULL))
      assert HeapProfCAPI.flagged?(io)
      io.close
      io = nil
      assert_equal 0, total(HeapProfile.snapshot(gc: true), class_name: "File")
    RUBY
  end

  def test_stop_clears_every_flag
    in_child(AGREE + <<~'RUBY')
      HeapProfile.start(interval: 1)
      items = Array.new(1000) { Item.new }
      GC.start
      assert items.all? { |item| HeapProfCAPI.flagged?(item) }
      HeapProfile.stop
      flagged = 0
      ObjectSpace.each_object(BasicObject) { |object| flagged += 1 if HeapProfCAPI.flagged?(object) }
      ObjectSpace.each_object(Class) { |object| flagged += 1 if HeapProfCAPI.flagged?(object) }
      assert_equal 0, flagged
    RUBY
  end

  def test_anonymous_classes_modules_and_methods_die_as_they_do_without_the_profiler
    in_child(<<~'RUBY')
      def make(count)
        died = [0]
        reaper = ->(_) { died[0] += 1 }
        count.times do |i|
          klass = Class.new { define_method(:make) { Array.new(3) { "in #{i}" } } }
          mod = Module.new { class_eval("def other = [1.5.to_s, Object.new]") }
          klass.include(mod)
          klass.new.make
          klass.new.other
          body = eval("proc { 'block number #{i}'.dup }")
          body.call
          [klass, mod, body].each { |object| ObjectSpace.define_finalizer(object, reaper) }
        end
        died
      end

      def died_of(count)
        died = make(count)
        make(10) # what the machine stack still holds
        3.times { GC.start }
        died[0]
      end

      without = died_of(200)
      HeapProfile.start(interval: 1)
      with = died_of(200)
      assert_operator without, :>, 550
      assert_in_delta without, with, 12
    RUBY
  end

  def test_objects_of_the_vm_are_called_by_their_type
    in_child(<<~'RUBY')
      HeapProfile.start(interval: 1)
      eval("def fresh(x) = [x].each { |y| y + 1 }")
      fresh(1)
      names = HeapProfile.snapshot.map(&:class_name).uniq
      assert_includes names, "T_IMEMO(iseq)"
      assert_includes names, "T_IMEMO(ment)"
      assert_empty names.grep(/\AT_(?!\w+\(\w+\)\z|ICLASS\z|NODE\z)/)
    RUBY
  end
end
