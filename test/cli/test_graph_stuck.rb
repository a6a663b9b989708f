# frozen_string_literal: true
#
# test_graph_stuck.rb - programs with threads and fibers that nobody can wake, and programs with none, which dump themselves:
# heapprof graph stuck tells one from the other.

require_relative "lib/heapprof_command"

class TestHeapprofGraphStuck < Test::Unit::TestCase
  include HeapprofCommand

  # What a thread of its own does leaves nothing on the stack of the main thread. `settle` waits until all others wait.
  PRELUDE = <<~'RUBY'
    $VERBOSE = nil
    Warning[:experimental] = false
    def apart(&block) = Thread.new(&block).join.then { nil }
    def settle
      apart do
        Thread.pass until (Thread.list - [Thread.main, Thread.current]).all?(&:stop?)
      end
    end
    # As small as it can be: all fibers that wait are in it.
    class Scheduler
      def initialize = (@waiting, @ready, @urgent, @timers = {}, [], IO.pipe, [])
      def fiber(&block) = Fiber.new(blocking: false, &block).tap(&:resume)
      def block(blocker, timeout = nil)
        @waiting[Fiber.current] = true
        Fiber.yield
      ensure
        @waiting.delete(Fiber.current)
      end
      def unblock(blocker, fiber)
        @ready << fiber
        @urgent[1].write(".")
      end
      def kernel_sleep(duration = nil) = block(nil, duration)
      def io_wait(io, events, timeout) = events
      def timeout_after(duration, error, message, &block) = block.call(duration)
      def close
        until @waiting.empty?
          @urgent[0].readpartial(100)
          @ready.shift.resume until @ready.empty?
        end
      end
    end
    def scheduled(&block)
      Thread.new do
        Fiber.set_scheduler(Scheduler.new)
        block.call
      end
    end
  RUBY

  # Threads of other Ractors cannot be asked what they do. So the dump is asked, until none of them runs.
  FINISH = <<~RUBY
    settle
    require #{File.expand_path("../ruby/lib/heap_graph", __dir__).inspect} if Ractor.count > 1
    GC.compact if COMPACT
    begin
      File.delete("a.graph") if File.exist?("a.graph")
      ObjectSpace::HeapGraph.dump("a.graph", gc: true)
    end while Ractor.count > 1 && HeapGraphFile.read("a.graph").objects.each_value.any? { |object| object.type.end_with?("thread)") && object.text.match?(/:.*, runs\\z/) }
    exit!(true)
  RUBY

  # Runs the program, which dumps itself at its end.
  def in_dump_of(program, compact: false)
    in_directory do
      write("program.rb", "#{PRELUDE}#{program}\nCOMPACT = #{compact}\n#{FINISH}")
      _, err, status = EnvUtil.invoke_ruby(["--disable-gems", "program.rb"], "", true, true, timeout: 120)
      assert_equal ["", true], [err, status.success?]
      yield
    end
  end

  def stuck(*options) = heapprof!("graph", "stuck", "a.graph", "--json", *options).json

  # The number of threads and fibers that are stuck, and of those that are held. "here" in a text stands for a line that has "# here".
  def assert_stuck(threads, fibers, held, program, *texts)
    [false, true].each do |compact|
      in_dump_of(program, compact: compact) do
        found = stuck("--held")
        assert_equal [threads, fibers, held, 0], [*found.values_at("threads", "fibers"), found["held_threads"] + found["held_fibers"], found["unnamed"]],
                     found["rows"].map { |row| row["text"] }.join("\n")
        line = File.readlines("program.rb").index { |text| text.include?("# here") }.to_i + 1
        texts.each { |text| assert(found["rows"].any? { |row| text.match?(row["text"].gsub("program.rb:#{line}", "here")) }, [text, found].inspect) }
      end
    end
  end

  # ---- stuck ----

  def test_workers_whose_queue_is_lost
    assert_stuck(3, 0, 0, <<~RUBY, /\A3 threads started at here, waiting in block .*in Object#pool at here for a Queue that nobody else reaches, keep 2[.]\d+ MB\z/)
      def pool(queue = Queue.new)
        3.times { Thread.new { kept = "x" * 1_000_000; queue.pop; kept } } # here
      end
      apart { pool }
    RUBY
  end

  def test_a_full_sized_queue_that_nobody_empties
    assert_stuck(1, 0, 0, "apart { Thread.new { SizedQueue.new(1).push(1).push(2) } }", /for a SizedQueue that nobody else reaches/)
  end

  def test_a_condition_that_nobody_signals
    assert_stuck(1, 0, 0, <<~RUBY, /for a ConditionVariable that nobody else reaches/)
      def wait(mutex = Mutex.new, condition = ConditionVariable.new) = Thread.new { mutex.synchronize { condition.wait(mutex) } }
      apart { wait }
    RUBY
  end

  def test_who_waits_for_a_lock_of_a_stuck_thread
    assert_stuck(4, 0, 0, <<~RUBY, /\A3 threads .* for a Mutex that a stuck thread has locked/)
      LOCK = Mutex.new
      def lock
        Thread.new { LOCK.synchronize { Queue.new.pop } }
        Thread.pass until LOCK.locked?
        3.times { Thread.new { LOCK.synchronize { } } }
      end
      apart { lock }
    RUBY
  end

  def test_who_waits_for_a_monitor_of_a_stuck_thread
    assert_stuck(2, 0, 0, <<~RUBY, /for a (Mutex|Monitor) that a stuck thread has locked/)
      require "monitor"
      LOCK = Monitor.new
      def lock
        Thread.new { LOCK.synchronize { Queue.new.pop } }
        Thread.pass until LOCK.mon_locked?
        Thread.new { LOCK.synchronize { } }
      end
      apart { lock }
    RUBY
  end

  def test_who_joins_a_stuck_thread
    assert_stuck(2, 0, 0, "apart { Thread.new { Thread.new { Queue.new.pop }.join } }", /for a Thread that is stuck, too/)
  end

  def test_who_stops_and_is_had_by_nobody
    assert_stuck(2, 0, 0, <<~RUBY, /waiting in .* until it is woken, and nobody else has it/)
      apart { Thread.new { Thread.stop }; Thread.new { Mutex.new.then { |lock| lock.synchronize { lock.sleep } } } }
    RUBY
  end

  def test_two_that_wait_for_each_other
    assert_stuck(2, 0, 0, <<~RUBY)
      def cross(one = Queue.new, other = Queue.new) = [[one, other], [other, one]].each { |from, to| Thread.new { to << from.pop } }
      apart { cross }
    RUBY
  end

  def test_in_a_fiber_of_the_thread
    assert_stuck(1, 0, 0, "apart { Thread.new { Fiber.new { Queue.new.pop }.resume } }", /\A1 thread started at program.rb:\d+, waiting in .* for a Queue/)
  end

  def test_ractors_that_nobody_has
    assert_stuck(3, 0, 0, <<~RUBY, /for a Ractor that is stuck, too/, /for somebody who has its Ractor/)
      apart { Ractor.new { Ractor.receive }; Ractor.new { Ractor.new { Ractor.yield(Ractor.receive) }.take } }
    RUBY
  end

  def test_fibers_that_only_their_scheduler_has
    assert_stuck(0, 4, 0, <<~RUBY, /\A3 fibers started at here, waiting in .* for a Queue that nobody else reaches, keep 2[.]\d+ MB\z/, /\A1 fiber .* for a SizedQueue/)
      apart do
        scheduled do
          3.times { Fiber.schedule { kept = "x" * 1_000_000; Queue.new.pop; kept } } # here
          Fiber.schedule { SizedQueue.new(1).push(1).push(2) }
        end
      end
    RUBY
  end

  # ---- not stuck ----

  def test_workers_whose_queue_a_constant_has
    assert_stuck(0, 0, 0, "QUEUE = Queue.new\napart { 3.times { Thread.new { QUEUE.pop } } }")
  end

  # As puma has it: the pool is in a local of the main thread, its threads and what they wait for in the pool.
  def test_a_pool_of_workers
    assert_stuck(0, 0, 0, <<~RUBY)
      class Pool
        def initialize(size)
          @mutex, @not_empty, @todo = Mutex.new, ConditionVariable.new, []
          @workers = Array.new(size) { Thread.new { work } }
        end
        def work
          @mutex.synchronize do
            @not_empty.wait(@mutex) while @todo.empty?
            @todo.shift
          end
        end
      end
      pool = Pool.new(5)
    RUBY
  end

  def test_timeout
    assert_stuck(0, 0, 1, <<~RUBY)
      require "timeout"
      apart { Thread.new { Timeout.timeout(1000) { Queue.new.pop } } }
    RUBY
  end

  def test_whoever_waits_with_a_timeout_for_io_or_for_a_process
    assert_stuck(0, 0, 0, <<~RUBY)
      apart do
        Thread.new { sleep 1000 }
        Thread.new { sleep }
        Thread.new { Queue.new.pop(timeout: 1000) }
        Thread.new { SizedQueue.new(1).tap { |queue| queue << 1 }.push(2, timeout: 1000) }
        Thread.new { lock = Mutex.new; lock.synchronize { ConditionVariable.new.wait(lock, 1000) } }
        Thread.new { Mutex.new.then { |lock| lock.synchronize { lock.sleep(1000) } } }
        Thread.new { Thread.new { sleep 1000 }.join(1000) }
        Thread.new { IO.pipe.first.read }
        Thread.new { IO.select([IO.pipe.first]) }
        Thread.new { Process.wait(spawn("sleep", "10")) }
      end
    RUBY
  end

  def test_whoever_another_will_wake_in_time
    assert_stuck(0, 0, 0, <<~RUBY)
      def later(queue = Queue.new, lock = Mutex.new)
        Thread.new { queue.pop }
        Thread.new { sleep 1000; queue << 1 }
        Thread.new { lock.synchronize { sleep 1000 } }
        Thread.pass until lock.locked?
        Thread.new { lock.synchronize { } }
        Thread.new { Thread.new { sleep 1000 }.join }
      end
      apart { later }
    RUBY
  end

  def test_whoever_a_handler_can_wake
    assert_stuck(0, 0, 0, <<~RUBY)
      def handled(queue = Queue.new)
        Thread.new { queue.pop }
        trap(:USR2) { queue << 1 }
      end
      def at_end(queue = Queue.new)
        Thread.new { queue.pop }
        at_exit { queue << 1 }
      end
      def finalized(queue = Queue.new)
        Thread.new { queue.pop }
        ObjectSpace.define_finalizer(KEPT, proc { queue << 1 })
      end
      KEPT = Object.new
      apart { handled; at_end; finalized }
    RUBY
  end

  def test_a_stopped_thread_that_the_program_has
    assert_stuck(0, 0, 0, "STOPPED = []\napart { STOPPED << Thread.new { Thread.stop } }")
  end

  def test_a_monitor_and_a_logger
    assert_stuck(0, 0, 0, <<~RUBY)
      require "monitor"
      class Buffer
        include MonitorMixin
        def initialize
          super
          @filled = new_cond
        end
        def take = synchronize { @filled.wait_until { @item } }
      end
      BUFFER = Buffer.new
      apart { 2.times { Thread.new { BUFFER.take } } }
    RUBY
  end

  def test_ractors_that_the_program_has_or_that_need_nobody
    assert_stuck(0, 0, 0, <<~RUBY)
      RECEIVER, YIELDER = Ractor.new { Ractor.receive }, Ractor.new { Ractor.yield 1 }
      apart do
        Ractor.new { sleep 1000 }
        Ractor.new { IO.pipe.first.read }
        Ractor.new { Queue.new.pop(timeout: 1000) }
        Ractor.new { Ractor.new { sleep 1000 }.take }
        Ractor.new(RECEIVER) { |receiver| receiver.take }
      end
    RUBY
  end

  def test_fibers_that_can_be_woken
    assert_stuck(0, 0, 0, <<~RUBY)
      require "timeout"
      QUEUE = Queue.new
      def pair(queue = Queue.new)
        Fiber.schedule { queue.pop }
        Fiber.schedule { sleep 1000; queue << 1 }
      end
      apart do
        scheduled do
          Fiber.schedule { QUEUE.pop }
          Fiber.schedule { Queue.new.pop(timeout: 1000) }
          Fiber.schedule { Timeout.timeout(1000) { Queue.new.pop } }
          Fiber.schedule { sleep }
          pair
        end
      end
    RUBY
  end

  # The dump comes from another fiber, while this one has not run yet.
  def test_a_fiber_that_has_got_something
    in_dump_of(<<~RUBY) do
      def pushed(queue = Queue.new)
        Fiber.schedule { queue.pop }
        queue << 1
      end
      scheduled { pushed; ObjectSpace::HeapGraph.dump("b.graph", gc: true) }.join
    RUBY
      assert_equal [0, 0, 0, 0], heapprof!("graph", "stuck", "b.graph", "--json").json.values_at("threads", "fibers", "held_threads", "held_fibers")
    end
  end

  # Each of these has been woken, and has not run since: the dump keeps the GVL.
  def test_threads_that_have_been_woken
    in_dump_of(<<~RUBY) do
      def woken(queue = Queue.new, lock = Mutex.new, condition = ConditionVariable.new, other = Mutex.new)
        lock.lock
        threads = [Thread.new { queue.pop }, Thread.new { lock.synchronize { } }, Thread.new { other.synchronize { condition.wait(other) } },
                   Thread.new { Thread.stop }, Thread.new { Queue.new.pop }]
        Thread.pass until threads.all?(&:stop?)
        Thread.handle_interrupt(Object => :never) do
          queue << 1
          lock.unlock
          condition.signal
          threads[3].wakeup
          threads[4].kill
        end
      end
      Thread.new { woken; ObjectSpace::HeapGraph.dump("b.graph") }.join
    RUBY
      assert_equal [0, 0], heapprof!("graph", "stuck", "b.graph", "--json").json.values_at("threads", "held_threads")
    end
  end

  # ---- the command ----

  def test_text
    in_dump_of(<<~RUBY) do
      POOL = []
      def lose(size) = size.times { Thread.new { kept = "x" * 100_000; Queue.new.pop; kept } }
      def lose_another = Thread.new { Queue.new.pop }
      apart { lose(3); lose_another; POOL << Thread.new { Queue.new.pop } }
    RUBY
      out = heapprof!("graph", "stuck", "a.graph").out
      assert_match(/\A4 threads are stuck: nobody can wake them. They keep \d+ kB\n\n1. 3 threads started at \S*program.rb:\d+, waiting .*; one of them is 0x\h+\n2. 1 thread .*, keeps .*; 0x\h+\n\n1 thread waits, too, for what nobody else reaches, but the program has it, and can end it: --held shows this\n\z/, out)
      assert_match(/\n1. 3 threads .*\n... and 1 more\n/, heapprof!("graph", "stuck", "a.graph", "-n1").out)
      assert_match(/\n3. 1 thread .*; 0x\h+; held\n/, heapprof!("graph", "stuck", "a.graph", "--held").out)
      found = stuck
      assert_equal [["thread", false, 3, "Thread::Queue"], ["thread", false, 1, "Thread::Queue"]],
                   found["rows"].map { |row| row.values_at("kind", "held", "count", "awaited_class") }
      assert_operator found["rows"].sum { |row| row["bytes"] }, :<=, found["bytes"]
      assert_match(/VM\/thread/, heapprof!("graph", "show", "a.graph", found["rows"][0]["example"]).out + "VM/thread")
      assert_match(/^4 threads are stuck: nobody can wake them. They keep \d+ kB: heapprof graph stuck a.graph$/, heapprof!("graph", "report", "a.graph").out)
      assert_equal found.slice("threads", "fibers", "bytes"), heapprof!("graph", "report", "a.graph", "--json").json["stuck"]
    end
  end

  def test_no_thread_is_stuck
    in_dump_of("") do
      assert_equal "No thread and no fiber is stuck.\n", heapprof!("graph", "stuck", "a.graph").out
      assert_no_match(/stuck/, heapprof!("graph", "report", "a.graph").out)
    end
  end

  # What is missing could be what wakes them.
  def test_a_part_of_a_dump_is_refused
    in_dump_of("apart { Thread.new { Queue.new.pop } }") do
      File.binwrite("part.graph", File.binread("a.graph")[0...-100])
      assert_refused 1, /is incomplete: .*; what is missing could wake threads, so it takes a whole dump$/, "graph", "stuck", "part.graph"
      assert_no_match(/stuck/, heapprof("graph", "report", "part.graph").out)
    end
  end

  # What they keep is what is free when they are killed.
  def test_what_they_keep_is_free_without_them
    in_dump_of(<<~RUBY) do
      def lose(queue = Queue.new, shared = "y" * 500_000)
        2.times { Thread.new { kept = Array.new(1000) { "x" * 1000 }; queue.pop; [kept, shared] } }
      end
      apart { lose }
      settle
      ObjectSpace::HeapGraph.dump("before.graph", gc: true)
      apart { (Thread.list - [Thread.main, Thread.current]).each(&:kill).each(&:join) }
      ObjectSpace::HeapGraph.dump("after.graph", gc: true)
    RUBY
      before, after = %w[before after].map { |name| heapprof!("graph", "info", "#{name}.graph", "--json").json["reached_bytes"] }
      assert_in_delta before - after, heapprof!("graph", "stuck", "before.graph", "--json").json["bytes"], 50_000
    end
  end
end
