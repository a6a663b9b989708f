# frozen_string_literal: true

# test_demand.rb - heapprof start, stop, snapshot and graph dump of a process that was started with nothing set: whatever it is doing, it does what
# it is asked for, and sees nothing of it. What nobody waits for any more is not done.

require_relative "lib/attached"

class TestHeapprofDemand < Test::Unit::TestCase
  include Attached

  def need(*command)
    omit "#{command.first} is not there" unless system(*command, out: File::NULL, err: File::NULL)
  end

  # How often a thread of the process has left a processor. A thread that sleeps and is not woken stays at its number.
  def switches(pid, tids = Dir.children("/proc/#{pid}/task"))
    tids.to_h { |tid| [tid, File.read("/proc/#{pid}/task/#{tid}/status").scan(/ctxt_switches:\s*(\d+)/).flatten.map(&:to_i)] }
  end

  # The native threads of its Ruby threads.
  def ruby_threads(pid) = threads(pid).map { |thread| thread["native_id"].to_s }

  def asleep?(pid, tid) = File.read("/proc/#{pid}/task/#{tid}/stat")[/\) (\w)/, 1] == "S"

  def done(*words) = heapprof(*words).tap { |ran| assert_equal 0, ran.status, ran.err }

  def samples(pid, path = "now.pb.gz")
    File.delete(path) if File.exist?(path)
    Integer(done("snapshot", pid, "-o", path).err[/: ([\d,]+) samples? alive/, 1].delete(","))
  end

  def assert_dump(pid)
    path = done("graph", "dump", pid).out.chomp
    assert_equal "#{Dir.pwd}/heap-#{pid}-#{File.basename(path)[/-(\d+)\./, 1]}.rbgraph", path
    assert_equal "600", File.stat(path).mode.to_s(8)[-3..]
    assert_operator heapprof!("graph", "info", "--json", path).json["objects"], :>, 5000
  end

  def assert_started(pid, *options)
    ran = heapprof("start", pid, *options)
    assert_equal [0, ""], [ran.status, ran.err]
    assert_equal "process #{pid} is profiled now; heapprof snapshot #{pid} reads its profile, and heapprof stop #{pid} ends it\n", ran.out
  end

  def assert_stopped(pid)
    ran = heapprof("stop", pid)
    assert_equal [0, "", "process #{pid} is no longer profiled\n"], [ran.status, ran.err, ran.out]
  end

  # ---- asleep ----

  ASLEEP = {
    "sleep" => "sleep",
    "select" => "IO.select([IO.pipe[0]])",
    "pop" => "Queue.new.pop",
    "a_mutex" => "lock = Mutex.new; Thread.new { lock.lock; sleep }; sleep 0.001 until lock.locked?; lock.lock",
    "a_condition" => "lock = Mutex.new; lock.synchronize { ConditionVariable.new.wait(lock) }",
    "read" => "IO.pipe[0].sysread(1)",
    "a_child" => "Process.wait(spawn('sleep', '1000', pgroup: true)) rescue nil",
    "several_threads" => "Array.new(5) { Thread.new { IO.select([IO.pipe[0]]) } }.each(&:join)"
  }.freeze

  ASLEEP.each do |name, wait|
    define_method("test_asleep_in_#{name}") do
      in_directory do
        beside("Thread.new { IO.select([IO.pipe[0]]) }; $ready.call; begin; #{wait}; ensure; $stdout.syswrite(%(woken\n)); end") do |pid, _, output|
          threads_until(pid) { |all| all.none? { |thread| ["running", "waiting for the GVL"].include?(thread["state"]) } }
          tids = ruby_threads(pid)
          sleep 0.001 until tids.all? { |tid| asleep?(pid, tid) }
          before = switches(pid, tids)
          assert_started(pid)
          assert_equal 0, samples(pid)
          assert_dump(pid)
          assert_stopped(pid)
          assert_equal before, switches(pid, tids), "a thread has been woken"
          assert_equal :wait_readable, output.read_nonblock(1, exception: false)
        ensure
          Process.kill(:KILL, *File.read("/proc/#{pid}/task/#{pid}/children").split.map(&:to_i)) unless File.read("/proc/#{pid}/task/#{pid}/children").empty?
        end
      end
    end
  end

  def test_a_dump_is_only_where_the_user_wants_it
    in_directory do
      beside("$ready.call; sleep") do |pid,|
        assert_equal "mine\n", done("graph", "dump", pid, "-o", "mine").out
        assert_equal ["mine"], Dir.children(".")
      end
    end
  end

  def test_a_dump_in_a_directory_with_a_percent_sign
    in_directory do |directory|
      Dir.mkdir("50%n")
      Dir.chdir("50%n") { beside("$ready.call; sleep") { |pid,| assert_dump(pid) } }
    end
  end

  # ---- at work ----

  # Keeps what it makes, until its stdin says something. Then prints how much that is, so that none is missing.
  WORK = <<~'RUBY'
    def keep(into) = into << "x" * 100
    kept = []
    go = true
    compacting = nil
    Thread.new { $stdin.gets; go = false }
    %s
    $ready.call
    (keep(kept); kept.shift if kept.size > 100_000) while go
    compacting&.join
    $stdout.syswrite("kept #{kept.all? { |text| text == "x" * 100 }}\n")
  RUBY

  def at_work(setup = "", *options)
    in_directory do
      beside(WORK % setup, *options) do |pid, input, output|
        assert_started(pid, "--interval=4k")
        sleep 0.001 until samples(pid) > 100
        assert_includes heapprof!("top", "now.pb.gz", "--group=site").out, "-e:"
        assert_dump(pid)
        assert_stopped(pid)
        input.puts
        assert_equal "kept true\n", output.gets
      end
    end
  end

  def test_a_busy_loop = at_work
  def test_yjit = at_work("", "--yjit")
  def test_several_threads = at_work("4.times { Thread.new { loop { Array.new(10) { Object.new } } } }")
  def test_ractors = at_work("$VERBOSE = nil; 2.times { Ractor.new { loop { Array.new(10) { Object.new } } } }", "-W0")
  def test_while_it_forks = at_work("Thread.new { loop { Process.wait(fork { exit!(true) }) } }")
  def test_while_it_compacts = at_work("compacting = Thread.new { Thread.pass until $told; GC.compact while go }")

  # Each child is a process of its own, which nobody has asked anything.
  def test_children_of_a_process_that_was_asked
    in_directory do
      script = "$ready.call; $stdin.gets; pid = fork { $stdout.syswrite(Process.pid.to_s + %(\n)); sleep }; Process.wait(pid)"
      beside(script) do |pid, input, output|
        assert_dump(pid)
        input.puts
        child = Integer(output.gets)
        threads_until(child) { |all| labels(all.first).first == "Kernel#sleep" }
        assert_equal 2, Dir.children("/proc/#{child}/task").size, "a child has a thread of the profiler's"
        assert_started(child)
        assert_stopped(child)
        assert_refused 1, /process #{pid}: it is not profiled$/, "stop", pid
      ensure
        Process.kill(:KILL, child) if child
      end
    end
  end

  # What its parent was asked for is forgotten in a child; what the child was asked for before that would be, too.
  def test_a_child_is_asked_when_it_has_noticed_that_it_is_one
    in_directory do
      beside('child = fork { sleep }; $ready.call; $stdout.syswrite("#{child}\n"); sleep', env: Held.children) do |pid, _, output|
        child = Integer(output.gets)
        sleep 0.001 until File.read("/proc/#{child}/stat")[/\) (\w)/, 1] == "T"
        assert_refused 1, /process #{child}: it was forked, and its ruby has not noticed yet$/, "start", child, env: Held.clock(10)
        Process.kill(:CONT, child)
        assert_started(child)
        assert_stopped(child)
      ensure
        Process.kill(:KILL, child) if child
      end
    end
  end

  # ---- in C ----

  # Reads from stdin with the GVL, as a C function that takes long.
  IN_C = <<~'RUBY'
    require "fiddle"
    READ = Fiddle::Function.new(Fiddle.dlopen(nil)["read"], [Fiddle::TYPE_INT, Fiddle::TYPE_VOIDP, Fiddle::TYPE_INT], Fiddle::TYPE_INT,
                                 need_gvl: true)
    def held = READ.call(0, "x" * 8, 1)
    $ready.call
    held
    $stdout.syswrite("back #{ObjectSpace::HeapProfile.running?}\n")
    held
    $stdout.syswrite("back #{ObjectSpace::HeapProfile.running?}\n")
    sleep
  RUBY

  def in_c
    omit "fiddle is not there" unless system(*RUBY, "-e", "require 'fiddle'", err: File::NULL)
    beside(IN_C) do |pid, input, output|
      threads_until(pid) { |all| labels(all.first).first == "Fiddle::Function#call" }
      yield pid, input, output
    end
  end

  def test_in_c_it_begins_as_soon_as_that_returns
    in_c do |pid, input, output|
      out, err, asking = *IO.pipe, nil
      asking = Process.spawn(ENVIRONMENT, PROGRAM, "start", pid.to_s, out: File::NULL, err: err)
      err.close
      assert_equal "heapprof start: process #{pid} is inside Fiddle::Function#call (C) and has not answered for 5 s; it will be profiled as soon as it " \
                   "goes on\n", out.gets
      input.syswrite("x")
      assert_equal 0, Process.wait2(asking).last.exitstatus
      output.gets # its look at interrupts came before or after the line
      input.syswrite("x")
      assert_equal "back true\n", output.gets
    end
  end

  def test_in_c_a_request_that_took_too_long_is_withdrawn
    in_c do |pid, input, output|
      assert_refused 1, /^heapprof start: process #{pid}: it is inside Fiddle::Function#call \(C\) and has not answered for 1 s; the request was withdrawn$/,
                     "start", pid, "--timeout=1"
      2.times do
        input.syswrite("x")
        assert_equal "back false\n", output.gets
      end
      assert_started(pid)
    end
  end

  def test_in_c_an_interrupted_request_is_withdrawn
    in_c do |pid, input, output|
      _, err, status = Open3.popen3(ENVIRONMENT, PROGRAM, "start", pid.to_s) do |stdin, _, stderr, asking|
        stdin.close
        sleep 0.001 until Dir.children("/proc/#{pid}/task").size == 3 # it has heard
        Process.kill(:INT, asking.pid)
        [nil, stderr.read, asking.value]
      end
      assert_equal [1, "heapprof start: process #{pid}: it has not begun; the request was withdrawn\n"], [status.exitstatus, err]
      2.times do
        input.syswrite("x")
        assert_equal "back false\n", output.gets
      end
    end
  end

  # ---- stopped, locked, another reader ----

  def test_a_process_that_is_stopped
    beside("$ready.call; sleep") do |pid,|
      Process.kill(:STOP, pid)
      sleep 0.001 until File.read("/proc/#{pid}/stat")[/\) (\w)/, 1] == "T"
      assert_refused 1, /process #{pid}: it is stopped and has not answered for 1 s; the request was withdrawn$/, "start", pid, "--timeout=1"
      Process.kill(:CONT, pid)
      assert_started(pid)
    end
  end

  def test_a_process_that_a_debugger_has_stopped
    need("gdb", "--version")
    beside("$ready.call; sleep") do |pid,|
      debugger = IO.popen(["gdb", "--nx", "--quiet", "-p", pid.to_s], "r+", err: File::NULL)
      debugger.puts "set confirm off", "echo attached\\n"
      nil until debugger.gets.include?("attached")
      assert_refused 1, /process #{pid}: it is stopped by process #{debugger.pid} \(gdb\) and has not answered for 1 s; the request was withdrawn$/,
                     "start", pid, "--timeout=1"
      debugger.puts "quit"
      debugger.close
      assert_started(pid)
    end
  end

  def test_a_locked_process_takes_no_requests
    beside("$ready.call; sleep", env: { "RUBY_HEAPPROF" => "locked" }) do |pid,|
      locked = /process #{pid}: it was started with RUBY_HEAPPROF=locked, and takes no requests$/
      [%w[start], %w[stop], %w[graph dump]].each { |command| assert_refused 1, locked, *command, pid }
      assert_equal 2, Dir.children("/proc/#{pid}/task").size
    end
  end

  def test_a_locked_process_that_is_profiled
    beside("$ready.call; sleep", env: { "RUBY_HEAPPROF" => "1,interval=1,out=,locked" }) do |pid,|
      in_directory { assert_operator samples(pid), :>, 0 }
      assert_refused 1, /RUBY_HEAPPROF=locked/, "stop", pid
    end
  end

  # Its file is that of the run that RUBY_HEAPPROF began, which has ended.
  def test_a_run_from_outside_writes_no_file_at_the_end
    in_directory do
      beside("$ready.call; $stdin.gets; at_exit { $stdout.syswrite(%(end\n)) }", env: { "RUBY_HEAPPROF" => "1" }) do |pid, input, output|
        heapprof!("stop", pid)
        heapprof!("start", pid)
        input.puts
        assert_equal ["end\n", nil], [output.gets, output.gets]
        assert_empty Dir["*"]
      end
    end
  end

  def test_only_one_asks_at_a_time
    beside("$ready.call; sleep") do |pid,|
      File.open("/proc/#{pid}/mem") do |memory|
        memory.flock(File::LOCK_EX)
        assert_refused 1, /process #{pid}: another heapprof asks it for something; try again when that has ended$/, "start", pid, "--timeout=1"
      end
      assert_started(pid)
    end
  end

  # At once, from several readers: one starts it, the others are told, and nothing is mixed up.
  def test_many_readers_at_once
    beside("$ready.call; sleep") do |pid,|
      said = Array.new(6) { Thread.new { heapprof("start", pid) } }.map { |thread| thread.value.then { |ran| ran.err + ran.out } }
      assert_equal ["heapprof start: process #{pid}: it is profiled already\n"] * 5, said.sort.first(5)
      assert_match(/is profiled now/, said.max)
    end
  end

  # ---- a reader that is killed ----

  # Between any two of its system calls on the process: nothing is left half done, and the next reader is served.
  { "pwrite64" => 1..5, "pidfd_getfd" => 1..1, "write" => 1..1 }.each do |call, times|
    times.each do |n|
      define_method("test_a_reader_that_is_killed_at_#{call}_#{n}") do
        need("strace", "-o", File::NULL, "true")
        in_directory do
          beside("$ready.call; $stdin.gets; $stdout.syswrite(%(end\n))") do |pid, input, output|
            system(ENVIRONMENT, "strace", "-o", File::NULL, "-e", "inject=#{call}:signal=KILL:when=#{n}", PROGRAM, "start", pid.to_s, out: File::NULL)
            assert_dump(pid)
            heapprof("stop", pid)
            assert_started(pid)
            assert_stopped(pid)
            input.puts
            assert_equal "end\n", output.gets
          end
        end
      end
    end
  end

  # As in a container: a stop of the timer thread takes the place of its eventfd.
  def test_where_descriptors_cannot_be_had
    need("strace", "-o", File::NULL, "true")
    in_directory do
      beside("$ready.call; sleep") do |pid,|
        tids = ruby_threads(pid)
        sleep 0.001 until tids.all? { |tid| asleep?(pid, tid) }
        before = switches(pid, tids)
        out, = Open3.capture2e(ENVIRONMENT, "strace", "-o", File::NULL, "-e", "inject=pidfd_getfd:error=EPERM", PROGRAM, "start", pid.to_s)
        assert_match(/is profiled now/, out)
        assert_equal before, switches(pid, tids)
      end
    end
  end

  # ---- what is refused ----

  def test_what_is_refused_is_one_line
    assert_refused 2, /--interval: has a comma/, "start", Process.pid, "--interval=1,every=5"
    assert_refused 2, /interval/, "start", Process.pid, "--interval=x"
    assert_refused 2, /--timeout/, "stop", Process.pid, "--timeout=x"
    assert_refused 1, /process 999999999: /, "start", "999999999"
    beside("$ready.call; sleep") do |pid,|
      assert_refused 1, /process #{pid}: it is not profiled$/, "stop", pid
      assert_started(pid)
      assert_refused 1, /process #{pid}: it is profiled already$/, "start", pid
    end
  end

  def test_a_snapshot_says_how_to_start
    in_directory do
      beside("$ready.call; sleep") do |pid,|
        assert_refused 1, /process #{pid}: .*`heapprof start #{pid}`/, "snapshot", pid
      end
    end
  end

  # Somebody asks at each moment of its end.
  def test_while_it_ends
    20.times do
      beside("at_exit { $stdin.gets }; $ready.call; ObjectSpace.define_finalizer(Object.new, -> id { 1000.times { Object.new } })") do |pid, input,|
        asking = Process.spawn(ENVIRONMENT, PROGRAM, "start", pid.to_s, out: File::NULL, err: File::NULL)
        input.puts
        Process.wait(asking)
        assert_includes [0, 1], $?.exitstatus
        sleep 0.001 until File.read("/proc/#{pid}/stat")[/\) (\w)/, 1] == "Z"
        assert_equal "0", File.read("/proc/#{pid}/stat").split.last, "its status"
      end
    end
  end

  # It has no file of its own at the end, and what it prints is the same.
  def test_its_end_is_as_it_was
    in_directory do
      beside("$ready.call; $stdin.gets; puts :end") do |pid, input, output|
        assert_started(pid)
        input.puts
        assert_equal "end\n", output.gets
        assert_nil output.gets
      end
      assert_empty Dir.children(".")
    end
  end
end
