# frozen_string_literal: true

# test_ractor.rb - a program with several Ractors keeps running and none of its samples is lost.
# The profiler serves all of them from one set of tables.

require_relative "lib/heapprof_test"

class TestHeapProfRactor < Test::Unit::TestCase
  include HeapProfTest

  # Ractor.new warns, as an experiment, once a process.
  SCRIPT = <<~'RUBY'
    Warning[:experimental] = false
    class Item; end
    def make(count) = Array.new(count) { Item.new }
  RUBY

  def test_objects_of_every_ractor_are_sampled
    in_child(SCRIPT + <<~'RUBY')
      HeapProfile.start(interval: 1)
      ractors = Array.new(4) { |i| Ractor.new(i) { |n| make(500).size } }
      kept = make(500)
      assert_equal [500] * 4, ractors.map(&:take)
      profile = HeapProfile.snapshot
      assert_equal 2500, total(profile, :alloc_objects, class_name: "Item")
      assert_equal 2000, total(profile, :alloc_objects, class_name: "Item", label: "block (2 levels) in <main>")
      assert_equal 500, kept.size
    RUBY
  end

  def test_what_ractors_keep_is_in_use_and_what_they_drop_is_not
    in_child(SCRIPT + <<~'RUBY')
      HeapProfile.start(interval: 1)
      ractors = Array.new(3) do
        Ractor.new do
          kept = make(200)
          make(300).clear
          Ractor.yield(kept.size)
          Ractor.receive
          kept.size
        end
      end
      assert_equal [200] * 3, ractors.map(&:take)
      profile = HeapProfile.snapshot(gc: true)
      assert_in_delta 600, total(profile, class_name: "Item"), 9
      assert_equal 1500, total(profile, :alloc_objects, class_name: "Item")
      ractors.each { |ractor| ractor.send(nil) }
      assert_equal [200] * 3, ractors.map(&:take)
      ractors.clear
      assert_operator total(HeapProfile.snapshot(gc: true), class_name: "Item"), :<=, 9
    RUBY
  end

  def test_estimates_with_ractors_side_by_side_are_right
    in_child(SCRIPT + <<~'RUBY')
      count = scaled(40_000)
      [200, 4096].each do |interval|
        HeapProfile.start(interval: interval)
        ractors = Array.new(4) { Ractor.new(count) { |n| n.times { Item.new } } }
        ractors.each(&:take)
        found = total(HeapProfile.snapshot, :alloc_objects, class_name: "Item")
        assert_in_delta 4 * count, found, Estimator.allowance(4 * count, SLOTS[0], interval)
        HeapProfile.stop
      end
    RUBY
  end

  def test_ractors_come_and_go_while_the_profiler_starts_and_stops
    in_child(SCRIPT + <<~'RUBY')
      worker = -> { Ractor.new { 200.times { |i| [make(20), "x" * i, [i] * 50] }; :done } }
      ractors = Array.new(3) { worker.call }
      scaled(100).times do |i|
        HeapProfile.start(interval: [1, 100, 5000][i % 3])
        ractors << worker.call if i % 5 == 0
        HeapProfile.snapshot(gc: i % 7 == 0).count
        HeapProfile.stop
      end
      assert_equal [:done], ractors.map(&:take).uniq
    RUBY
  end

  def test_ractors_collect_compact_and_raise_with_every_object_sampled
    in_child(SCRIPT + <<~'RUBY')
      HeapProfile.start(interval: 1)
      ractors = Array.new(3) do |i|
        Ractor.new(i) do |n|
          20.times do |round|
            kept = Array.new(50) { |j| [n, round, j.to_s, { j => Item.new }] }
            GC.start(full_mark: round.even?) if round % 5 == n
            begin
              raise ArgumentError, kept.size.to_s
            rescue ArgumentError => e
              e.backtrace.size
            end
            eval("def by_ractor_#{n}_#{round} = Item.new; by_ractor_#{n}_#{round}")
          end
          :done
        end
      end
      3.times { GC.compact }
      assert_equal [:done], ractors.map(&:take).uniq
      profile = HeapProfile.snapshot(gc: true)
      assert_equal 3 * 20 * 51, total(profile, :alloc_objects, class_name: "Item")
    RUBY
  end

  def test_ractor_may_start_snapshot_and_stop
    in_child(SCRIPT + <<~'RUBY')
      objects = Ractor.new do
        ObjectSpace::HeapProfile.start(interval: 1)
        kept = make(70)
        profile = ObjectSpace::HeapProfile.snapshot
        ObjectSpace::HeapProfile.stop
        kept.clear
        profile.select { |sample| sample.class_name == "Item" }.sum(&:inuse_objects)
      end.take
      assert_equal 70, objects
      assert_equal false, HeapProfile.running?
    RUBY
  end

  def test_profile_is_written_at_exit_while_ractors_run
    profile_script(<<~'RUBY') do |out, _, ran|
      Warning[:experimental] = false
      class Item; end
      $kept = Array.new(40) { Item.new }
      3.times { Ractor.new { loop { Array.new(100) { "x" * 30 } } } }
      Ractor.new { 1 }.take
    RUBY
      assert_equal 40, read_profile(out).total(class_name: "Item")
    end
  end

  # While Ractors run, fork is not safe in MRI itself: the child may inherit a lock nobody holds.
  def test_fork_after_ractors_have_ended
    in_child(SCRIPT + <<~'RUBY')
      HeapProfile.start(interval: 1)
      kept = make(30)
      Array.new(3) { Ractor.new { make(50).size } }.each(&:take)
      pid = fork do
        more = make(20)
        found = total(HeapProfile.snapshot(gc: true), class_name: "Item", label: "<main>")
        exit!(found == kept.size + more.size ? 0 : 1)
      end
      assert_predicate Process.wait2(pid)[1], :success?
    RUBY
  end
end
