# frozen_string_literal: true

# test_signal.rb - signals while a profile is taken or written: handlers may use the profiler
# themselves, no system call that a signal interrupts costs a profile, a process that is to end
# ends, and a file is whole or not there.

require_relative "lib/heapprof_test"

class TestHeapProfSignal < Test::Unit::TestCase
  include HeapProfTest

  # So many sites, whose paths do not compress: a profile several times as large as what a pipe holds.
  SITES = 2000
  LARGE = <<~'RUBY'
    class Item; end
    RANDOM = Random.new(1)
    def large(count) = Array.new(count) { |i| eval("[Item.new]", nil, "/#{RANDOM.bytes(100).unpack1('H*')}.rb", i + 1) }
  RUBY

  # ---- handlers that use the profiler ----

  # A thread that sends so many signals, each when the one before has been handled; it runs whenever
  # the main thread gives up the GVL, as each write does.
  SENDER = LARGE + <<~'RUBY'
    $handled = 0
    def sender(count, *signals)
      Thread.new do
        count.times do |i|
          Process.kill(signals[i % signals.size], $$)
          sleep 0.001 while $handled <= i
        end
      end
    end
  RUBY

  def test_handlers_snapshot_write_and_ask_for_stacks_while_another_write_goes_on
    in_directory do
      in_child(SENDER + <<~'RUBY')
        HeapProfile.start(interval: 1)
        kept = large(500)
        trap(:USR1) do
          mine = Item.new
          assert_equal "Class#new", HeapProfile.allocation_stack(mine).first.label
          assert_operator HeapProfile.snapshot(gc: $handled % 5 == 0).write("handler.gz"), :>, 1000
          HeapProfile.stat
          $handled += 1
        end
        profile = HeapProfile.snapshot
        thread = sender(30, :USR1)
        assert_operator profile.write("main.gz"), :>, 1000 while thread.alive?
        assert_equal 30, $handled
        assert_equal kept.size + 30, total(HeapProfile.snapshot, :alloc_objects, class_name: "Item")
        assert_equal %w[handler.gz main.gz], Dir.children(".").sort
      RUBY
      %w[handler.gz main.gz].each { |file| assert_operator read_profile(file).total(class_name: "Item"), :>=, 500 }
    end
  end

  def test_handlers_that_stop_and_start_the_profiler_while_a_snapshot_is_written
    in_directory do
      in_child(SENDER + <<~'RUBY')
        HeapProfile.start(interval: 1)
        $kept = large(500)
        profile = HeapProfile.snapshot
        trap(:USR1) { ($handled += 1).odd? ? HeapProfile.stop : HeapProfile.start(interval: 1) }
        thread = sender(30, :USR1)
        sizes = []
        sizes << profile.write("main.gz") while thread.alive?
        assert_equal [1, 30], [sizes.uniq.size, $handled]
      RUBY
      assert_equal 500, read_profile("main.gz").total(class_name: "Item")
    end
  end

  def test_objects_are_exact_when_handlers_come_between
    in_child(SENDER + <<~'RUBY', env: { "RUBY_THREAD_TIMESLICE" => "1" })
      class Handled; end
      def work = Item.new
      HeapProfile.start(interval: 1)
      worked = 0
      trap(:USR1) { Handled.new; HeapProfile.snapshot if $handled % 10 == 0; $handled += 1 }
      trap(:USR2) { Handled.new; GC.start if $handled % 10 == 0; $handled += 1 }
      thread = sender(scaled(300), :USR1, :USR2)
      (work; worked += 1) while thread.alive?
      profile = HeapProfile.snapshot
      assert_equal [worked, $handled], %w[Item Handled].map { |name| total(profile, :alloc_objects, class_name: name) }
      assert_equal scaled(300), $handled
    RUBY
  end

  def test_interrupt_of_a_write_is_raised_and_leaves_a_whole_file_or_none
    in_directory do
      in_child(LARGE + <<~'RUBY')
        HeapProfile.start(interval: 1)
        $kept = large(500)
        profile = HeapProfile.snapshot
        interrupted = 0
        while interrupted < 10
          File.delete("p.gz") if File.exist?("p.gz")
          sender = Thread.new { Process.kill(:INT, $$) }
          begin
            50.times { profile.write("p.gz") }
            sleep
          rescue Interrupt
            interrupted += 1
          end
          sender.join
          assert_empty Dir.children(".") - ["p.gz"]
          assert_equal profile.write("whole.gz"), File.size("p.gz") if File.exist?("p.gz")
          File.delete("whole.gz") if File.exist?("whole.gz")
        end
      RUBY
    end
  end

  # ---- a pipe whose reader lets us wait ----

  # Runs the script; its last line is to write to the pipe. Yields when it waits there. With settings
  # it is the file of the exit, which waits for no reader: the pipe is open, then, and yielded, too.
  def at_pipe(script, settings: nil)
    in_directory do
      File.mkfifo("pipe")
      pipe = File.open("pipe", File::RDONLY | File::NONBLOCK | File::BINARY) if settings
      path = write_file("script.rb", LARGE + "HeapProfile = ObjectSpace::HeapProfile\n" + script)
      env = clean("RUBY_HEAPPROF" => settings)
      Open3.popen3(env, EnvUtil.rubybin, "--disable-gems", path) do |stdin, out, err, process|
        assert_equal "ready\n", out.gets
        wait_until_blocked(process.pid)
        yield process.pid, pipe
        output = Timeout.timeout(TIMEOUT) { [out.read, err.read] }
        return Ran.new(*output, process.value)
      ensure
        Process.kill(:KILL, process.pid) if process.alive?
        pipe&.close
      end
    end
  end

  # It has nothing to do but to wait for us.
  def wait_until_blocked(pid)
    asleep = 0
    while asleep < 5
      asleep = File.read("/proc/#{pid}/task/#{pid}/stat")[/\) (\w)/, 1] == "S" ? asleep + 1 : 0
      sleep 0.01
    end
  end

  # Not for ever, if nobody writes.
  def read_pipe = Timeout.timeout(TIMEOUT / 4) { File.binread("pipe") }

  # Or one that opens the pipe and does not read.
  def with_reader(reader) = reader ? File.open("pipe", "rb") { yield } : yield

  def send_signal(signal, pid, times)
    times.times do
      Process.kill(signal, pid)
      sleep 0.005
    end
  rescue Errno::ESRCH
    nil # it has ended
  end

  WRITE = <<~'RUBY'
    HeapProfile.start(interval: 1)
    kept = large(2000)
    profile = HeapProfile.snapshot
    trap(:USR1) { $handled = true }
    $stdout.sync = true
    puts "ready"
    begin
      p profile.write("pipe")
    rescue Interrupt, SystemCallError => e
      p e.class
    end
  RUBY

  def test_write_waits_for_a_reader_whatever_signals_come
    size = nil
    ran = at_pipe(WRITE) do |pid|
      send_signal(:USR1, pid, 10)
      size = read_pipe.bytesize
    end
    assert_clean ran, out: "#{size}\n"
  end

  def test_write_goes_on_whatever_signals_come_while_the_pipe_is_full
    size = nil
    ran = at_pipe(WRITE) do |pid|
      File.open("pipe", "rb") do |pipe|
        wait_until_blocked(pid)
        send_signal(:USR1, pid, 10)
        size = pipe.read.bytesize
      end
    end
    assert_clean ran, out: "#{size}\n"
    assert_operator size, :>, 1 << 16, "no more than a pipe holds"
  end

  def test_write_that_waits_can_be_interrupted
    [false, true].each do |reader|
      ran = at_pipe(WRITE) do |pid|
        with_reader(reader) do
          wait_until_blocked(pid)
          Process.kill(:INT, pid)
          assert_ends(pid)
        end
      end
      assert_equal ["Interrupt\n", true], [ran.out, ran.status.success?], ran.err
    end
  end

  def test_thread_that_waits_in_a_write_can_be_killed_raised_into_and_timed_out
    in_directory do
      in_child(LARGE + <<~'RUBY')
        require "timeout"
        HeapProfile.start(interval: 1)
        $kept = large(1000)
        profile = HeapProfile.snapshot
        File.mkfifo("pipe")
        waiting = lambda do
          thread = Thread.new { Thread.current.report_on_exception = false; profile.write("pipe") }
          Thread.pass until thread.stop?
          thread
        end
        assert_equal false, waiting.call.kill.join.status
        assert_raise(IOError) { waiting.call.tap { |thread| thread.raise(IOError) }.join }
        assert_raise(Timeout::Error) { Timeout.timeout(0.05) { profile.write("pipe") } }
        waiting.call # and a process whose thread waits can end
      RUBY
    end
  end

  # ---- the exit flush ----

  KEPT = "kept = large(2000)\ntrap(:USR1) {}\n$stdout.sync = true\n" \
         "at_exit { puts 'ready' }\n"

  def test_exit_flush_waits_for_no_reader
    in_directory do
      File.mkfifo("pipe")
      ran = run_ruby("--disable-gems", "-e", "exit 3", heapprof: "out=pipe")
      assert_one_line(/cannot write .*pipe: no process reads this pipe/, ran.err)
      assert_equal [3, %w[pipe]], [ran.status.exitstatus, Dir.children(".")]
    end
  end

  def test_exit_flush_goes_on_whatever_signals_come_while_the_pipe_is_full
    bytes = nil
    ran = at_pipe(KEPT, settings: "interval=1,out=pipe") do |pid, pipe|
      send_signal(:USR1, pid, 10)
      bytes = pipe.read
    end
    assert_clean ran
    assert_whole bytes
  end

  def test_exit_flush_that_waits_ends_when_the_process_is_to_end
    %i[TERM INT HUP].each do |signal|
      ran = at_pipe(KEPT, settings: "interval=1,out=pipe") do |pid|
        Process.kill(signal, pid)
        assert_ends(pid)
      end
      assert_one_line(/the profile was not written: cannot write .*pipe: /, ran.err)
    end
  end

  # Wherever it is caught, at exit or before, there is a whole file or one line, and no other file.
  def test_process_that_is_terminated_while_it_flushes_leaves_a_whole_file_or_one_line
    in_directory do
      path = write_file("script.rb", LARGE + KEPT)
      6.times do |i|
        env = clean("RUBY_HEAPPROF" => "interval=1,out=p.pb.gz")
        out, err, status = Open3.popen3(env, EnvUtil.rubybin, "--disable-gems", path) do |_, output, error, process|
          assert_equal "ready\n", output.gets
          sleep i * 0.008
          send_signal(:TERM, process.pid, 1 + i % 2)
          [output.read, error.read, process.value]
        end
        assert_include [0, nil], status.exitstatus, err
        assert_include [nil, Signal.list["TERM"]], status.termsig, err
        files = Dir.children(".") - ["script.rb"]
        if files.empty?
          assert_one_line(/the profile was not written/, err) unless status.termsig
        else
          assert_equal [["p.pb.gz"], ""], [files, err]
          assert_whole File.binread("p.pb.gz")
          File.delete("p.pb.gz")
        end
      end
    end
  end

  def assert_ends(pid)
    1000.times do
      return if File.read("/proc/#{pid}/stat")[/\) (\w)/, 1] == "Z"
      sleep 0.01
    end
    flunk "it does not end"
  rescue Errno::ENOENT, Errno::ESRCH
    nil # it has ended and been waited for
  end

  def assert_whole(bytes)
    Dir.mktmpdir do |directory|
      File.binwrite("#{directory}/p.pb.gz", bytes)
      assert_equal SITES, read_profile("#{directory}/p.pb.gz").total(class_name: "Item")
    end
  end
end
