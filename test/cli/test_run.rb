# frozen_string_literal: true
#
# test_run.rb - heapprof run: the environment, signals, the end, and what is said then.

require_relative "lib/heapprof_command"

class TestHeapprofRun < Test::Unit::TestCase
  include HeapprofCommand

  RUBY = [EnvUtil.rubybin, "--disable-gems"]

  def setup
    out = EnvUtil.invoke_ruby(["--disable-gems", "-e", "p ObjectSpace::HeapProfile"], "", true).first
    assert_match "ObjectSpace::HeapProfile", out
  end

  def test_the_command_is_profiled_and_what_is_on_top_is_said
    in_directory do
      ran = run_profiled("--interval", "512", "--", *RUBY, "-e", "A = Array.new(10_000) { |i| i.to_s * 20 }; puts STDIN.read", stdin: "hello")
      assert_equal ["hello\n", 0], [ran.out, ran.status]
      file, = Dir["heapprof-*.pb.gz"]
      assert_match(/\Aheapprof run: wrote #{file}\n\n#{file}: inuse_space .*-e:1:in 'String#\*'/m, ran.err)
      assert_match(/^holds/, heapprof!("info", file).out)
      assert_includes heapprof!("info", file, "--json").json["comments"], "interval: 512 bytes"
    end
  end

  def test_profiles_of_all_processes_are_added_up
    in_directory do
      ran = run_profiled("--output=worker-%p.pb.gz", *RUBY, "-e", "2.times { fork { } }; Process.waitall")
      assert_equal 3, Dir["worker-*.pb.gz"].size
      assert_equal 3, ran.err.scan(/^heapprof run: wrote worker-\d+\.pb\.gz$/).size
      assert_match "3 files added up: inuse_space ", ran.err
    end
  end

  def test_of_a_process_with_several_profiles_the_last_counts
    in_directory do
      script = '3.times { |i| ObjectSpace::HeapProfile.snapshot.write("p-#{i}.pb.gz") }; File.unlink("p-1.pb.gz")'
      ran = run_profiled("--output=p-%p.pb.gz", *RUBY, "-e", script)
      assert_match(/\Aheapprof run: process (\d+) wrote 3 files: p-0\.pb\.gz to p-\1\.pb\.gz\n\n/, ran.err)
      assert_match(/^p-0\.pb\.gz, p-2\.pb\.gz to p-\d+\.pb\.gz: inuse_space /, ran.err)
    end
  end

  # Two processes write again and again, and keep more each time. Their parent has a single file.
  GROWING = <<~'RUBY'
    LEAK = []
    work = -> do
      ObjectSpace::HeapProfile.snapshot.write("w-#{$$}-0.pb.gz")
      2.times do |i|
        20_000.times { LEAK << "x" * 100 }
        ObjectSpace::HeapProfile.snapshot.write("w-#{$$}-#{i + 1}.pb.gz")
      end
    end
    2.times { fork(&work) }
    Process.waitall
  RUBY

  def test_of_processes_with_several_profiles_it_is_shown_what_grew
    in_directory do
      File.write("leak.rb", GROWING)
      ran = run_profiled("--output=w-%p.pb.gz", "--interval=4096", *RUBY, "leak.rb")
      assert_equal 0, ran.status
      told = ran.err.lines.take_while { |line| line.start_with?("heapprof run: ") }
      assert_equal [2, 1], [told.grep(/process \d+ wrote 4 files: w-\d+-0\.pb\.gz to w-/).size, told.grep(/ wrote w-\d+\.pb\.gz$/).size]
      assert_equal 3, told.size
      assert_match(/^2 processes, 8 files: inuse_space grew by/, ran.err)
      assert_match(/^by line of the application.*\n.*\nkept growing:\n.*leak\.rb:5/, ran.err)
    end
  end

  def test_what_was_there_before_is_not_said
    in_directory do
      write("heapprof-1.pb.gz", shop)
      File.utime(0, 0, "heapprof-1.pb.gz")
      ran = run_profiled(*RUBY, "-e", "")
      assert_equal 1, ran.err.scan(/wrote/).size
      refute_match "heapprof-1.pb.gz", ran.err
    end
  end

  def test_settings_are_put_behind_those_of_the_environment
    echo = ["sh", "-c", "echo $RUBY_HEAPPROF"]
    { nil => "1,interval=auto\n", "0" => "1,interval=auto\n", "depth=9" => "depth=9,interval=auto\n",
      "depth=9,interval=64k" => "depth=9,interval=64k\n", "malloc_interval=64k" => "malloc_interval=64k,interval=auto\n" }.each do |before, after|
      assert_equal after, heapprof!("run", "-q", *echo, env: { "RUBY_HEAPPROF" => before }).out
    end
    assert_equal "depth=9,interval=64k,malloc=all,every=60,signal=USR2,keep=3\n",
                 heapprof!("run", "-q", "--interval=64k", "--malloc", "all", "--every=60", "--signal=USR2", "--keep=3", *echo,
                           env: { "RUBY_HEAPPROF" => "depth=9" }).out
    assert_refused 2, /--output=a,b: has a comma/, "run", "--output=a,b", *echo
    assert_refused 2, /--malloc=some: give one of: ruby all/, "run", "--malloc=some", *echo
  end

  # The ruby would say so, and run without the profiler.
  def test_what_the_ruby_would_refuse_is_refused_before_the_command_runs
    in_directory do
      { "--interval=abc" => /interval=abc: expected bytes between samples/, "--every=0.001" => /every=0.001: expected 0, or 0.1 to/,
        "--signal=USR7" => /signal=USR7: expected a signal/, "--keep=x" => /keep=x: expected how many/,
        "--output=none/x" => %r{none/x: No such file} }.each do |option, line|
        assert_refused 2, /\Aheapprof run: #{line}/, "run", option, "sh", "-c", "echo ran"
      end
      assert_refused 2, /nonsense=1: no such key/, "run", "sh", "-c", "echo ran", env: { "RUBY_HEAPPROF" => "nonsense=1" }
      assert_equal "ran\n", heapprof!("run", "-q", "--output=%p/x", "sh", "-c", "echo ran").out
    end
  end

  def test_statuses_and_signals_pass_through
    [0, 1, 42, 255].each { |status| assert_equal status, run_quietly("exit #{status}").exitstatus }
    %w[TERM INT KILL USR1 SEGV PIPE].each do |signal|
      assert_equal Signal.list[signal], run_quietly("kill -#{signal} $$").termsig, signal
    end
  end

  def test_signals_that_heapprof_gets_the_command_gets
    %w[TERM INT HUP USR1 QUIT].each do |signal|
      reader, writer = IO.pipe
      pid = spawn(ENVIRONMENT, PROGRAM, "run", "-q", *RUBY, "-e", <<~RUBY, out: writer)
        trap("#{signal}") { STDOUT.syswrite("#{signal}\n"); exit! 7 }
        STDOUT.syswrite("ready\n")
        sleep
      RUBY
      writer.close
      assert_equal "ready\n", reader.gets
      Process.kill(signal, pid)
      assert_equal "#{signal}\n", reader.gets
      assert_equal 7, Process.wait2(pid).last.exitstatus
    ensure
      reader.close
    end
  end

  def test_options_end_at_the_command
    assert_equal "--json -n 5 --\n", heapprof!("run", "-q", "echo", "--json", "-n", "5", "--").out
    assert_equal "-q\n", heapprof!("run", "-q", "--", "echo", "-q").out
  end

  def test_what_cannot_be_run
    in_directory do
      assert_refused 127, /\Aheapprof run: \.\/none: No such file or directory\n/, "run", "./none"
      write("text", "hello")
      assert_refused 126, /\Aheapprof run: \.\/text: Permission denied\n/, "run", "./text"
      assert_refused 2, /COMMAND is missing/, "run"
      assert_refused 2, /COMMAND is missing/, "run", "--"
      assert_refused 0, /no profile was written: is true run by a ruby that has the heap profiler\?/, "run", "true"
    end
  end

  private

  def run_profiled(*arguments, **options) = heapprof("run", *arguments, **options)

  def run_quietly(script)
    _, _, status = Open3.capture3(ENVIRONMENT, PROGRAM, "run", "-q", "sh", "-c", script)
    status
  end
end
