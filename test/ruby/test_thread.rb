# frozen_string_literal: true

# test_thread.rb - threads: each sample has the stack of the thread that allocated, whenever the GVL
# goes from one to another, and how a thread ends changes nothing about what it has allocated.
#
# A sample is resolved later than it is taken (gc/objects/newobj.c), as a rule by another thread's; and the
# walk of a stack begins where the last one ended (vm/names/frames.c), as a rule another thread's.

require_relative "lib/heapprof_test"

class TestHeapProfThread < Test::Unit::TestCase
  include HeapProfTest

  # Each thread has methods of its own, all on one line, so that nothing but the thread tells them apart.
  THREADS = 6
  METHODS = <<~'RUBY'
    THREADS = 6
    class Item; end
    THREADS.times { |i| eval("def outer_#{i}(...) = inner_#{i}(...); def inner_#{i}(count) = count.times { Item.new; yield }") }

    def allocated_by(i, profile) = total(profile, :alloc_objects, class_name: "Item", label: "Object#outer_#{i}")

    # All of thread i's objects, and all with its whole stack and nothing else's.
    def assert_allocated(counts, profile = HeapProfile.snapshot, root: "block (2 levels) in <main>")
      counts.each_with_index do |count, i|
        assert_equal count, allocated_by(i, profile), "thread #{i}"
        stacks = rows(profile, class_name: "Item", label: "Object#outer_#{i}").map { |s| s.frames.map(&:label) }.uniq
        assert_equal [["Class#new", "block in Object#inner_#{i}", "Integer#times",
                       "Object#inner_#{i}", "Object#outer_#{i}", root]], stacks
      end
      assert_equal counts.sum, total(profile, :alloc_objects, class_name: "Item")
    end
  RUBY

  # ---- handover ----

  def test_objects_have_the_stack_of_their_thread_when_it_passes_at_each
    in_child(METHODS + <<~'RUBY')
      HeapProfile.start(interval: 1)
      counts = Array.new(THREADS) { |i| scaled(2000) + i }
      last, handovers = nil, 0
      counts.each_with_index.map do |count, i|
        Thread.new { send("outer_#{i}", count) { handovers += 1 if last != i; last = i; Thread.pass } }
      end.each(&:join)
      assert_operator handovers, :>, counts.sum / 10
      assert_allocated counts
    RUBY
  end

  # The timer takes the GVL away wherever a thread is; a slice of 1 ms makes that often.
  def test_objects_have_the_stack_of_their_thread_when_the_timer_switches
    in_child(METHODS + <<~'RUBY', env: { "RUBY_THREAD_TIMESLICE" => "1" })
      HeapProfile.start(interval: 1)
      counts = [0] * THREADS
      last, handovers = nil, 0
      Array.new(THREADS) do |i|
        Thread.new do
          while handovers < 60
            send("outer_#{i}", 100) { handovers += 1 if last != i; last = i }
            counts[i] += 100
          end
        end
      end.each(&:join)
      assert_operator counts.min, :>, 0
      assert_allocated counts
    RUBY
  end

  def test_objects_have_the_stack_of_their_thread_when_many_share_few_native_threads
    in_child(METHODS + <<~'RUBY', env: { "RUBY_MN_THREADS" => "1", "RUBY_MAX_CPU" => "2" })
      HeapProfile.start(interval: 1)
      counts = Array.new(THREADS) { |i| scaled(1000) + i }
      counts.each_with_index.map do |count, i|
        Thread.new { send("outer_#{i}", count) { |k| sleep 0.0001 if rand(100) == 0; Thread.pass } }
      end.each(&:join)
      assert_allocated counts
    RUBY
  end

  def test_objects_have_the_stack_of_their_thread_when_collections_come_between
    in_child(METHODS + <<~'RUBY')
      HeapProfile.start(interval: 1)
      counts = Array.new(THREADS) { |i| scaled(1000) + i }
      counts.each_with_index.map do |count, i|
        round = 0
        Thread.new do
          send("outer_#{i}", count) do
            GC.start(full_mark: i.odd?, immediate_mark: false, immediate_sweep: false) if (round += 1) % 200 == i
            Thread.pass
          end
        end
      end.each(&:join)
      assert_allocated counts
    RUBY
  end

  # The buffer is allocated, then the thread waits without the GVL; others allocate meanwhile.
  def test_object_allocated_by_a_call_that_then_gives_up_the_gvl_is_that_calls
    in_child(<<~'RUBY')
      def reader(io) = loop { io.sysread(10) }
      def writer(io, count) = count.times { |i| io.syswrite("x"); [i].first.to_s; Thread.pass }
      HeapProfile.start(interval: 1)
      pipes = Array.new(3) { IO.pipe }
      threads = pipes.map { |input, _| Thread.new { assert_raise(EOFError) { reader(input) } } }
      pipes.map { |_, output| Thread.new { writer(output, 200); output.close } }.each(&:join)
      threads.each(&:join)
      read = rows(HeapProfile.snapshot, class_name: "String", label: "IO#sysread")
      assert_operator read.sum(&:alloc_objects), :>=, 3
      stacks = read.map { |sample| sample.frames.map(&:label).first(4) }.uniq
      assert_equal [["IO#sysread", "block in Object#reader", "Kernel#loop", "Object#reader"]], stacks
    RUBY
  end

  # ---- the end of a thread ----

  # Between two turns of the loop a thread may be interrupted, within one it may not.
  LOOP = <<~'RUBY'
    class Made
      attr_reader :kept
      def initialize = @kept = []
      def loop(kept = @kept) = (kept << "an object" while true)
    end

    def made(profile = HeapProfile.snapshot(gc: true))
      rows(profile, class_name: "String").select { |sample| sample.frames.first.label == "Made#loop" }
    end
  RUBY

  def test_what_a_killed_thread_has_allocated_is_counted_and_lives_as_long_as_it_is_held
    in_child(LOOP + <<~'RUBY', env: { "RUBY_THREAD_TIMESLICE" => "1" })
      HeapProfile.start(interval: 1)
      all = Array.new(4) { Made.new }
      [:kill, :raise, :kill, :raise].zip(all) do |way, one|
        thread = Thread.new { Thread.current.report_on_exception = false; one.loop }
        Thread.pass until one.kept.size > 1000
        thread.send(way)
        begin thread.join; rescue RuntimeError; end
      end
      count = all.sum { |one| one.kept.size }
      assert_equal [count, count], [made.sum(&:inuse_objects), made.sum(&:alloc_objects)]
      all.each { |one| one.kept.pop until one.kept.size == 100 }
      assert_in_delta 400, made.sum(&:inuse_objects), 3
      assert_equal count, made.sum(&:alloc_objects)
    RUBY
  end

  def test_what_only_a_threads_own_variables_hold_dies_with_the_thread
    in_child(<<~'RUBY')
      class Item; end
      HeapProfile.start(interval: 1)
      ready, go = Queue.new, Queue.new
      ways = [-> { Thread.current[:kept] = Item.new },
              -> { Thread.current.thread_variable_set(:kept, Item.new) },
              -> { Thread.current.report_on_exception = false; Fiber[:kept] = Item.new },
              -> { $_ = "a line"; Thread.current[:kept] = [Item.new] }]
      threads = Array.new(40) do |i|
        Thread.new do
          on_the_stack = Item.new
          ways[i % ways.size].call
          ready << 1
          go.pop
          on_the_stack
        end
      end
      threads.size.times { ready.pop }
      assert_equal 80, total(HeapProfile.snapshot(gc: true), class_name: "Item")
      threads.size.times { go << 1 }
      threads.each(&:join).clear
      profile = HeapProfile.snapshot(gc: true)
      assert_operator total(profile, class_name: "Item"), :<=, 6
      assert_equal 80, total(profile, :alloc_objects, class_name: "Item")
    RUBY
  end

  def test_threads_that_come_and_go_are_all_counted
    in_child(METHODS + <<~'RUBY')
      HeapProfile.start(interval: 1)
      count = scaled(300)
      count.times { |i| Thread.new { send("outer_#{i % THREADS}", 10) {} }.join }
      assert_allocated Array.new(THREADS) { |i| 10 * (count / THREADS + (i < count % THREADS ? 1 : 0)) }
      GC.start
      assert_operator ObjectSpace.each_object(Thread).count, :<=, 5
    RUBY
  end

  def test_stack_of_a_dead_threads_object_stays
    in_child(METHODS + <<~'RUBY')
      def keep = [Item.new]
      HeapProfile.start(interval: 1)
      kept = Thread.new { keep }.value
      3.times { GC.start; Thread.new { outer_0(5) {} }.join }
      labels = HeapProfile.allocation_stack(kept[0]).map(&:label)
      assert_equal ["Class#new", "Object#keep", "block in <main>"], labels
    RUBY
  end

  # ---- threads and the profiler's run ----

  def test_thread_that_was_at_work_when_the_profiler_started_has_its_whole_stack
    in_child(METHODS + <<~'RUBY')
      go = Queue.new
      threads = Array.new(THREADS) { |i| Thread.new { send("outer_#{i}", 2) { go.pop } } }
      Thread.pass until go.num_waiting == THREADS
      Thread.new { HeapProfile.start(interval: 1) }.join
      (2 * THREADS).times { go << 1 }
      threads.each(&:join)
      assert_allocated [1] * THREADS
    RUBY
  end

  def test_threads_allocate_while_another_starts_and_stops
    in_child(METHODS + <<~'RUBY', env: { "RUBY_THREAD_TIMESLICE" => "1" })
      done = false
      counts = [0] * THREADS
      threads = Array.new(THREADS) { |i| Thread.new { send("outer_#{i}", 50) { counts[i] += 1 } until done } }
      scaled(20).times do
        before = counts.dup
        HeapProfile.start(interval: 1)
        began = counts.dup
        Thread.pass until counts.sum > began.sum + 100
        ended = counts.dup
        profile = HeapProfile.snapshot
        after = counts.dup
        HeapProfile.stop
        THREADS.times do |i|
          # One object may have been allocated and not counted yet, at either end.
          assert_includes ended[i] - began[i] - 1..after[i] - before[i] + 1, allocated_by(i, profile)
        end
      end
      done = true
      threads.each(&:join)
    RUBY
  end
end
