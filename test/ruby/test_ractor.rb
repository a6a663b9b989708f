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

  # What a ractor collects while another has just reallocated a block is not marked by the old one.
  def test_blocks_grow_in_every_ractor_while_others_collect
    %w[ruby all].each do |malloc|
      in_child(SCRIPT + <<~RUBY)
        HeapProfile.start(interval: 1 << 30, malloc_interval: 1000, malloc: :#{malloc})
        ractors = Array.new(4) do
          Ractor.new(scaled(100)) do |times|
            times.times do
              arrays = Array.new(20) { [] }
              string = +""
              300.times { |i| arrays.each { |array| array << i.to_s }; string << "growing" }
            end
          end
        end
        assert_equal [scaled(100)] * 4, ractors.map(&:take)
      RUBY
    end
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

  # ---- every allocation is counted ----

  # Each ractor has a method, and so a site, of its own; numbers differ, so that none can stand for another.
  SITES = <<~'RUBY'
    Warning[:experimental] = false
    class Item; end
    8.times { |i| eval("def make_#{i}(count) = count.times { Item.new }") }

    def allocated_by(i, profile = HeapProfile.snapshot)
      total(profile, :alloc_objects, class_name: "Item", label: "Object#make_#{i}")
    end
  RUBY

  def test_allocations_of_4_and_8_ractors_are_exact_by_site
    in_child(SITES + <<~'RUBY')
      [4, 8].each do |ractors|
        HeapProfile.start(interval: 1)
        counts = Array.new(ractors) { |i| scaled(3000) + 10 * i + 1 }
        counts.each_with_index.map { |count, i| Ractor.new(i, count) { |j, n| __send__("make_#{j}", n) } }.each(&:take)
        profile = HeapProfile.snapshot
        assert_equal counts, Array.new(ractors) { |i| allocated_by(i, profile) }
        assert_equal counts.sum, total(profile, :alloc_objects, class_name: "Item")
        assert_equal 0, HeapProfile.stat(:dropped)
        HeapProfile.stop
      end
    RUBY
  end

  # GCs, also such as the ractors cause, take their free lists and unresolved samples away from them.
  def test_allocations_of_ractors_are_exact_by_site_while_the_heap_is_collected
    in_child(SITES + <<~'RUBY')
      HeapProfile.start(interval: 1)
      counts = Array.new(4) { |i| scaled(3000) + i }
      ractors = counts.each_with_index.map { |count, i| Ractor.new(i, count) { |j, n| __send__("make_#{j}", n) } }
      20.times { |i| GC.start(full_mark: i.odd?, immediate_mark: i % 3 == 0, immediate_sweep: i % 5 == 0) }
      ractors.each(&:take)
      profile = HeapProfile.snapshot(gc: true)
      assert_equal counts, Array.new(4) { |i| allocated_by(i, profile) }
    RUBY
  end

  # A tool on MRI's tracepoints goes blind here: they are off for good once a ractor has died.
  def test_main_ractors_allocations_are_exact_after_a_ractor_has_died
    in_child(SITES + <<~'RUBY')
      count = scaled(100_000) + 2
      HeapProfile.start(interval: 1)
      Ractor.new { make_1(7) }.take
      3.times { GC.start }
      make_0(count)
      assert_equal [count, 7], [allocated_by(0), allocated_by(1)]
    RUBY
  end

  def test_allocations_of_ractors_that_die_in_different_ways_are_exact
    in_child(SITES + <<~'RUBY')
      HeapProfile.start(interval: 1)
      assert_equal 11, Ractor.new { make_0(11) }.take
      failing = Ractor.new { Thread.current.report_on_exception = false; make_1(12); raise IOError }
      assert_raise(Ractor::RemoteError) { failing.take }
      Ractor.new { make_2(13); Thread.current.kill }.take
      Ractor.new { make_3(14); close_incoming; close_outgoing }.tap { |ractor| Thread.pass until ractor.inspect.include?("terminated") }
      Ractor.new { Thread.new { make_4(15) }.join; Thread.new { sleep }; make_5(16) }.take
      make_6(17)
      GC.start
      assert_equal (11..17).to_a, Array.new(7) { |i| allocated_by(i) }
      Ractor.new { make_7(18) }.take
      assert_equal 18, allocated_by(7)
    RUBY
  end

  # ---- objects that outlive their ractor, or go from one to the other ----

  def test_objects_of_a_dead_ractor_are_in_use_until_they_die
    in_child(SITES + <<~'RUBY')
      def keep(count) = Array.new(count) { Item.new }
      HeapProfile.start(interval: 1)
      kept = Ractor.new { keep(400) }.take
      3.times do
        GC.start
        assert_equal 400, total(HeapProfile.snapshot(gc: true), class_name: "Item", label: "Object#keep")
      end
      kept.each { |item| assert_include HeapProfile.allocation_stack(item).map(&:label), "Object#keep" }
      300.times { kept.pop }
      assert_in_delta 100, total(HeapProfile.snapshot(gc: true), class_name: "Item"), 3
      kept.clear
      profile = HeapProfile.snapshot(gc: true)
      assert_operator total(profile, class_name: "Item"), :<=, 3
      assert_equal 400, total(profile, :alloc_objects, class_name: "Item", label: "Object#keep")
    RUBY
  end

  # To MRI a moved object is a new one, which takes over what the old one held; so it is to us.
  # (With no more than three instance variables: 3.4 moves no others.)
  def test_moved_object_is_a_sample_of_the_move_and_the_shell_it_leaves_keeps_its_own
    in_child(SITES + <<~'RUBY')
      class Box
        def initialize(value) = @value = value
        attr_reader :value
      end
      def make(count) = Array.new(count) { |i| Box.new(i) }
      def move(box, ractor) = ractor.send(box, move: true)

      HeapProfile.start(interval: 1)
      receiver = Ractor.new do
        boxes = Array.new(50) { Ractor.receive }
        labels = boxes.map { |box| ObjectSpace::HeapProfile.allocation_stack(box).map(&:label) }
        Ractor.yield [boxes.map(&:value), labels]
        Ractor.receive
        boxes.size
      end
      shells = make(50)
      50.times { |i| move(shells[i], receiver) }
      values, labels = receiver.take
      assert_equal (0...50).to_a, values
      assert labels.all? { |stack| stack.first == "Ractor#send" && stack[1] == "Object#move" }
      assert shells.all? { |shell| Ractor::MovedObject === shell }

      profile = HeapProfile.snapshot(gc: true)
      assert_equal 50, total(profile, class_name: "Box", label: "Object#make")
      assert_equal 50, total(profile, class_name: "Box", label: "Object#move")
      shells.clear
      profile = HeapProfile.snapshot(gc: true)
      assert_operator total(profile, class_name: "Box", label: "Object#make"), :<=, 3
      assert_equal 50, total(profile, class_name: "Box", label: "Object#move")
      receiver.send(nil)
      assert_equal 50, receiver.take
    RUBY
  end

  def test_shared_objects_keep_their_sample_and_stack
    in_child(SITES + <<~'RUBY')
      def share(count) = Array.new(count) { [Item.new, +"text"] }
      HeapProfile.start(interval: 1)
      shared = share(100)
      labels = shared.map { |pair| HeapProfile.allocation_stack(pair[0]) }
      Ractor.make_shareable(shared)
      read = Array.new(3) do
        Ractor.new(shared) do |pairs|
          GC.start
          Ractor.make_shareable(pairs.map { |pair| ObjectSpace::HeapProfile.allocation_stack(pair[0]) })
        end
      end
      read.each { |ractor| assert_equal labels, ractor.take }
      assert_equal 100, total(HeapProfile.snapshot(gc: true), class_name: "Item", label: "Object#share")
      assert_equal 100, shared.size
    RUBY
  end

  # ---- the profiler's methods while others allocate ----

  BUSY = SITES + <<~'RUBY'
    # Ractors that allocate, in slots of all sizes, until they are told to end. No classes: made in parallel
    # they damage stock MRI 3.4.
    def busy(ractors)
      Array.new(ractors) do |i|
        Ractor.new(i) do |j|
          main = Ractor.main
          rounds = 0
          until Ractor.receive_if { true } == :end
            20.times { |k| [Item.new, "x" * (k * 40), { k => [j] }, proc { k }] }
            rounds += 1
            main.send(j)
          end
          rounds
        end
      end
    end

    # Has all of them work beside the block, round after round.
    def rounds(ractors, count)
      count.times do |round|
        ractors.each { |ractor| ractor.send(:go) }
        yield round
        ractors.size.times { Ractor.receive }
      end
      ractors.each { |ractor| ractor.send(:end) }
      assert_equal [count], ractors.map(&:take).uniq
    end
  RUBY

  def test_main_ractor_starts_stops_snapshots_and_asks_for_stacks_while_4_and_8_allocate
    in_child(BUSY + <<~'RUBY')
      [4, 8].each do |ractors|
        item = Item.new
        rounds(busy(ractors), scaled(60)) do |round|
          HeapProfile.start(interval: [1, 1, 300][round % 3])
          other = Item.new
          assert_nil HeapProfile.allocation_stack(item)
          assert_kind_of Array, HeapProfile.allocation_stack(other) if round % 3 < 2
          assert_operator HeapProfile.snapshot(gc: round % 10 == 0).count, :>, 0 if round % 3 < 2
          HeapProfile.stop
        end
        assert_equal false, HeapProfile.running?
      end
    RUBY
  end

  def test_other_ractor_starts_stops_snapshots_and_asks_for_stacks_while_4_allocate
    in_child(BUSY + <<~'RUBY')
      controller = Ractor.new(scaled(60)) do |count|
        profile = ObjectSpace::HeapProfile
        results = Array.new(count) do |round|
          profile.start(interval: 1)
          item = Item.new
          label = profile.allocation_stack(item).first.label
          found = profile.snapshot(gc: round % 10 == 0).count { |sample| sample.class_name == "Item" }
          numbers = profile.stat(:total_samples)
          profile.stop
          [label, found > 0, numbers > 0]
        end
        results.uniq
      end
      rounds(busy(4), scaled(60)) { Item.new }
      assert_equal [["Class#new", true, true]], controller.take
    RUBY
  end

  def test_ractors_that_all_start_and_stop_either_succeed_or_raise_what_is_documented
    in_child(SITES + <<~'RUBY')
      ractors = Array.new(4) do |i|
        Ractor.new(i, scaled(100)) do |j, count|
          profile = ObjectSpace::HeapProfile
          outcomes = []
          count.times do |round|
            outcomes << begin
              case (round + j) % 4
              when 0 then profile.start(interval: 1) && :started
              when 1 then profile.snapshot(gc: round % 9 == 0).count && :read
              when 2 then profile.allocation_stack(Item.new) && nil || :asked
              when 3 then profile.stop || :stopped
              end
            rescue RuntimeError => e
              e.message
            end
          end
          outcomes.uniq
        end
      end
      outcomes = ractors.flat_map(&:take).uniq
      assert_empty outcomes - [:started, :read, :asked, :stopped,
                               "the heap profiler is running already; stop it first",
                               "the heap profiler is not running; start it first"]
      assert_operator (outcomes & %i[started read asked stopped]).size, :==, 4
    RUBY
  end

  # ---- fork ----

  # While Ractors run, fork is not safe in MRI itself: the child may inherit a lock nobody holds, and slots that one of
  # them was about to use are on no list there, which a debug build finds. take returns before a Ractor has ended.
  def test_fork_after_ractors_have_ended
    in_child(SCRIPT + <<~'RUBY')
      HeapProfile.start(interval: 1)
      kept = make(30)
      Array.new(3) { Ractor.new { make(50).size } }.each(&:take)
      sleep 0.001 while Ractor.count > 1
      pid = fork do
        more = make(20)
        found = total(HeapProfile.snapshot(gc: true), class_name: "Item", label: "<main>")
        exit!(found == kept.size + more.size ? 0 : 1)
      end
      assert_predicate Process.wait2(pid)[1], :success?
    RUBY
  end

  # No copy: it is the same object there, also while others read it.
  def test_ractors_share_a_profile
    in_child(SCRIPT + <<~'RUBY')
      require "stringio"
      HeapProfile.start(interval: 1)
      kept = [make(500)]
      before = HeapProfile.snapshot(gc: true, owners: true)
      kept << make(500)
      after = HeapProfile.snapshot(gc: true, owners: true, rss: true)
      HeapProfile.stop
      bytes = after.to_pprof.freeze
      profiles = [before, after, after - before, HeapProfile.load(StringIO.new(bytes))].freeze
      profiles.each { |profile| assert Ractor.shareable?(profile) }
      def read(earlier, later, grown, loaded, encoded)
        grown_again = later - earlier
        [later.count { |row| row.class_name == "Item" }, later.sum(&:inuse_space), later.first.frames.map(&:to_s),
         grown_again == grown, later == loaded, later.hash, later.inspect, grown.inspect, later.to_pprof == encoded, later.to_collapsed,
         StringIO.new.tap { |io| later.report(io) }.string, StringIO.new.tap { |io| grown.report(io, group: :class) }.string,
         HeapProfile.load(StringIO.new(encoded)) == later, [earlier, later, grown, loaded].map(&:object_id)]
      end
      expected = read(*profiles, bytes)
      ractors = Array.new(4) { Ractor.new(*profiles, bytes) { |*given| Array.new(3) { read(*given) } } }
      GC.start
      ractors.each { |ractor| assert_equal [expected] * 3, ractor.take }
    RUBY
  end
end
