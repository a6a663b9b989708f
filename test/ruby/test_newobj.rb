# frozen_string_literal: true

# test_newobj.rb - which objects are sampled (gc/objects/newobj.c): how many of each, and whose turn it is.
#
# The free list is cut where the next sample falls. So the tests look for what such a cut could
# get wrong: a site preferred by its place in a rhythm, a slot size by its neighbours, objects
# taken or lost around a GC.

require_relative "lib/heapprof_test"

class TestHeapProfNewobj < Test::Unit::TestCase
  include HeapProfTest

  def test_every_object_is_sampled_at_interval_1
    in_child(<<~'RUBY')
      class Item; end
      kept = Array.new(1000)
      HeapProfile.start(interval: 1)
      kept.size.times { |i| kept[i] = Item.new }
      5000.times { Item.new }
      profile = HeapProfile.snapshot
      assert_equal 6000, total(profile, :alloc_objects, class_name: "Item")
      assert_equal 6000 * SLOTS[0], total(profile, :alloc_space, class_name: "Item")
      profile = HeapProfile.snapshot(gc: true)
      assert_equal 1000, total(profile, :inuse_objects, class_name: "Item")
      assert_equal 1000 * SLOTS[0], total(profile, :inuse_space, class_name: "Item")
      assert_equal 0, HeapProfile.stat(:dropped)
    RUBY
  end

  # What takes each k-th object gives 33 % to three of these sites and nothing to the others.
  ROTATION = <<~'RUBY'
    def site_0 = "site 0"
    def site_1 = "site 1"
    def site_2 = "site 2"
    def site_3 = "site 3"
    def site_4 = "site 4"
    def site_5 = "site 5"

    def rotate(rounds, interval, seed)
      HeapProfile.start(interval: interval, seed: seed)
      i = 0
      while i < rounds
        site_0; site_1; site_2; site_3; site_4; site_5
        i += 1
        yield i if block_given?
      end
      profile = HeapProfile.snapshot
      HeapProfile.stop
      6.times do |site|
        found = total(profile, :alloc_objects, class_name: "String", label: "Object#site_#{site}")
        assert_in_delta rounds, found, Estimator.allowance(rounds, SLOTS[0], interval),
                        "site #{site}, interval #{interval}, seed #{seed}"
      end
    end
  RUBY

  def test_six_sites_in_rotation_get_a_sixth_each_at_every_interval
    in_child(ROTATION + <<~'RUBY')
      rounds = { 1 => 2_000, 100 => 20_000, 1000 => 50_000, 4096 => 100_000, 65_536 => 400_000 }
      rounds.each do |interval, count|
        4.times { |seed| rotate(scaled(count), interval, seed) }
      end
    RUBY
  end

  # Most cuts are undone here before they are reached, and objects are born while marking goes on.
  def test_sites_in_rotation_get_a_sixth_each_with_a_gc_every_few_allocations
    in_child(ROTATION + <<~'RUBY')
      kinds = [true, false].product([true, false], [true, false])
      [1, 1000, 16_384].each do |interval|
        rotate(scaled(40_000), interval, 7) do |i|
          next if i % 37 != 0
          full, mark, sweep = kinds[i / 37 % kinds.size]
          GC.start(full_mark: full, immediate_mark: mark, immediate_sweep: sweep)
        end
      end
    RUBY
  end

  def test_slot_sizes_taken_in_turn_are_sampled_by_their_own_size
    in_child(<<~'RUBY')
      X = "x"
      def slot_0 = X * 10
      def slot_1 = X * 50
      def slot_2 = X * 100
      def slot_3 = X * 250
      def slot_4 = X * 500
      count = scaled(30_000)
      [1, 700, 4096].product([1, 2, 3]) do |interval, seed|
        HeapProfile.start(interval: interval, seed: seed)
        i = 0
        while i < count
          slot_0; slot_1; slot_2; slot_3; slot_4
          i += 1
        end
        profile = HeapProfile.snapshot
        HeapProfile.stop
        SLOTS.each_with_index do |slot, i|
          site = rows(profile, class_name: "String", label: "Object#slot_#{i}")
          allowed = Estimator.allowance(count, slot, interval)
          assert_in_delta count, site.sum(&:alloc_objects), allowed, "slot #{slot}, interval #{interval}"
          assert_in_delta count * slot, site.sum(&:alloc_space), allowed * slot, "slot #{slot}, interval #{interval}"
        end
      end
    RUBY
  end

  # A free list that did not go back to its page would be lost for good, a page at each GC.
  def test_rest_of_a_cut_list_goes_back_to_its_page_at_each_gc
    in_child(<<~'RUBY')
      HeapProfile.start(interval: 5000)
      def work
        50.times { [Object.new, "x" * 50, "x" * 100] }
        GC.start(full_mark: false)
      end
      20.times { work }
      pages = GC.stat(:heap_allocated_pages)
      300.times { work }
      assert_operator GC.stat(:heap_allocated_pages), :<=, pages + 10
      assert_operator HeapProfile.stat(:total_samples), :>, 100
    RUBY
  end

  # C code that recurses without a Ruby frame runs into the end of the machine stack, and an
  # allocation that is sampled is the deepest thing it calls.
  NESTED = "nested = \"\\x04\\b\".b + \"[\\x06\".b * 1_000_000 + \"0\"\n"
  AFTER_NESTED = "HeapProfile.snapshot(gc: true)\nassert HeapProfile.allocation_stack(Object.new)\n"

  def test_machine_stack_may_run_out_at_a_sample
    in_child(<<~RUBY)
      #{NESTED}
      HeapProfile.start(interval: 1)
      10.times do
        assert_raise(SystemStackError) { Marshal.load(nested) }
        assert_raise(SystemStackError) { Thread.new { Thread.current.report_on_exception = false; Marshal.load(nested) }.join }
      end
      #{AFTER_NESTED}
    RUBY
  end

  def test_machine_stack_of_a_fiber_may_run_out_at_a_sample
    in_child(<<~RUBY)
      #{NESTED}
      HeapProfile.start(interval: 1)
      10.times { assert_raise(SystemStackError) { Fiber.new { Marshal.load(nested) }.resume } }
      #{AFTER_NESTED}
    RUBY
  end

  # Code made anew for each use, as eval and singleton classes make it, would fill the tables; what is
  # dead of it is merged.
  def test_code_that_comes_and_goes_does_not_use_up_the_budget
    in_child(<<~'RUBY')
      class Item; end
      HeapProfile.start(interval: 1, memory: 1 << 20)
      40.times do
        100.times { eval("Class.new { def self.make = Item.new }").make }
        GC.start
      end
      assert_operator HeapProfile.stat(:merged_sites), :>, 5000
      assert_equal [0, 0, 0], HeapProfile.stat.values_at(:folded, :doublings, :dropped)
      item = eval("Class.new { def self.make = Item.new }").make
      assert_equal "make", HeapProfile.allocation_stack(item)[1].label
    RUBY
  end

  def test_tiny_budget_takes_fewer_samples_and_says_so_while_the_program_goes_on
    in_child(<<~'RUBY')
      HeapProfile.start(interval: 1, memory: 1 << 20)
      kept = Array.new(100_000) { |i| "string #{i}" }
      stat = HeapProfile.stat
      assert_equal 100_000, kept.uniq.size
      assert_operator stat[:doublings], :>, 0
      assert_equal 0, stat[:dropped]
      assert_operator stat[:memory_peak], :<=, 1 << 20
      assert_in_delta kept.size, total(HeapProfile.snapshot(gc: true), class_name: "String"),
                      Estimator.allowance(kept.size, SLOTS[0], stat[:interval_bytes])
    RUBY
  end

  # A site is known by the address of its class, where another class may stand after a GC.
  def test_classes_that_come_and_go_at_one_address_do_not_mix
    in_child(<<~'RUBY')
      HeapProfile.start(interval: 1)
      200.times do |i|
        klass = Class.new
        Object.const_set("Kind#{i}", klass)
        3.times { klass.new }
        Object.send(:remove_const, "Kind#{i}")
        klass = nil
        GC.start
      end
      made = rows(HeapProfile.snapshot).select { |row| row.class_name.start_with?("Kind") }.group_by(&:class_name)
      assert_equal [3] * 200, made.values.map { |of| of.sum(&:alloc_objects) }
    RUBY
  end
end
