# frozen_string_literal: true

require "test/unit"
require "heapprof_gem"

Warning[:experimental] = false # Ractors

class TestHeapprofGem < Test::Unit::TestCase
  Kept = Struct.new(:a)

  def teardown
    HeapprofGem.stop
  end

  # Rows of a class while the block's result is alive.
  def profile(mean_bytes, klass = Kept)
    HeapprofGem.start(mean_bytes:)
    kept = yield
    HeapprofGem.stop
    GC.start
    HeapprofGem.rows.select { _1.class_name == klass.name }
  ensure
    kept.hash
  end

  # Of n objects that are sampled with probability p: how many, within 5 sigma. A false alarm in two million.
  def assert_sampled(n, p, samples, message = nil)
    assert_in_delta n * p, samples, 5 * Math.sqrt(n * p * (1 - p)), message
  end

  CHANCE = 1 - Math.exp(-40 / 4000.0)

  # What counts each k-th object misses some of six places, for any k that has a factor in common with six.
  def test_six_places_in_rotation_are_found_alike
    n = 50_000
    rows = profile(4000) do
      Array.new(n) do
        [Kept.new(1),
         Kept.new(2),
         Kept.new(3),
         Kept.new(4),
         Kept.new(5),
         Kept.new(6)]
      end
    end
    places = rows.group_by(&:place)
    assert_equal 6, places.size
    places.each { |place, found| assert_sampled n, CHANCE, found.sum(&:samples), place }
  end

  def test_estimates_are_objects_and_bytes_of_slots
    n = 100_000
    rows = profile(4000) { Array.new(n) { Kept.new(1) } }
    objects = rows.sum(&:objects)
    assert_in_delta n, objects, 5 * Math.sqrt(n * (1 - CHANCE) / CHANCE)
    assert_in_delta objects * 40, rows.sum(&:bytes), 1
  end

  def test_what_has_died_is_gone
    rows = profile(400) { 20_000.times { Kept.new(1) } }
    assert_operator rows.sum(&:samples), :<, 20 # of 2,000; a stale reference may be on the machine stack
  end

  def test_a_stack_goes_from_the_innermost_frame_to_the_outermost
    stack = profile(1) { Array.new(1) { Kept.new(1) } }.first.stack
    names = stack.map(&:first)
    assert_equal "#{Kept}.new", names.first
    assert_equal %w[Array#initialize Array.new], names[2, 2]
    assert_match(/;Array#initialize;.*;#{Kept}.new;#{Kept} \d+$/, HeapprofGem.folded)
    assert_match(/^ +\d+ +\d+ +\d+  #{Kept}, #{__FILE__}:\d+$/, HeapprofGem.text(most: 1000))
  end

  def test_an_object_that_has_moved_is_still_found
    omit "no compaction here" unless GC.respond_to?(:compact)
    HeapprofGem.start(mean_bytes: 1)
    kept = Array.new(2000) { |i| Kept.new(i) if i.odd? }
    GC.compact
    HeapprofGem.stop
    assert_equal 1000, HeapprofGem.rows.sum { _1.class_name == Kept.name ? _1.samples : 0 }
    kept.hash
  end

  def test_objects_with_no_methods
    rows = profile(1, BasicObject) { Array.new(10) { BasicObject.new }.tap { |all| def all.hash = 1 } }
    assert_equal 10, rows.sum(&:samples)
  end

  def test_it_starts_once_and_again
    HeapprofGem.start
    assert_raise(RuntimeError) { HeapprofGem.start }
    HeapprofGem.stop
    assert_raise(ArgumentError) { HeapprofGem.start(mean_bytes: 0) }
    assert_equal 3, profile(1) { Array.new(3) { Kept.new(1) } }.sum(&:samples)
  end

  def test_every_object_while_each_allocation_collects
    HeapprofGem.start(mean_bytes: 1)
    GC.stress = true
    kept = Array.new(20) { Kept.new(1) }
    GC.stress = false
    HeapprofGem.stop
    assert_equal kept.size, HeapprofGem.rows.sum { _1.class_name == Kept.name ? _1.samples : 0 }
  ensure
    GC.stress = false
  end

  def test_a_child_of_fork_goes_on
    HeapprofGem.start(mean_bytes: 1)
    before = [Kept.new(1)]
    child = fork do
      after = [Kept.new(2)]
      exit!(HeapprofGem.rows.sum { _1.class_name == Kept.name ? _1.samples : 0 } == [*before, *after].size)
    end
    assert_predicate Process.wait2(child).last, :success?
  end

  def test_ractors
    n = 50_000
    rows = profile(4000) { Array.new(2) { Ractor.new(n) { |count| Array.new(count) { Kept.new(1) } } }.map(&:take) }
    assert_sampled 2 * n, CHANCE, rows.sum(&:samples)
  end
end
