# frozen_string_literal: true

# test_periodic.rb - files while the program runs, by a timer and by a signal (vm/run/periodic.c): a process that
# does nothing writes them, too, and its own calls go on as if nothing had been; each process its own, whole
# or not there; and Ruby does not see who writes.

require_relative "lib/heapprof_test"
require_relative "../cli/lib/held"

class TestHeapProfPeriodic < Test::Unit::TestCase
  include HeapProfTest

  # Waits, not for ever, until the block says so.
  def wait_until(what = "nothing came")
    (TIMEOUT * 100).times do
      result = yield
      return result if result
      sleep 0.01
    end
    flunk what
  end

  # Files that are there, the oldest first; each is whole.
  def files(pattern = "*.pb.gz")
    Dir.glob(pattern).select { |path| File.file?(path) }.sort_by { |path| [path[/-(\d+)-/, 1].to_i, path[/-(\d+)\.pb/, 1].to_i] }
  end

  def numbers(pattern = "*.pb.gz") = files(pattern).map { |path| path[/-(\d+)\.pb/, 1].to_i }

  def assert_whole(*paths)
    paths.each { |path| assert_operator read_profile(path).samples.size, :>, 0, path }
    assert_empty Dir.glob(".heapprof-*")
  end

  # Runs the script and yields while it does, with its pid, what it reads from and what it writes to. It says
  # "ready" first.
  def beside(script, heapprof: nil, env: {}, **options)
    path = write_file("script.rb", "$stdout.sync = true\n" + script)
    Open3.popen3(clean(env.merge("RUBY_HEAPPROF" => heapprof)), EnvUtil.rubybin, "--disable-gems", path, **options) do |input, out, err, process|
      assert_equal "ready\n", out.gets
      yield process.pid, input, out
      input.close unless input.closed?
      output = Timeout.timeout(TIMEOUT) { [out.read, err.read] }
      return Ran.new(*output, process.value)
    ensure
      Process.kill(:KILL, process.pid) if process.alive?
    end
  end

  # The same with a bell, which is yielded, too: each ring is the moment of a file, and returns when our thread sleeps again.
  def beside_bell(script, heapprof: nil)
    bell = Held::Bell.new
    beside(script, heapprof: heapprof, env: bell.env, **bell.descriptors) do |_, input, out|
      bell.begun
      yield bell, input, out
    end
  ensure
    bell.close
  end

  # ---- without the GVL ----

  # Whoever adds up waits for an answer of a Ruby thread, which looks for the question when it has nothing else to do; and
  # one that computes all the while has it lend the GVL.
  def test_a_snapshot_is_added_up_without_the_gvl
    library = $LOAD_PATH.resolve_feature_path("-test-/heapprof_beside")[1]
    [nil, "Thread.new { loop {} }"].each do |beside|
      in_directory do
        ran = beside(<<~RUBY, heapprof: "every=0.1,interval=1,malloc_interval=1,owners=0,keep=0", env: { "LD_PRELOAD" => library }) do |_, input, _|
          kept = Array.new(100) { "x" * 1000 }
          #{beside}
          puts "ready"
          sleep 0.001 until File.exist?("sorting")
          File.write("answered", "")
          $stdin.gets
        RUBY
          wait_until { files.size >= 2 }
          input.puts
        end
        assert_predicate ran.status, :success?, ran.err
        assert_equal [true, false], [File.exist?("answered"), File.exist?("unanswered")]
        assert_whole(*files)
      end
    end
  end

  # ---- a process that waits ----

  # Each ends when a line comes in, and no sooner, and says what it has got.
  WAITING = {
    "read" => 'p $stdin.gets',
    "sysread" => 'p $stdin.sysread(3)',
    "select" => 'p IO.select([$stdin]).flatten.size; p $stdin.gets',
    "select with a timeout" => 'p IO.select([$stdin], nil, nil, 3600).flatten.size; p $stdin.gets',
    "wait_readable" => 'p $stdin.wait_readable(3600) == $stdin; p $stdin.gets',
    "join" => 'p Thread.new { $stdin.gets }.join.value',
    "join with a timeout" => 'p Thread.new { $stdin.gets }.join(3600).value',
    "value" => 'p Thread.new { $stdin.gets }.value',
    "queue" => 'q = Queue.new; Thread.new { q << $stdin.gets }; p q.pop',
    "queue with a timeout" => 'q = Queue.new; Thread.new { q << $stdin.gets }; p q.pop(timeout: 3600)',
    "sized queue" => 'q = SizedQueue.new(1); q << 1; Thread.new { p $stdin.gets; q.pop }; q << 2; p q.size',
    "mutex" => 'm = Mutex.new; s = Queue.new; Thread.new { m.synchronize { s << 1; p $stdin.gets } }; s.pop; m.lock; p m.owned?',
    "condition variable" => 'm = Mutex.new; c = ConditionVariable.new; n = 0; v = nil
      Thread.new { l = $stdin.gets; m.synchronize { v = l; c.signal } }
      m.synchronize { until v do c.wait(m); n += 1 end }; p v, n',
    "condition variable with a timeout" => 'm = Mutex.new; c = ConditionVariable.new; n = 0; v = nil
      Thread.new { l = $stdin.gets; m.synchronize { v = l; c.signal } }
      m.synchronize { until v do c.wait(m, 3600); n += 1 end }; p v, n',
    "mutex sleep" => 'm = Mutex.new; main = Thread.current; Thread.new { p $stdin.gets; m.synchronize { main.wakeup } }
      m.synchronize { m.sleep; p m.owned? }',
    "sleep" => 'main = Thread.current; Thread.new { p $stdin.gets; main.wakeup }; sleep; p 1',
    "sleep for a time" => 'main = Thread.current; Thread.new { p $stdin.gets; main.wakeup }; sleep 3600; p 1',
    "stop" => 'main = Thread.current; Thread.new { p $stdin.gets; main.wakeup }; Thread.stop; p 1',
    "fiber" => 'Fiber.new { p $stdin.gets }.resume',
    "wait" => 'p Process.wait2(spawn("read line; exit 7"))[1].exitstatus',
    "backtick" => 'p `read line; echo $line`',
    "system" => 'p system("read line; exit 7")',
    "flock" => 'f = File.open("lock", "w"); f.flock(File::LOCK_EX); g = File.open("lock")
      Thread.new { p $stdin.gets; f.flock(File::LOCK_UN) }; p g.flock(File::LOCK_EX)',
    "accept" => 'require "socket"; s = TCPServer.new("127.0.0.1", 0)
      Thread.new { p $stdin.gets; TCPSocket.new("127.0.0.1", s.addr[1]) }; p s.accept.class',
    "ractor" => 'Warning[:experimental] = false; p Ractor.new($stdin.fileno) { |n| IO.for_fd(n, autoclose: false).gets }.take',
    "trap" => 'trap("USR1") { p 1 }; Thread.new { p $stdin.gets; Process.kill(:USR1, $$) }; sleep 0.01 until $stdin.closed? || !Thread.list[1]; sleep 0.1',
  }.freeze

  def test_process_that_waits_writes_and_goes_on_waiting
    expected = {
      "select" => %w[1], "select with a timeout" => %w[1], "wait_readable" => %w[true], "sized queue" => %w[1],
      "mutex" => %w[true], "condition variable" => %w[1], "condition variable with a timeout" => %w[1],
      "mutex sleep" => %w[true], "sleep" => %w[1], "sleep for a time" => %w[1], "stop" => %w[1], "flock" => %w[0],
      "accept" => %w[TCPSocket], "trap" => %w[1], "wait" => %w[7], "system" => %w[false],
    }
    WAITING.each do |what, call|
      in_directory do
        ran = beside("puts 'ready'\n" + call, heapprof: "every=0.1,keep=0,interval=4k,owners=0") do |_, input, _|
          wait_until("#{what}: no files") { files.size >= 3 }
          input.puts "go"
        end
        lines = %w[wait system].include?(what) ? [] : [what == "sysread" ? '"go\n"' : '"go\n"']
        assert_equal [(lines + expected.fetch(what, [])).sort, "", true],
                     [ran.out.lines(chomp: true).sort, ran.err, ran.status.success?], what
        assert_equal (1..files.size).to_a, numbers, what
      end
    end
  end

  def test_sleeps_and_timeouts_take_as_long_as_they_are_said_to
    in_directory do
      ran = beside_bell(<<~'RUBY', heapprof: "every=0.1,keep=0") do |bell, _, out|
        now = -> { Process.clock_gettime(Process::CLOCK_MONOTONIC) }
        reader, = IO.pipe
        puts "ready"
        {
          sleep: -> { sleep 0.35 }, select: -> { IO.select([reader], nil, nil, 0.35) },
          queue: -> { Queue.new.pop(timeout: 0.35) }, wait: -> { reader.wait_readable(0.35) },
          join: -> { Thread.new { sleep }.join(0.35) },
          mutex: -> { m = Mutex.new; m.synchronize { m.sleep(0.35) } },
        }.each do |name, call|
          puts name
          before = now.()
          result = call.()
          puts "#{now.() - before} #{result.inspect}"
        end
      RUBY
        6.times do
          name = out.gets
          assert bell.ring(3), name
          passed, result = out.gets.split
          assert_operator passed.to_f, :>=, 0.35, name
          assert_include %w[nil 0 1], result, name
        end
      end
      assert_clean ran
      assert_operator files.size, :>, 18
    end
  end

  # ---- Ruby does not see it ----

  def test_no_thread_is_listed
    in_directory do
      in_child(<<~'RUBY')
        HeapProfile.start(every: 0.1, signal: "URG")
        sleep 0.01 until Dir.glob("*.pb.gz").any?
        assert_equal [Thread.main], Thread.list
        assert_equal 1, ThreadGroup::Default.list.size
        assert_equal 1, ObjectSpace.each_object(Thread).count
      RUBY
    end
  end

  # Each in a process of its own: MRI does not notice a second one.
  def test_deadlock_is_still_one
    ["Queue.new.pop", "Thread.new { Queue.new.pop }.join", "Mutex.new.lock.then { |m| Thread.new { m.lock }.join }",
     "Thread.new { Thread.stop }.value"].each do |script|
      in_directory do
        ran = run_ruby("--disable-gems", "-e", "sleep 0.01 until Dir.glob('*.pb.gz').any?; #{script}", heapprof: "every=0.1,signal=URG")
        assert_match(/No live threads left. Deadlock\? \(fatal\)/, ran.err)
        assert_operator files.size, :>=, 2
      end
    end
  end

  # What a thread of Ruby does in the meantime allocates the same each time, with files and without; what ours asks for does not count.
  def test_nothing_of_it_is_sampled
    %i[ruby all].each do |malloc|
      in_directory do
        ran = beside_bell(<<~RUBY) do |bell, input, out|
          profile = ObjectSpace::HeapProfile
          profile.start(interval: 1, malloc: :#{malloc}, every: 0.1)
          found = Array.new(8)
          step, go = "step\n", +" "
          puts "ready"
          i = 0
          while i < 8
            found[i] = profile.stat(:total_samples)
            $stdout.syswrite(step)
            $stdin.sysread(1, go)
            i += 1
          end
          puts found.each_cons(2).map { |a, b| b - a }.drop(2)
        RUBY
          8.times do |i|
            assert_equal "step\n", out.gets
            assert bell.ring(2) if i.odd?
            input.syswrite("x")
          end
        end
        assert_clean ran
        assert_equal [5, 1], [ran.out.lines.size, ran.out.lines.uniq.size], ran.out
        assert_operator numbers.last, :>=, 8
      end
    end
  end

  # ---- a process that works ----

  def test_files_are_whole_beside_snapshots_writes_gcs_and_exit
    in_directory do
      early = 0
      ran = beside(<<~'RUBY', heapprof: "every=0.1,keep=0,interval=256,signal=USR2") do |pid, input, _|
        class Item; end
        $kept = Array.new(2000) { Item.new }
        threads = [
          -> { ObjectSpace::HeapProfile.snapshot(owners: true, rss: true).write("mine.gz") },
          -> { ObjectSpace::HeapProfile.snapshot(gc: true, native_leaks: true) },
          -> { GC.start; GC.compact },
          -> { Array.new(1000) { Object.new } },
        ].map { |work| Thread.new { work.call while $go != false } }
        puts "ready"
        $stdin.read
        $go = false
        threads.each(&:join)
      RUBY
        early = numbers.last.to_i + 1 # one more may have begun before
        3.times do |i|
          Process.kill(:USR2, pid)
          wait_until { files.size > early + 2 * i + 2 }
        end
      end
      assert_clean ran
      assert_equal (1..files.size).to_a, numbers
      assert_whole(*files)
      files.drop(early).each { |path| assert_estimate 2000, read_profile(path).total(class_name: "Item"), 40, 256 }
    end
  end

  # Two Ractors run that body until they are told to end, and must return what is not false; meanwhile so many files are written.
  def assert_files_beside_ractors(count, body)
    in_directory do
      ran = beside(<<~RUBY, heapprof: "every=0.1,keep=0,interval=4k") do |_, input, _|
        Warning[:experimental] = false
        ractors = Array.new(2) { Ractor.new { #{body} } }
        feeder = Thread.new { loop { ractors.each { |r| r << :go }; sleep 0.001 } }
        puts "ready"
        $stdin.read
        feeder.kill.join
        ractors.each { |r| r << :end }
        p ractors.map(&:take).all?
      RUBY
        wait_until { files.size >= count }
        input.close
      end
      assert_equal ["true\n", ""], [ran.out, ran.err]
      assert_whole(*files)
    end
  end

  def test_ractors_that_run_while_the_main_one_waits
    assert_files_beside_ractors(4, "n = 0; until Ractor.receive_if { true } == :end do n += 100.times.map { Object.new }.size end; n > 0")
  end

  # Each GC of a Ractor stops the others; the thread that lends joins in that, never ours on its behalf.
  def test_ractors_that_stop_each_other
    assert_files_beside_ractors(6, "GC.start until Ractor.receive_if { true } == :end; true")
  end

  # One file a call, and the profile is of the moment after it.
  def test_call_that_keeps_the_lock_is_waited_for
    in_directory do
      in_child(<<~'RUBY')
        HeapProfile.start(interval: 1, every: 0.1, keep: 0)
        sleep 0.01 until Dir.glob("*.pb.gz").any?
        5.times do
          before = Dir.glob("*.pb.gz").size
          # Backtracks without a look at interrupts for longer than a period, or sorts, whatever it takes.
          Array.new(300_000) { |i| -i }.sort
          sleep 0.01 until Dir.glob("*.pb.gz").size > before
        end
      RUBY
    end
  end

  # ---- signals ----

  def test_signal_has_a_file_written_and_does_nothing_else
    %w[USR1 USR2 HUP QUIT ALRM PROF WINCH URG IO PWR TTIN TTOU].each do |signal|
      in_directory do
        ran = beside("puts 'ready'; p $stdin.gets", heapprof: "signal=#{signal}") do |pid, input, _|
          2.times do |i|
            Process.kill(signal, pid)
            wait_until("#{signal}: no file") { files.size == i + 1 }
          end
          input.puts "go"
        end
        assert_clean ran, out: "\"go\\n\"\n"
        assert_equal [1, 2, 3], numbers
        assert_whole files.first if signal == "USR1"
      end
    end
  end

  def test_signals_in_a_burst_are_files_none_of_them_torn
    in_directory do
      ran = beside("puts 'ready'; $stdin.gets", heapprof: "signal=USR2,every=0.1,keep=0") do |pid, input, _|
        200.times { Process.kill(:USR2, pid) }
        wait_until { files.size >= 4 }
        input.puts
      end
      assert_clean ran
      assert_equal (1..files.size).to_a, numbers
      assert_whole(*files)
    end
  end

  def test_signal_that_the_program_traps_is_the_programs
    in_directory do
      in_child(<<~'RUBY')
        trap("USR1") { $handled = true }
        error = assert_raise(ArgumentError) { HeapProfile.start(signal: "USR1") }
        assert_equal "the program traps SIGUSR1 itself; expected a signal that it does not trap", error.message
        refute HeapProfile.running?
        Process.kill(:USR1, $$)
        sleep 0.01 until $handled
        trap("USR1", "DEFAULT")
        HeapProfile.start(signal: :SIGUSR1)
        Process.kill(:USR1, $$)
        sleep 0.01 until Dir.glob("*.pb.gz").size == 1
      RUBY
    end
  end

  def test_program_that_traps_the_signal_later_has_it_and_is_told_in_one_line
    in_directory do
      ran = beside(<<~'RUBY', heapprof: "signal=USR2") do |pid, _, out|
        trap("USR2") { $stdout.syswrite("mine\n") } # amid a puts, too
        $stderr.reopen("err", "w")
        puts "ready"
        sleep 0.01 until File.size?("err") # until it has been looked
      RUBY
        Process.kill(:USR2, pid)
        assert_equal "mine\n", out.gets
      end
      assert_clean ran
      assert_one_line(/signal: the program has a handler of its own for SIGUSR2 now, so the signal writes no profile any more/, File.read("err"))
      assert_equal [1], numbers # at exit
    end
  end

  def test_stop_gives_the_signal_back
    in_directory do
      in_child(<<~'RUBY')
        2.times do |i|
          HeapProfile.start(signal: "USR1")
          Process.kill(:USR1, $$)
          sleep 0.01 until Dir.glob("*.pb.gz").size == i + 1
          HeapProfile.stop
          error = assert_raise(SignalException) { Process.kill(:USR1, $$); sleep }
          assert_equal "SIGUSR1", error.message
        end
        HeapProfile.start(signal: "USR1")
        trap("USR1") { $handled = true }
        HeapProfile.stop
        Process.kill(:USR1, $$)
        sleep 0.01 until $handled
      RUBY
    end
  end

  # ---- settings ----

  def test_wrong_settings_are_one_line_and_the_program_runs
    {
      "every=0.01" => /every=0\.01: expected 0, or 0\.1 to 604800 seconds/,
      "every=soon" => /every=soon: expected seconds between two files/,
      "signal=INT" => /signal=INT: expected a signal that has a file written: USR1, /,
      "signal=KILL" => /signal=KILL: expected a signal/,
      "keep=-1" => /keep=-1: expected how many/,
      "every=1,out=nowhere/p.gz" => %r{cannot write .*/nowhere/p\.gz: No such file or directory},
    }.each do |settings, message|
      in_directory do
        ran = run_ruby("--disable-gems", "-e", "print 1; exit 3", heapprof: settings)
        assert_equal ["1", 3, []], [ran.out, ran.status.exitstatus, Dir.children(".")]
        assert_one_line(message, ran.err)
        assert_match(/\(running unprofiled\)$/, ran.err)
      end
    end
  end

  def test_wrong_options_are_refused_before_anything_starts
    in_directory do
      in_child(<<~'RUBY')
        {
          { every: 0.01 } => "every: out of range (expected 0, or 0.1 to 604800 seconds)",
          { every: -1 } => "every: out of range (expected 0, or 0.1 to 604800 seconds)",
          { every: 1e300 } => "every: out of range (expected 0, or 0.1 to 604800 seconds)",
          { every: Float::NAN } => "every: out of range (expected 0, or 0.1 to 604800 seconds)",
          { every: 1, keep: -1 } => "keep: out of range (expected 0 to 100000)",
          { every: 1, keep: 2**70 } => "keep: out of range (expected 0 to 100000)",
          { signal: "INT" } => 'signal: "INT" is none of these (expected USR1, USR2, HUP, QUIT, ALRM, PROF, WINCH, URG, IO, PWR, TTIN or TTOU)',
          { signal: :KILL } => "signal: :KILL is none of these (expected USR1, USR2, HUP, QUIT, ALRM, PROF, WINCH, URG, IO, PWR, TTIN or TTOU)",
          { out: "a" } => "out: needs every or signal",
          { every: 1, out: "" } => 'out: "" is no template',
          { every: 1, out: "%q" } => 'out: "%q" is no template',
          { every: 1, out: "a\0b" } => "path name contains null byte",
        }.each do |options, message|
          error = assert_raise(ArgumentError, options.inspect) { HeapProfile.start(**options) }
          assert_operator error.message, :start_with?, message
        end
        assert_raise(Errno::ENOENT) { HeapProfile.start(every: 1, out: "nowhere/a") }
        assert_raise(TypeError) { HeapProfile.start(every: "1") }
        assert_raise(TypeError) { HeapProfile.start(signal: 10) }
        refute HeapProfile.running?
        assert_empty Dir.children(".")
      RUBY
    end
  end

  def test_what_cannot_be_written_is_said_once_until_it_can
    in_directory do
      Dir.mkdir("gone")
      ran = beside_bell("$stderr.reopen('err', 'w'); puts 'ready'; $stdin.gets", heapprof: "every=0.1,out=gone/%n.gz") do |bell, input, _|
        assert bell.ring
        refute_empty files("gone/*")
        FileUtils.rm_r("gone")
        assert bell.ring(3) # it fails each time
        Dir.mkdir("gone")
        assert bell.ring
        refute_empty files("gone/*")
        input.puts
      end
      assert_clean ran
      assert_one_line(%r{the profile was not written: cannot write .*/gone/\d+\.gz: No such file or directory}, File.read("err"))
    end
  end

  def test_pipe_is_not_written_to
    in_directory do
      File.mkfifo("pipe")
      pipe = File.open("pipe", File::RDONLY | File::NONBLOCK | File::BINARY)
      ran = beside(<<~'RUBY') do |_, input, _|
        $stderr.reopen("err", "w")
        ObjectSpace::HeapProfile.start(every: 0.1, out: "pipe")
        puts "ready"
        $stdin.gets
      RUBY
        wait_until { File.size?("err") }
        input.puts
      end
      assert_clean ran
      assert_one_line(/cannot write .*pipe: it is not a regular file, which every= and signal= need/, File.read("err"))
      assert_empty pipe.read
      pipe.close
    end
  end

  # ---- files ----

  # The rest of the rule is series_test's.
  def test_the_first_file_is_kept_and_the_last_and_so_many_in_all
    in_directory do
      write_file("heapprof-1-1.pb.gz", "somebody else's")
      pid = nil
      ran = beside("puts 'ready'; $stdin.gets", heapprof: "every=0.1,keep=3") do |child, input, _|
        pid = child
        wait_until { numbers("heapprof-#{pid}-*").last.to_i >= 6 }
        input.puts
      end
      assert_clean ran
      kept = numbers("heapprof-#{pid}-*")
      assert_equal [3, 1], [kept.size, kept.min]
      assert_operator kept.max, :>, 6 # that of the end
      assert_equal "somebody else's", File.read("heapprof-1-1.pb.gz")
      assert_whole(*files("heapprof-#{pid}-*"))
    end
  end

  # The leak of issue 27: of its 58 MB the ten newest files show a third.
  def test_a_difference_of_a_thinned_series_is_the_whole_growth
    in_directory do
      ran = beside(<<~'RUBY', heapprof: "every=0.1,keep=3,interval=1") do |_, input, out|
        class Leak < String; end
        kept = []
        puts "ready"
        while $stdin.gets
          2000.times { kept << Leak.new("x" * 1000) }
          puts kept.size
        end
      RUBY
        wait_until { files.any? }
        6.times do
          input.puts
          out.gets
          count = numbers.last
          wait_until { numbers.last > count }
        end
      end
      assert_clean ran
      first, *, last = files.map { |path| read_profile(path).total(class_name: "Leak") }
      assert_equal 12_000, last - first
    end
  end

  def test_name_without_a_number_is_always_the_newest
    in_directory do
      ran = beside("puts 'ready'; $stdin.gets; $kept = Array.new(50) { Class.new }; $stdin.gets", heapprof: "every=0.1,out=p.pb.gz,interval=1") do |_, input, _|
        wait_until { files.any? }
        before = read_profile("p.pb.gz").total(class_name: "Class")
        input.puts
        wait_until { read_profile("p.pb.gz").total(class_name: "Class") >= before + 50 }
        input.puts
      end
      assert_clean ran
      assert_equal %w[p.pb.gz script.rb], Dir.children(".").sort
    end
  end

  def test_files_of_start_are_relative_to_where_it_was_called
    in_directory do
      Dir.mkdir("a")
      in_child(<<~'RUBY')
        Dir.chdir("a") { HeapProfile.start(every: 0.1, out: "%e-%n.gz", keep: 2) }
        last = ->(files) { files.map { |file| file[/-(\d+)\.gz\z/, 1].to_i }.max.to_i } # earlier ones may be gone
        # A file is there before the oldest goes, and stop waits for neither; right after both, the next is a tenth of a second away.
        sleep 0.01 until (files = Dir.glob("a/*")).size <= 2 && last.(files) >= 3
        HeapProfile.stop
        stopped = Dir.glob("a/*")
        assert_operator stopped.size, :<=, 2
        HeapProfile.start(every: 0.1, out: "b-%n.gz", keep: 1)
        sleep 0.01 until last.(Dir.glob("b-*")) >= 2
        assert_operator Dir.glob("a/*").size, :>=, 1 # of another run: they stay
      RUBY
    end
  end

  def test_start_and_stop_in_any_order
    in_directory do
      in_child(<<~'RUBY')
        30.times do |i|
          HeapProfile.start(interval: 64, every: 0.1, signal: "URG", keep: 0)
          Array.new(1000) { Object.new }
          Process.kill(:URG, $$)
          sleep 0.005 * (i % 5)
          HeapProfile.stop
        end
        HeapProfile.start(every: 0.1, keep: 0)
        before = Dir.glob("*.pb.gz").size
        sleep 0.01 until Dir.glob("*.pb.gz").size > before
        HeapProfile.stop
      RUBY
      assert_whole(*files.last(3))
    end
  end

  # ---- processes ----

  def test_children_have_a_timer_and_files_of_their_own
    in_directory do
      ran = beside(<<~'RUBY', heapprof: "every=0.1,keep=2,interval=4k") do |pid, input, out|
        class Early; end
        class Late; end
        $early = Array.new(5000) { Early.new }
        children = Array.new(3) { fork { $late = Array.new(5000) { Late.new }; $stdin.read } }
        puts "ready", children.join(" ")
        $stdin.read
        children.each { |child| Process.wait(child) }
      RUBY
        children = out.gets.split.map(&:to_i)
        all = [pid, *children]
        wait_until { all.all? { |one| numbers("heapprof-#{one}-*").last.to_i >= 4 } }
        newest = numbers("heapprof-#{children.last}-*").last
        wait_until { numbers("heapprof-#{children.last}-*").then { _1.size == 2 && _1.last > newest } } # the oldest has gone
        Process.kill(:KILL, children.last)
        assert_operator files("heapprof-#{children.last}-*").size, :>=, 1
      end
      assert_clean ran
      pids = files.map { |path| path[/heapprof-(\d+)/, 1] }
      assert_equal [2], pids.tally.values.uniq
      assert_equal 4, pids.uniq.size
      assert_whole(*files)
    end
  end

  def test_child_of_a_template_without_a_pid_writes_beside_its_parent_and_says_so
    ["every=0.1,out=p-%n.gz,keep=1", "out=p.gz"].each do |settings|
      in_directory do
        pid = child = nil
        ran = beside(<<~'RUBY', heapprof: settings) do |parent, input, out|
          child = fork { $stdin.read }
          puts "ready", child
          $stdin.read
          Process.wait(child)
        RUBY
          pid = parent
          child = out.gets.to_i
          wait_until { files("p-[0-9]*.gz").size >= 2 } if settings.start_with?("every")
        end
        assert_one_line(/out= has no %p: this forked process writes .*-#{child}\.gz instead/, ran.err)
        found = files("p*.gz").group_by { |path| path.include?("-#{child}.") }
        assert_equal [1, 1], [found[true].size, found[false].size]
        assert_whole(*files("p*.gz"))
      end
    end
  end

  # It had one for nothing.
  def test_a_child_has_no_thread_of_ours_after_a_stop
    in_directory do |directory|
      in_child(<<~RUBY)
        tasks = lambda do
          child = fork { 1000.times { Thread.pass }; exit!(Dir.children("/proc/self/task").size) }
          Process.wait2(child)[1].exitstatus
        end
        before = tasks.()
        HeapProfile.start(every: 60, out: "#{directory}/%n.pb.gz")
        assert_equal before + 1, tasks.()
        HeapProfile.stop
        assert_equal before, tasks.()
      RUBY
    end
  end

  def test_forks_while_files_are_written
    in_directory do
      in_child(<<~'RUBY')
        HeapProfile.start(interval: 64, every: 0.1, signal: "URG", keep: 1)
        $kept = Array.new(20_000) { Object.new }
        40.times do |i|
          Process.kill(:URG, $$)
          sleep 0.002 * (i % 7)
          pid = fork do
            $more = Array.new(10) { Object.new }
            if i % 4 == 0
              sleep 0.01 until Dir.glob("heapprof-#{$$}-*").any?
              exit!(0)
            end
            HeapProfile.stop if i.odd?
          end
          assert Process.wait2(pid)[1].success?
        end
      RUBY
      assert_whole(*files.last(3))
    end
  end

  def test_worker_that_is_killed_has_left_its_last_file
    in_directory do
      ran = beside("class Item; end; $kept = Array.new(100) { Item.new }; puts 'ready'; sleep", heapprof: "every=0.1,interval=1") do |pid, _, _|
        early = numbers.last.to_i
        wait_until { numbers.last.to_i >= early + 2 }
        Process.kill(:KILL, pid)
      end
      assert_equal Signal.list["KILL"], ran.status.termsig
      assert_equal 100, read_profile(files.last).total(class_name: "Item")
    end
  end

  def test_daemon_goes_on_writing
    in_directory do
      ran = run_ruby("--disable-gems", "-e", <<~'RUBY', heapprof: "every=0.1,keep=0")
        Process.daemon(true)
        File.write("pid", $$)
        sleep 0.01 until File.exist?("end")
      RUBY
      assert_clean ran
      pid = wait_until { File.size?("pid") && File.read("pid") }
      wait_until { files("heapprof-#{pid}-*").size >= 3 }
      File.write("end", "")
      wait_until { !File.exist?("/proc/#{pid}") }
      assert_whole(*files("heapprof-#{pid}-*"))
    end
  end

  def test_exec_is_another_program_with_files_of_its_own
    in_directory do
      ran = beside(<<~RUBY, heapprof: "every=0.1,signal=URG,keep=0") do |_, input, _|
        unless ARGV[0]
          sleep 0.01 until Dir.glob("*.pb.gz").size >= 2
          exec(#{EnvUtil.rubybin.dump}, "--disable-gems", __FILE__, "again")
        end
        puts "ready"
        $stdin.read
      RUBY
        count = files.size
        assert_operator count, :>=, 2
        wait_until { files.size > count + 1 }
      end
      assert_clean ran
      assert_equal (1..files.size).to_a, numbers # none was replaced
    end
  end

  # Wherever it ends, what is there is whole; and what ends by itself has left a file of that moment.
  def test_exit_amid_a_write
    in_directory do
      10.times do |i|
        ran = run_ruby("--disable-gems", "-e", <<~RUBY, heapprof: "signal=USR2,interval=64")
          class Item; end
          $kept = Array.new(3000) { Item.new }
          Process.kill(:USR2, $$)
          sleep #{0.003 * i}
        RUBY
        assert_clean ran
      end
      assert_operator files.size, :>=, 10
      assert_whole(*files.last(4))
    end
  end

  def test_what_the_files_have_besides
    in_directory do
      in_child(<<~'RUBY')
        written = lambda do |**with|
          file = "f#{with.keys.first}.pb.gz"
          HeapProfile.start(interval: 1, every: 0.1, keep: 1, out: file, **with)
          kept = Array.new(100) { "x" * 1000 }
          sleep 0.01 until File.exist?(file)
          HeapProfile.stop
          profile = HeapProfile.load(file)
          kept.clear
          [profile.any?(&:owner), profile.any? { |row| row.kind == :rss }]
        end
        assert_equal [true, true], written.call
        assert_equal [false, true], written.call(owners: false)
        assert_equal [true, false], written.call(rss: nil)
      RUBY
    end
  end
end
