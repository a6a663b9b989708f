# frozen_string_literal: true
#
# test_stacks.rb - heapprof stacks: every thread's backtrace as MRI has it, and what each thread is doing.

require_relative "lib/attached"

class TestHeapprofStacks < Test::Unit::TestCase
  include Attached

  FIXTURE = File.expand_path("../ruby/lib/frames_fixture.rb", __dir__)
  FILES = {
    "loaded.rb" => "Here.mark\ndef from_loaded = Here.mark\nfrom_loaded\n[1].each { Here.mark }\n",
    "required.rb" => "Here.mark\nrequire_relative 'deeper'\n",
    "deeper.rb" => "module Deeper\n  [1].each { Here.mark }\nend\n",
    "autoloaded.rb" => "module Autoloaded\n  Here.mark\n  def self.mark = Here.mark\nend\n",
    "required_too.rb" => "",
  }.freeze

  def assert_fixture_agrees(*arguments)
    in_directory do |directory|
      FILES.each { |name, text| File.write(name, text) }
      env = { "FIXTURE_FILES" => directory, "HEAPPROF_PROGRAM" => PROGRAM,
              "FIXTURE_HERE" => File.join(__dir__, "lib/frames_outside.rb") }
      out, err, status = EnvUtil.invoke_ruby([env, "--disable-gems", *arguments, FIXTURE], "", true, true, timeout: 120)
      assert_equal ["", true], [err, status.success?]
      assert_match(/\A2\d\d stacks compared\n\z/, out)
    end
  end

  def test_stacks_are_those_of_mris_backtraces
    assert_fixture_agrees
  end

  def test_stacks_are_those_of_mris_backtraces_by_the_other_parser
    assert_fixture_agrees("--parser=parse.y")
  end

  def test_stacks_are_those_of_mris_backtraces_under_yjit
    omit "no YJIT" unless RbConfig::CONFIG["YJIT_SUPPORT"] != "no"
    assert_fixture_agrees("--yjit", "--yjit-call-threshold=1")
  end

  WAITING = <<~'RUBY'
    def spin = loop { 1 + 1 }
    lock = Mutex.new.tap(&:lock)
    pipe = IO.pipe
    Thread.new { sleep }.name = "sleeps"
    Thread.new { Queue.new.pop }.name = "pops"
    Thread.new { lock.lock }.name = "locks"
    Thread.new { pipe[0].read }.name = "reads"
    Thread.new { Thread.new { sleep }.join }.name = "joins"
    Thread.pass until Thread.list.count { |thread| thread.status == "sleep" } == 6
    $ready.call
    spin
  RUBY

  def test_each_thread_says_what_it_is_doing
    beside(WAITING) do |pid|
      all = threads(pid).to_h { |thread| [thread["name"], thread] }
      states = all.transform_values { |thread| thread["state"] }
      assert_equal %w[sleeping sleeping blocked sleeping], states.values_at("sleeps", "pops", "reads", "joins")
      assert_equal "waiting for a Mutex", states["locks"]
      assert_equal ["Kernel#sleep", "block in <main>"], labels(all["sleeps"])
      assert_equal ["Thread::Mutex#lock", "block in <main>"], labels(all["locks"])
      assert_equal ["IO#read", "block in <main>"], labels(all["reads"])
      native = all.values.map { |thread| thread["native_id"] }
      assert_equal native, native & Dir.children("/proc/#{pid}/task").map(&:to_i)
    end
  end

  def test_the_thread_with_the_gvl_runs
    beside(WAITING) do |pid|
      main = threads_until(pid) { |all| all.first["state"] == "running" }.first
      assert_equal pid, main["native_id"]
      assert_equal %w[Kernel#loop Object#spin <main>], labels(main).last(3)
    end
  end

  def test_as_text
    beside(WAITING) do |pid|
      text = heapprof!("stacks", pid).out
      assert_match(/\Aprocess #{pid}\nThread 1 \(main\): /, text)
      assert_equal ["Thread 1 (main)"], text.scan(/^Thread.*\(main\)/), "one thread is the main thread"
      assert_match(/^Thread \d "sleeps": sleeping, native thread \d+\n    -e:\d+:in 'Kernel#sleep'\n    -e:\d+:in 'block in <main>'\n/, text)
    end
  end

  # Its own frame comes first where a gem's is innermost.
  def test_a_thread_says_where_in_the_application_it_is
    in_directory do |directory|
      FileUtils.mkdir_p("gems/waits-1.0/lib")
      File.write("gems/waits-1.0/lib/waits.rb", "module Waits; def self.rest = sleep; end\n")
      beside(<<~RUBY) do |pid|
        require "#{directory}/gems/waits-1.0/lib/waits"
        def job = Waits.rest
        Thread.new { job }.name = "job"
        Thread.pass until Thread.list[1].status == "sleep"
        $ready.call
        sleep
      RUBY
        assert_match(/^Thread 2 "job": sleeping at -e:\d+ in 'Object#job', native thread \d+\n    .*waits.rb:1:in 'Kernel#sleep'\n/, heapprof!("stacks", pid).out)
        job = threads(pid).find { |thread| thread["name"] == "job" }
        assert_equal "Object#job", job["frames"][job["application_frame"]]["label"]
      end
    end
  end

  def test_ractors
    beside(<<~'RUBY', "-W0") do |pid|
      2.times { |i| Ractor.new(i, name: "worker #{i}") { |i| loop { i + 1 } } }
      $ready.call
      sleep
    RUBY
      all = threads_until(pid) { |found| found.size == 3 && found.last["frames"].any? }
      assert_equal [nil, "worker 0", "worker 1"], all.map { |thread| thread["ractor_name"] }
      assert_equal [1, 2, 3], all.map { |thread| thread["ractor"] }
      assert_equal "block (2 levels) in <main>", labels(all.last).find { |label| label.start_with?("block (2") }
    end
  end

  def test_fibers_that_do_not_run
    beside(<<~'RUBY') do |pid|
      def pause = Fiber.yield
      def work = pause
      suspended = Fiber.new { work }.tap(&:resume)
      ended = Fiber.new { 1 }.tap(&:resume)
      never = Fiber.new { 2 }
      def inner = ($ready.call; sleep)
      def outer = Fiber.new { inner }.resume
      Fiber.new { outer }.resume
    RUBY
      all = threads_until(pid, "--fibers") { |found| labels(found.first).first == "Kernel#sleep" }
      stacks = all.drop(1).map { |fiber| labels(fiber) }
      assert_equal ["suspended"], all.drop(1).map { |fiber| fiber["state"] }.uniq
      assert_includes stacks, ["Fiber.yield", "Object#pause", "Object#work", "block in <main>"]
      assert_includes stacks, ["Fiber#resume", "Object#outer", "block in <main>"]
      assert_includes stacks, ["Fiber#resume", "<main>"]
      assert_equal 3, stacks.size
      assert_equal 1, threads(pid).size
      assert_match(/^Fiber 1 of thread: suspended/, heapprof!("stacks", "--fibers", pid).out)
    end
  end

  # What a program may call things is anything, and a terminal must not obey it.
  def test_names_are_any_bytes
    beside(<<~'RUBY') do |pid|
      eval("def größer = ($ready.call; sleep)", nil, "\e]0;title\a.rb")
      Thread.current.name = "\u{1F600} \e[31m"
      größer
    RUBY
      all = threads_until(pid) { |found| labels(found.first).first == "Kernel#sleep" }
      assert_equal "\u{1F600} \e[31m", all.first["name"]
      assert_equal ["Kernel#sleep", "Object#größer", "<main>"], labels(all.first)
      assert_equal "\e]0;title\a.rb", all.first["frames"][1]["path"]
      text = heapprof!("stacks", pid).out
      refute_match(/[\e\a]/, text)
      assert_includes text, "'Object#größer'"
    end
  end

  def test_deep_stacks
    beside("def deep(n) = n == 0 ? ($ready.call; sleep) : deep(n - 1)\ndeep(9_000)") do |pid|
      all = threads_until(pid) { |found| labels(found.first).first == "Kernel#sleep" }
      assert_equal 9_001, labels(all.first).count("Object#deep")
    end
  end

  # The table of lines has three parts, by how far into the code a position is (attach/lines.c).
  def test_lines_of_long_methods
    sizes = [0, 1, 3, 10, 30, 100, 300, 1000, 10_000]
    beside(<<~RUBY) do |pid|
      #{sizes}.each do |size|
        eval("def long_\#{size}\\nx = 0\\n\#{%(x += 1\\n) * size}sleep\\nend\\n", nil, "long.rb", 1)
        Thread.new { send("long_\#{size}") }.tap { |thread| Thread.pass until thread.status == "sleep" }
      end
      $ready.call
      sleep
    RUBY
      frames = threads(pid).flat_map { |thread| thread["frames"].select { |frame| frame["label"].start_with?("Object#long") } }
      assert_equal sizes.to_h { |size| ["Object#long_#{size}", size + 3] }, frames.to_h { |frame| frame.values_at("label", "line") }
    end
  end

  def test_whoever_is_stopped_the_stacks_are_the_same
    beside("def wait = ($ready.call; sleep)\nwait") do |pid|
      expected = threads_until(pid) { |found| labels(found.first).first == "Kernel#sleep" }
      %w[auto always never].each { |whom| assert_equal expected, threads(pid, "--stop", whom), whom }
    end
  end

  def test_a_stopped_process_is_read_and_stays_stopped
    beside("$ready.call; loop { 1 + 1 }") do |pid|
      Process.kill(:STOP, pid)
      Process.wait(pid, Process::WUNTRACED)
      assert_equal ["<main>"], labels(threads(pid).first).last(1)
      assert_equal "process #{pid}, stopped", heapprof!("stacks", pid).out.lines.first.chomp
      assert_equal true, heapprof!("stacks", "--json", pid).json.first["stopped"]
      assert_equal "T", File.read("/proc/#{pid}/stat")[/\) (\w)/, 1]
    end
  end

  def test_a_core_has_them_too
    omit "gcore is not installed" unless system("which gcore", out: File::NULL)
    in_directory do
      beside(WAITING) do |pid|
        expected = threads(pid).drop(1)
        assert system("gcore", "-o", "core", pid.to_s, out: File::NULL, err: File::NULL)
        all = heapprof!("stacks", "--json", "--core", "core.#{pid}").json.first["threads"]
        assert_equal expected, all.drop(1)
        assert_equal "<main>", labels(all.first).last
        File.truncate("core.#{pid}", File.size("core.#{pid}") / 2)
        assert_operator heapprof("stacks", "--core", "core.#{pid}").status, :<=, 1
      end
      File.write("text", "no core")
      assert_refused 1, /text: /, "stacks", "--core", "text"
      assert_refused 1, /No such file|there is no such file/, "stacks", "--core", "nothing"
    end
  end

  def test_several_processes
    beside("$ready.call; sleep") do |one|
      beside("$ready.call; sleep") do |other|
        ran = heapprof("stacks", one, 0, other)
        assert_equal 1, ran.status
        assert_equal [one, other], ran.out.scan(/^process (\d+)$/).flatten.map(&:to_i)
        assert_equal 1, ran.err.lines.size
      end
    end
  end

  # ---- what is no Ruby that can be read ----

  def test_wrong_operands
    assert_refused 2, /PID is missing/, "stacks"
    assert_refused 2, /-1 is not an option/, "stacks", "-1"
    assert_refused 1, /no-such-name: no Ruby process that you may read has this name/, "stacks", "no-such-name"
    [0, 4194304, 1 << 200].each { |pid| assert_refused 1, /there is no such process/, "stacks", pid }
    assert_refused 1, /is not a ruby/, "stacks", Process.spawn("sleep", "60").tap { |pid| @other = pid }
  ensure
    Process.kill(:KILL, @other) if @other
    Process.wait(@other) if @other
  end

  def test_other_users_processes_are_refused_with_what_helps
    needs_other_users
    beside("$ready.call; sleep") do |pid|
      out, status = as_nobody { exec(PROGRAM, "stacks", pid.to_s) }
      assert_equal [1, 1], [status, out.lines.size]
      assert_match(/process #{pid}: not permitted: .*(root|CAP_SYS_PTRACE)/, out)
    end
  end

  private

  def as_nobody
    read, write = IO.pipe
    pid = fork do
      read.close
      $stdout.reopen(write)
      $stderr.reopen(write)
      Process::Sys.setgid(65534)
      Process::Sys.setuid(65534)
      yield
    end
    write.close
    out = read.read
    Process.wait(pid)
    read.close
    [out, $?.exitstatus]
  end
end
