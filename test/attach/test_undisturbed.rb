# frozen_string_literal: true
#
# test_undisturbed.rb - whatever a Ruby is doing, its stacks are right and it does not see that they are read: signals, calls that
# wait, compaction and other GCs, compiled code, M:N threads, Ractors, fibers under a scheduler, many threads.

require_relative "lib/attached"

class TestHeapprofUndisturbed < Test::Unit::TestCase
  include Attached

  COUNTS = /([\d,]+) stacks?, ([\d,]+) read in part \(torn\), ([\d,]+) not read$/

  # Of so many looks, before each of which the thread `running` has run.
  def record(looks, *arguments, running: nil)
    ran = record_looks(looks, "--to=collapsed", *arguments, running: running)
    assert_equal 0, ran.status, ran.err
    assert_match COUNTS, ran.err
    ran
  end

  # Of all stacks read, how many could not be.
  def failed(ran) = ran.err[COUNTS, 3].delete(",").to_i

  # How often a thread could not be stopped in time, because the machine was busy: it was read as it ran.
  def not_stopped(ran) = ran.err[/([\d,]+) times? a thread could not be stopped/, 1].to_s.delete(",").to_i

  # ---- what it would see ----

  # Each asks for a time, and says how long it was, or what came instead.
  WAITS = <<~'RUBY'
    read, write = IO.pipe
    timed = ->(name, &wait) do
      start = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      value = wait.call
      [name, Process.clock_gettime(Process::CLOCK_MONOTONIC) - start, value.inspect]
    rescue SystemCallError, IOError => error
      [name, 0, error.class]
    end
    %i[CONT CHLD WINCH URG].each { |signal| trap(signal) { $signals = signal } }
    pipe, = IO.pipe
    $ready.call
    waits = {
      "select" => -> { IO.select([pipe], nil, nil, 1) },
      "wait" => -> { pipe.wait_readable(1) },
      "pop" => -> { Queue.new.pop(timeout: 1) },
      "join" => -> { Thread.new { sleep }.join(1) },
      "read" => -> { Thread.new { IO.select(nil, nil, nil, 1); write.write("x") }; read.read(1) },
      "child" => -> { Process.wait(spawn("sleep", "1")); $?.exitstatus },
    }.map { |name, wait| Thread.new { timed.(name, &wait) } }
    waits = [timed.("sleep") { sleep 1 }, *waits.map(&:value)]
    waits.each { |wait| puts wait.join(" ") }
    puts "signals #{($signals == :CHLD ? nil : $signals).inspect}"
    puts "end"
    $stdout.flush
    sleep
  RUBY

  %w[auto always].each do |whom|
    define_method("test_what_waits_is_not_interrupted_#{whom}") do
      beside(WAITS) do |pid, _, output|
        recorder = Process.spawn(PROGRAM, "record", pid.to_s, "--rate=500", "--idle", "--stop", whom, "--duration=60",
                                 "--output=/dev/null", err: File::NULL)
        said = output.each_line(chomp: true).take_while { |line| line != "end" }.map(&:split)
        Process.kill(:INT, recorder)
        Process.wait(recorder)
        *waits, signals = said
        assert_equal %w[signals nil], signals
        waits.each { |name, seconds, _| assert_operator seconds.to_f, :>=, 0.999, [name, whom].inspect }
        assert_equal %w[1 nil nil nil nil "x" 0], waits.map(&:last)
      end
    end
  end

  # Nobody wakes a thread that sleeps, a thousand times a second.
  def test_a_thread_that_sleeps_is_not_woken
    beside("$ready.call; sleep") do |pid|
      threads_until(pid) { |all| labels(all.first).first == "Kernel#sleep" }
      switches = -> { File.read("/proc/#{pid}/task/#{pid}/status").scan(/ctxt_switches:\s*(\d+)/).flatten.sum(&:to_i) }
      before = switches.call
      ran = record(1000, pid, "--rate=1000", "--idle")
      assert_operator ran.err[COUNTS, 1].delete(",").to_i, :>, 100
      assert_operator switches.call - before, :<=, 2
    end
  end

  # It gets a SIGCHLD for each child, and its parent gets none for it.
  def test_sigchld
    script = <<~'RUBY'
      chld = 0
      ended = 0
      trap(:CHLD) { chld += 1; ended += 1 while (Process.wait(-1, Process::WNOHANG) rescue nil) }
      $ready.call
      50.times { |i| fork { exit!(0) }; sleep 0.002 until ended > i }
      puts "#{ended} ended, #{chld > 0 && chld <= 50}"
      $stdout.flush
      sleep
    RUBY
    %w[auto always].each do |whom|
      beside(script) do |pid, _, output|
        recorder = Process.spawn(PROGRAM, "record", pid.to_s, "--rate=1000", "--idle", "--stop", whom, "--duration=60",
                                 "--output=/dev/null", err: File::NULL)
        assert_equal "50 ended, true\n", output.gets
        Process.kill(:INT, recorder)
        Process.wait(recorder)
        assert_nil Process.wait(pid, Process::WNOHANG | Process::WUNTRACED)
      end
    end
  end

  # Its parent is told nothing of the stops, and of the end what there is to tell.
  def test_the_parent_of_what_is_read
    script = <<~'RUBY'
      chld = 0
      trap(:CHLD) { chld += 1 }
      child = fork { loop { 1 + 1 } }
      puts child
      $stdout.flush
      $ready.call
      $stdin.gets
      puts "#{chld} #{Process.wait(child, Process::WNOHANG | Process::WUNTRACED).inspect}"
      Process.kill(:TERM, child)
      Process.wait(child)
      puts $?.termsig
      $stdout.flush
      sleep
    RUBY
    read, write = IO.pipe
    pid = Process.spawn({ "RUBYOPT" => nil }, *RUBY, "-e", "$ready = -> {}\n#{script}", in: read, out: (ours = IO.pipe)[1])
    child = ours[0].gets.to_i
    record(1000, child, "--stop=always")
    write.puts
    assert_equal ["0 nil\n", "15\n"], [ours[0].gets, ours[0].gets]
  ensure
    [child, pid].each { |each| Process.kill(:KILL, each) rescue nil }
    Process.wait(pid)
    [read, write, *ours].each(&:close)
  end

  # ---- the collector ----

  # hot_a calls leaf_a and hot_b leaf_b: nobody ever sees the other two.
  FLUTTER = <<~'RUBY'
    def leaf_a = [+"a", []]
    def leaf_b = [+"b", {}]
    def hot_a = leaf_a
    def hot_b = leaf_b
    def flutter = loop { hot_a; hot_b }
  RUBY

  # Of a thread that was read as it ran, a part may be torn.
  def impossible(ran)
    marks = not_stopped(ran).zero? ? %w[(unreadable) (torn)] : %w[(unreadable)]
    collapsed(ran.out).keys.select do |stack|
      stack.intersect?(marks) ||
        stack.each_cons(2).any? { |pair| [%w[Object#hot_a Object#leaf_b], %w[Object#hot_b Object#leaf_a]].include?(pair) }
    end
  end

  # No stack of that program is impossible, and none is not read, except of a thread as it ran.
  def assert_flutter(ran)
    stacks = collapsed(ran.out)
    assert_empty impossible(ran)
    assert_includes stacks.keys.flatten, "Object#hot_a"
    assert_operator ran.err[COUNTS, 1].delete(",").to_i, :>, 100
    assert_operator failed(ran), :<=, not_stopped(ran), ran.err
    stacks
  end

  def test_while_objects_move
    script = "#{FLUTTER}$kept = 5_000.times.map { |i| [i.to_s, Class.new { eval('def moved_' + (i % 50).to_s + ' = 1') }.new] }\n" \
             "Thread.new { Thread.pass until $told; loop { GC.compact; sleep 0.002; 20.times { |i| eval('def made_' + i.to_s + ' = 1') } } }\n$ready.call\nflutter"
    beside(script) do |pid|
      %w[auto always].each { |whom| assert_flutter record(200, pid, "--rate=1000", "--stop", whom, running: pid) }
      10.times { threads_until(pid) { |all| labels(all.first).last(2) == ["Object#flutter", "<main>"] } }
    end
  end

  # Frames are told where their code has gone when all has moved: in between it is found by what the collector left in its place.
  def test_while_code_that_runs_moves
    script = <<~'RUBY'
      def go(procs, last) = procs.empty? ? last.call : procs.first.call(procs.drop(1), last)
      kept = []
      Thread.new do
        Thread.pass until $told
        loop do
          kept.shift(150) if kept.size > 600
          200.times { |i| kept << eval("proc { |rest, last| go(rest, last); #{i} }") }
          kept.shuffle!
          go(kept.first(20), -> { GC.compact })
        end
      end
      $ready.call
      sleep
    RUBY
    beside(script) do |pid|
      mover = threads_until(pid) { |all| all.size == 2 && all[1]["native_id"].positive? }[1]["native_id"]
      %w[auto always].each do |whom|
        ran = record(500, pid, "--rate=1000", "--stop", whom, running: mover)
        assert_empty collapsed(ran.out).keys.select { |stack| stack.include?("(unreadable)") }
        assert_includes collapsed(ran.out).keys.map { |stack| stack.last(3) }, ["Object#go", "block (3 levels) in <main>", "GC.compact"]
      end
    end
  end

  # Code is freed again and again, and each read takes longer than that. Whoever waits for the GVL meanwhile is read all the same.
  def test_while_code_is_freed
    script = <<~'RUBY'
      NAMES = Array.new(500) { |i| :"reader_#{i}" }
      def waits = loop { Thread.pass }
      Thread.new { loop { Class.new { attr_reader(*NAMES) }; GC.start } }
      $ready.call
      waits
    RUBY
    beside(script) do |pid|
      ran = record_by_bell("--to=collapsed", pid, env: Held.reads(1)) { |bell,| bell.ring(2) }
      assert_operator failed(ran), :<=, not_stopped(ran), ran.err
      assert_includes collapsed(ran.out).keys.flatten, "Object#waits"
    end
  end

  def test_while_compaction_protects_pages
    script = "GC.auto_compact = true\n#{FLUTTER}Thread.new { Thread.pass until $told; loop { GC.start; sleep 0.001 } }\n$ready.call\nflutter"
    beside(script) { |pid| assert_flutter record(200, pid, "--rate=1000", running: pid) }
  end

  def test_while_each_object_starts_a_gc
    beside("#{FLUTTER}GC.stress = true\n$ready.call\nflutter") do |pid|
      stacks = assert_flutter(record(200, pid, "--rate=500", "--gc", running: pid))
      assert_includes stacks.keys.map(&:last), "(garbage collection)"
      states = threads_until(pid) { |all| all.first["garbage_collection"] }
      assert_equal "running", states.first["state"]
    end
  end

  # ---- compiled code ----

  # The lines of those that have called are right; the one that runs may be on a line it was on before, or on none.
  def test_compiled_code
    omit "no YJIT" unless RbConfig::CONFIG["YJIT_SUPPORT"] != "no"
    script = <<~RUBY
      #{FLUTTER.lines.grep_v(/flutter/).join}
      def calls
        flutter_a
        nil
        flutter_b
      end
      def flutter_a = 50.times { hot_a }
      def flutter_b = 50.times { hot_b }
      $ready.call
      loop { calls }
    RUBY
    first = script.lines.index("def calls\n") + 2 # a line of the prelude is before
    beside(script, "--yjit", "--yjit-call-threshold=1") do |pid|
      threads_until(pid) { |all| labels(all.first).include?("Object#calls") }
      assert_empty impossible(record(1000, pid, "--rate=2000"))
      lines = Hash.new { |hash, key| hash[key] = [] }
      60.times do
        labels_and_lines = threads(pid).first["frames"].map { |frame| frame.values_at("label", "line") }
        labels_and_lines.each_cons(2) { |(callee, _), (caller, line)| lines[callee] |= [line] if caller == "Object#calls" }
      end
      assert_equal [first + 1], lines["Object#flutter_a"] if lines.key?("Object#flutter_a")
      assert_equal [first + 3], lines["Object#flutter_b"] if lines.key?("Object#flutter_b")
      refute_empty lines.keys & %w[Object#flutter_a Object#flutter_b]
    end
  end

  # ---- threads of all kinds ----

  # Those that wait have no native thread.
  def test_threads_that_share_native_threads
    script = <<~'RUBY'
      def rest = sleep
      def spin = loop { 1 + 1 }
      20.times { |i| Thread.new { Thread.current.name = "rests #{i}"; rest } }
      2.times { |i| Ractor.new(name: "spins #{i}") { Thread.new { sleep }; spin } }
      Thread.pass until Thread.list.count { |thread| thread.status == "sleep" } == 20
      $ready.call
      spin
    RUBY
    beside(script, "-W0", env: { "RUBY_MN_THREADS" => "1" }) do |pid|
      all = threads_until(pid) { |found| found.size == 25 && found.count { |thread| labels(thread).include?("Object#spin") } == 3 }
      resting = all.select { |thread| thread["name"]&.start_with?("rests") }
      assert_equal 20, resting.size
      assert_equal [["Kernel#sleep", "Object#rest", "block (2 levels) in <main>"]], resting.map { |thread| labels(thread) }.uniq
      assert_operator Dir.children("/proc/#{pid}/task").size, :<, 25
      %w[auto always].each do |whom|
        ran = record(200, pid, "--rate=500", "--stop", whom)
        assert_operator failed(ran), :<=, not_stopped(ran), ran.err
        functions = collapsed(ran.out).keys
        assert functions.any? { |stack| stack.include?("Object#spin") }
        refute functions.any? { |stack| stack.include?("Object#rest") }
      end
    end
  end

  def test_threads_and_ractors_that_come_and_go
    script = <<~'RUBY'
      def short = 200.times { |i| i.to_s }
      def in_thread = (short; $stay && ($stdout.syswrite("#{Thread.current.native_thread_id}\n"); loop { 1 + 1 }))
      def in_ractor = short
      trap(:USR1) { $stay = true }
      Thread.new { loop { Ractor.new { in_ractor }.take } }
      $ready.call
      loop { 4.times.map { Thread.new { in_thread } }.each(&:join) }
    RUBY
    %w[auto always].each do |whom|
      beside(script, "-W0") do |pid, _, output|
        ran = record_by_bell("--to=collapsed", "--rate=1000", "--stop", whom, pid) do |bell,|
          assert bell.ring(500)
          Process.kill(:USR1, pid)
          staying = Integer(output.gets) # whoever comes now does not go
          ring_as_it_runs(bell, 20, staying)
        end
        assert_match COUNTS, ran.err
        stacks = collapsed(ran.out).keys
        assert_empty stacks.select { |stack| stack.include?("Object#in_thread") && stack.include?("Object#in_ractor") }
        assert_includes stacks.flatten, "Object#in_thread"
        # Only a thread that has ended before it could be stopped has no stack that can be read.
        assert_operator failed(ran), :<=, whom == "auto" ? not_stopped(ran) : 0, ran.err
      end
    end
  end

  SCHEDULER = Dir[File.join(TOP, "build/src/ruby-*/test/fiber/scheduler.rb")].first

  def test_fibers_under_a_scheduler
    script = <<~RUBY
      require #{SCHEDULER.dump}
      def rest(i) = sleep(1000 + i)
      def busy = loop { 30_000.times { |i| i.to_s }; sleep 0.001 }
      Fiber.set_scheduler(Scheduler.new)
      10.times { |i| Fiber.schedule { rest(i) } }
      Fiber.schedule { busy }
      $ready.call
    RUBY
    beside(script) do |pid|
      all = threads_until(pid, "--fibers") { |found| found.drop(1).count { |fiber| labels(fiber).include?("Object#rest") } == 10 }
      resting = all.select { |fiber| labels(fiber).include?("Object#rest") }
      assert_equal ["suspended"], resting.map { |fiber| fiber["state"] }.uniq
      assert_equal ["Kernel#sleep", "Object#rest", "block (2 levels) in <main>"], labels(resting.first).last(3)
      ran = record(200, pid, "--rate=1000", running: pid)
      assert_includes collapsed(ran.out).keys.flatten, "Object#busy"
      refute_includes collapsed(ran.out).keys.flatten, "Object#rest"
      assert_equal 0, failed(ran)
    end
  end

  def test_many_threads
    script = "def rest(i) = ($in << i; sleep)\n$in = Queue.new\n500.times { |i| Thread.new { Thread.current.name = i.to_s; rest(i) } }\n" \
             "500.times { $in.pop }\n$ready.call\nloop { 1 + 1 }"
    beside(script) do |pid|
      all = threads_until(pid) { |found| found.count { |thread| labels(thread).first == "Kernel#sleep" } == 500 }
      assert_equal 501, all.size
      assert_equal (0...500).map(&:to_s), all.filter_map { |thread| thread["name"] }.sort_by(&:to_i)
      assert_equal 501, threads(pid, "--stop=always").size
      ran = record(10, pid, "--idle", "--stop=always")
      assert_equal 0, failed(ran)
    end
  end

  def test_names_are_any_bytes
    beside("def größer = ($ready.call; loop { 1 + 1 })\ngrößer") do |pid|
      assert_includes collapsed(record(20, pid).out).keys.flatten, "Object#größer"
    end
  end
end
