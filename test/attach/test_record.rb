# frozen_string_literal: true
#
# test_record.rb - heapprof record: what is counted, in which formats, and how it ends.

require_relative "lib/attached"
require_relative "../cli/lib/firefox_profile"
require_relative "../cli/lib/flame_graph"

class TestHeapprofRecord < Test::Unit::TestCase
  include Attached

  COUNTS = /^heapprof record: ([\d,]+) looks? in [\d.]+ s \(([\d,]+) were due, ([\d,]+) came too late\); ([\d,]+) stacks?, ([\d,]+) read in part \(torn\), ([\d,]+) not read$/

  FLUTTER = <<~'RUBY'
    def leaf_a = nil
    def leaf_b = nil
    def hot_a = leaf_a
    def hot_b = leaf_b
    $ready.call
    while true
      hot_a
      hot_b
    end
  RUBY

  # Of so many looks, or of those that the block asks for (record_by_bell).
  def record(*arguments, looks: 100, running: nil, &block)
    ran = block ? record_by_bell(*arguments, &block) : record_looks(looks, *arguments, running: running)
    assert_equal 0, ran.status, ran.err
    assert_match COUNTS, ran.err
    ran
  end

  # Nobody ever sees leaf_b called by hot_a.
  def test_no_stack_is_impossible
    possible = [%w[<main>], %w[<main> Object#hot_a], %w[<main> Object#hot_b],
                %w[<main> Object#hot_a Object#leaf_a], %w[<main> Object#hot_b Object#leaf_b]]
    [[], ["--yjit"]].each do |jit|
      beside(FLUTTER, *jit) do |pid|
        %w[auto always].each do |whom|
          stacks = collapsed(record(pid, "--stop", whom, "--to=collapsed", looks: 500, running: pid).out)
          assert_empty stacks.keys.reject { |stack| stack.last == "IO#syswrite" } - possible
          assert_operator stacks.size, :>, 2
        end
      end
    end
  end

  # Without a stop a stack that changes is cut, and says so.
  def test_what_changes_is_torn
    beside(FLUTTER) do |pid|
      ran = record(pid, "--stop=never", "--to=collapsed", looks: 2000)
      stacks = collapsed(ran.out)
      total = stacks.values.sum
      wrong = [%w[Object#hot_a Object#leaf_b], %w[Object#hot_b Object#leaf_a]]
      impossible = stacks.sum { |stack, time| wrong.include?(stack.last(2)) ? time : 0 }
      assert_operator impossible, :<=, total / 200
      assert_equal stacks.any? { |stack, _| stack.last == "(torn)" }, ran.err[COUNTS, 5].to_i > 0
    end
  end

  THREADS = <<~'RUBY'
    def spin = loop { 1 + 1 }
    def rest = sleep
    idle = Thread.new { Thread.current.name = "idle"; rest }
    Thread.pass until idle.status == "sleep"
    Thread.new { Thread.current.name = "busy"; spin }
    $ready.call
    spin
  RUBY

  # With both of them at work: the one that says that it is ready waits for the GVL afterwards.
  def beside_threads
    beside(THREADS) do |pid|
      threads_until(pid) { |all| all.count { |thread| labels(thread).include?("Object#spin") } == 2 }
      yield pid
    end
  end

  def test_idle_threads_count_if_they_are_asked_for
    beside_threads do |pid|
      busy = collapsed(record(pid, "--to=collapsed").out)
      assert_empty busy.keys.grep(->(stack) { stack.include?("Object#rest") })
      all = collapsed(record(pid, "--idle", "--to=collapsed").out)
      refute_empty all.keys.grep(->(stack) { stack.include?("Object#rest") })
    end
  end

  # Two threads share a GVL: one has it, both are there.
  def test_modes
    beside_threads do |pid|
      looks = ->(*arguments) do
        ran = record(pid, "--rate=200", "--to=collapsed", *arguments, looks: 300)
        collapsed(ran.out).values.sum.fdiv(5_000_000 * ran.err[COUNTS, 1].delete(",").to_i)
      end
      wall, gvl, cpu = %w[wall gvl cpu].map { |mode| looks.("--mode=#{mode}") }
      assert_operator gvl, :<=, 1.01
      assert_operator wall, :<=, 2.02
      assert_operator wall, :>, gvl # now and then one is seen between its time and its next wait for it
      assert_operator cpu, :<, wall
    end
  end

  # ---- time ----

  TURNS = <<~'RUBY'
    def work = (1_000_000.times { |i| i.to_s })
    def turn = ($stdout.syswrite("turn\n"); $stdin.sysread(1))
    $ready.call
    loop { turn; work }
  RUBY

  # What the values of the rows with this label, or of all, add up to.
  def sums(profile, key = nil)
    profile["samples"].each_with_object(Hash.new(0)) do |sample, sums|
      _, value = sample["labels"].assoc(key)
      sums[value] += sample["values"].last
    end
  end

  def profile_of(*arguments, &block)
    in_directory do
      record(*arguments, "--output=time.pb.gz", &block)
      JSON.parse(heapprof!("convert", "time.pb.gz", "--to=json").out)
    end
  end

  def test_looks_that_come_late_stand_for_all_of_the_time
    beside("def spin = loop { 1 + 1 }\n$ready.call\nspin") do |pid|
      threads_until(pid) { |all| labels(all.first).include?("Object#spin") }
      profile = profile_of(pid) do |bell,|
        bell.ring(10)
        3.times { bell.ring(1, late: 90) }
        bell.ring(10)
      end
      assert_operator profile["duration_ns"], :>, 2_700_000_000
      assert_equal profile["duration_ns"], sums(profile)[nil]
      assert_include profile["comments"], "longest time without a look: 0.910101 s"
    end
  end

  def accounts(pid)
    Dir["/proc/#{pid}/task/*/schedstat"].map { |file| File.read(file).split.map(&:to_i) }.transpose.map(&:sum)
  end

  # Waits until the process waits for its turn, and has read nothing of it.
  def until_its_turn(pid, output)
    assert_equal "turn\n", output.gets
    threads_until(pid) { |all| labels(all.first).first == "IO#sysread" }
  end

  # Also what was run between two looks.
  def test_cpu_is_what_the_kernel_says
    omit "this kernel has no schedstat" unless File.exist?("/proc/self/schedstat")
    beside(TURNS) do |pid, input, output|
      until_its_turn(pid, output)
      before, = accounts(pid)
      profile = profile_of(pid, "--mode=cpu") do |bell,|
        bell.ring(3)
        3.times do
          input.write("x")
          until_its_turn(pid, output)
          bell.ring(2)
        end
      end
      after, = accounts(pid)
      assert_operator after, :>, before
      assert_equal after - before, sums(profile)[nil]
    end
  end

  # Whether the kernel lets us have an event of type task-clock (perf_event_open(2)) of another process.
  def alarms_allowed?(pid)
    number = { "x86_64" => 298, "aarch64" => 241 }.fetch(RbConfig::CONFIG["host_cpu"]) { return false }
    open_event = Fiddle::Function.new(Fiddle::Handle::DEFAULT["syscall"], [Fiddle::TYPE_LONG, Fiddle::TYPE_VOIDP, *[Fiddle::TYPE_LONG] * 4], Fiddle::TYPE_LONG)
    event = open_event.call(number, [1, 128, 1, 10**9].pack("LLQQ").ljust(128, "\0"), pid, -1, -1, 0)
    event >= 0 && IO.for_fd(event).close.nil?
  end

  # It has run for a second, which is at least 33 periods. What was run since the last one is counted at the end.
  def test_mode_cpu_looks_when_a_thread_has_run
    require "fiddle"
    beside("def spin = loop { 1 + 1 }\n$ready.call\nspin") do |pid|
      omit "the kernel allows no alarms" unless alarms_allowed?(pid)
      Dir.mktmpdir do |directory|
        file = File.join(directory, "time.pb.gz")
        reader = Process.spawn(PROGRAM, "record", "--mode=cpu", "--rate=50", "--output=#{file}", "--duration=100000", pid.to_s, err: File::NULL)
        Thread.pass until Dir["/proc/#{reader}/fd/*"].any? { |fd| File.readlink(fd).include?("perf_event") rescue false }
        ran, = accounts(pid)
        Thread.pass until accounts(pid).first > ran + 10**9
        Process.kill(:INT, reader)
        assert_predicate Process.wait2(reader).last, :success?
        profile = JSON.parse(heapprof!("convert", file, "--to=json").out)
        alarmed = profile["comments"].filter_map { |comment| comment[/\Alooks because a thread had run for a period: (\d+)\z/, 1] }
        assert_operator alarmed.first.to_i, :>, 1
        spin, others = profile["samples"].partition { |sample| sample["locations"].size > 1 }
        assert_operator spin.sum { |sample| sample["values"][1] }, :>, others.sum { |sample| sample["values"][1] }
      end
    end
  end

  # Its thread has the GVL all the time.
  def test_cpu_is_not_the_time_without_a_processor
    beside("def spin = loop { 1 + 1 }\n$ready.call\nspin") do |pid|
      threads_until(pid) { |all| labels(all.first).include?("Object#spin") }
      Process.kill(:STOP, pid)
      Process.wait(pid, Process::WUNTRACED)
      ran = record(pid, "--mode=cpu", "--to=collapsed", looks: 20)
      assert_empty ran.out
      assert_match(/nothing was counted, because no thread ran/, ran.err)
    ensure
      Process.kill(:CONT, pid)
    end
  end

  WAITS = <<~'RUBY'
    lock = Mutex.new
    lock.lock
    { "sleeper" => -> { sleep }, "locker" => -> { lock.lock }, "reader" => -> { $stdin.read } }.each do |name, wait|
      Thread.new(&wait).name = name
    end
    Thread.pass until Thread.list.count { |thread| thread.status == "sleep" } == 3
    $ready.call
    Thread.stop
  RUBY

  def test_off_is_what_threads_wait_for
    beside(WAITS) do |pid|
      threads_until(pid) { |all| all.map { |thread| thread["state"] }.tally.values_at("sleeping", "blocked") == [2, 1] }
      profile = profile_of(pid, "--mode=off", "--threads") { |bell,| bell.ring(50) }
      duration = profile["duration_ns"]
      assert_equal [%w[samples count], %w[off nanoseconds]], profile["sample_types"].map { |type| type.values_at("type", "unit") }
      assert_equal({ "IO" => duration, "lock" => duration, "sleep" => 2 * duration }, sums(profile, "waits"))
      assert_equal [duration], sums(profile, "thread").values.uniq
    end
  end

  def test_off_is_also_the_wait_for_the_gvl
    beside_threads do |pid|
      assert_operator sums(profile_of(pid, "--mode=off") { |bell,| bell.ring(50) }, "waits")["GVL"], :>, 0
    end
  end

  def test_idle_threads_are_not_read_and_the_user_is_told
    beside("60.times { Thread.new { sleep } }\n$ready.call\nsleep") do |pid|
      threads_until(pid) { |all| all.all? { |thread| thread["state"] == "sleeping" } }
      ran = record(pid, "--to=collapsed", looks: 200)
      assert_equal "0", ran.err[COUNTS, 4]
      assert_match(/nothing was counted, because all threads were idle. --idle counts them, too; --mode off/, ran.err)
    end
  end

  # With many threads a look reads only what has changed.
  def test_among_many_idle_threads_the_one_that_works_is_seen
    script = <<~'RUBY'
      trap(:USR1) { $rests = true }
      def spin = ($stdout.syswrite("spins\n"); 1 + 1 until $rests)
      60.times { Thread.new { sleep } }
      $ready.call
      loop { $stdin.sysread(1); spin; $rests = false }
    RUBY
    beside(script) do |pid, input, output|
      profile = profile_of(pid) do |bell,|
        3.times do
          threads_until(pid) { |all| labels(all.first).first == "IO#sysread" }
          bell.ring(20)
          input.write("x")
          assert_equal "spins\n", output.gets
          bell.ring(20)
          Process.kill(:USR1, pid)
        end
        threads_until(pid) { |all| labels(all.first).first == "IO#sysread" }
      end
      assert_include 57..66, sums(profile)[nil].fdiv(1_000_000_000 / 99) # a turn begins and ends between two looks
    end
  end

  # ---- threads ----

  # The memory of a thread that has ended is the next one's.
  def test_a_thread_in_the_memory_of_another_has_a_label_of_its_own
    script = <<~'RUBY'
      def serve = ($stdout.syswrite("serves\n"); $stdin.sysread(1))
      $ready.call
      20.times { |i| Thread.new { Thread.current.name = "request #{i}"; serve }.join; GC.start }
    RUBY
    in_directory do
      beside(script) do |pid, input, output|
        record(pid, "--threads", "--idle", "--output=time.pb.gz") do |bell,|
          20.times do
            assert_equal "serves\n", output.gets
            bell.ring(2)
            input.write("x")
          end
        end
        rows = heapprof!("top", "time.pb.gz", "--group=label:thread", "-n", "100", "--json").json["rows"]
        names = rows.map { |row| (row["what"] || row["name"])[/\A(.*) \[\d+\]\z/, 1] }
        assert_equal ["main", *Array.new(20) { |i| "request #{i}" }].sort, names.compact.sort
      end
    end
  end

  def test_threads_are_kept_apart
    in_directory do
      beside_threads do |pid|
        record(pid, "--threads", "--output=time.pb.gz")
        rows = heapprof!("top", "time.pb.gz", "--group=label:thread", "--json").json["rows"]
        assert_match(/\Abusy \[\d+\]\z|\Amain \[#{pid}\]\z/, rows.first["what"] || rows.first["name"])
        text = record(pid, "--threads", "--to=collapsed").out
        assert_equal ["busy", "main [#{pid}]"], collapsed(text).keys.map { |stack| stack.first.sub(/busy.*/, "busy") }.uniq.sort
      end
    end
  end

  def test_lines
    beside("def work\n  1 + 1\n  2 + 2\nend\n$ready.call\nloop { work }") do |pid|
      in_directory do
        record(pid, "--output=lines.pb.gz", running: pid)
        record(pid, "--no-lines", "--output=functions.pb.gz", running: pid)
        assert_operator lines_of("lines.pb.gz").size, :>, 1
        assert_equal [0], lines_of("functions.pb.gz")
      end
    end
  end

  def test_pictures_and_profiles_for_other_viewers
    in_directory do
      beside_threads do |pid|
        record(pid, "--output=time.svg")
        svg = FlameGraph.new(File.read("time.svg"))
        assert_include svg.frames.map { |frame| svg.stack(frame) }, ["all", "<main>", "Object#spin"]
        assert_equal "600", File.stat("time.svg").mode.to_s(8)[-3..]
        record(pid, "--output=other.svg", "--to=pprof")
        assert_equal "\x1f\x8b".b, File.binread("other.svg", 2)
        profile = FirefoxProfile.new(JSON.parse(record(pid, "--format=firefox").out))
        assert_equal [], profile.errors
        assert_equal 2, profile.threads.size
        profile.threads.each_value { |stacks| assert_include stacks.keys.flat_map { |stack| stack.map(&:first) }, "Object#spin" }
        text = record(pid, "--format=callgrind").out
        assert_match(/^c?fn=\(\d+\) Object#spin$/, text)
        assert_match(/^events: wall samples$/, text)
      end
    end
  end

  def test_lines_are_written_beside_functions
    beside("def work\n  1 + 1\n  2 + 2\nend\n$ready.call\nloop { work }") do |pid|
      assert_match(/Object#work \(-e:3\)/, record(pid, "--to=collapsed", running: pid).out)
      refute_match(/\(-e:/, record(pid, "--to=collapsed", "--no-lines").out)
      frames = JSON.parse(record(pid, "--to=chart", running: pid).out)["shared"]["frames"]
      assert_include frames.select { |frame| frame["name"] == "Object#work" }.map { |frame| frame["line"] }, 3
    end
  end

  def test_a_profile_has_time_and_samples_and_says_how_it_was_made
    in_directory do
      beside(THREADS) do |pid|
        before = now
        ran = heapprof("record", pid, "--duration=1", "--output=time.pb.gz")
        passed = now - before
        assert_match COUNTS, ran.err
        profile = JSON.parse(heapprof!("convert", "time.pb.gz", "--to=json").out)
        assert_equal [%w[samples count], %w[wall nanoseconds]], profile["sample_types"].map { |type| type.values_at("type", "unit") }
        samples, wall = profile["samples"].map { |sample| sample["values"] }.transpose.map(&:sum)
        assert_operator samples, :>, 1
        assert_include 1..2 * profile["duration_ns"], wall # two threads
        ["heapprof: ", "looks: asked ", "stacks: read ", "longest time without a look: "].each do |start|
          assert profile["comments"].any? { |comment| comment.start_with?(start) }, start
        end
        assert_includes profile["comments"], "pid: #{pid}"
        assert_includes profile["comments"], "directory: #{Dir.pwd}"
        assert_include 10**9..passed, profile["duration_ns"] || profile["duration_nanos"]
      end
    end
  end

  def test_a_chart_is_in_order
    script = "def turn = ($stdout.syswrite(%(turn\n)); $stdin.sysread(1))\ndef one = turn\ndef two = turn\n$ready.call\nloop { one; two }"
    beside(script) do |pid, input, output|
      ran = record(pid, "--idle", "--to=chart") do |bell,|
        4.times do
          assert_equal "turn\n", output.gets
          bell.ring(3)
          input.write("x")
        end
        assert_equal "turn\n", output.gets
      end
      chart = JSON.parse(ran.out)
      frames = chart["shared"]["frames"].map { |frame| frame["name"] }
      order = chart["profiles"].first["samples"].map { |stack| stack.map { |frame| frames[frame] } & %w[Object#one Object#two] }
      assert_equal %w[one two one two one], order.chunk_while { |a, b| a == b }.map { |turn| turn.first.join[/one\z|two\z/] }.compact
    end
  end

  def test_a_chart_has_times_when_nothing_runs
    script = <<~'RUBY'
      trap(:USR1) { $rests = true }
      def spin = ($stdout.syswrite("spins\n"); 1 + 1 until $rests)
      $ready.call
      loop { spin; $rests = false; $stdin.sysread(1) }
    RUBY
    beside(script) do |pid, input, output|
      names = ->(*arguments) do
        ran = record(pid, "--to=chart", *arguments) do |bell,|
          assert_equal "spins\n", output.gets
          bell.ring(3)
          Process.kill(:USR1, pid)
          threads_until(pid) { |all| labels(all.first).first == "IO#sysread" }
          bell.ring(3)
          input.write("x")
          assert_equal "spins\n", output.gets
          bell.ring(3)
          Process.kill(:USR1, pid)
          threads_until(pid) { |all| labels(all.first).first == "IO#sysread" }
          input.write("x")
        end
        JSON.parse(ran.out)["shared"]["frames"].map { |frame| frame["name"] }
      end
      shown = names.call
      assert_include shown, "Object#spin"
      assert_include shown, "(idle)"
      all = names.("--idle")
      assert_include all, "IO#sysread"
      assert_not_include all, "(idle)"
    end
  end

  # A works in periods 10 to 20, B in 40 to 50.
  def test_all_threads_of_a_chart_have_one_axis
    script = <<~'RUBY'
      def turn = ($stdout.syswrite("turn\n"); $stdin.sysread(1))
      $ready.call
      turn
      %w[A B].each { |name| Thread.new { Thread.current.name = name; turn }.join; turn }
    RUBY
    beside(script) do |pid, input, output|
      ran = record(pid, "--idle", "--to=chart") do |bell,|
        [10, 10, 20, 10, 10].each do |looks|
          assert_equal "turn\n", output.gets
          bell.ring(looks)
          input.write("x")
        end
      end
      chart = JSON.parse(ran.out)
      period = 1_000_000_000 / 99
      assert_equal [chart["profiles"].first["endValue"]], chart["profiles"].map { |thread| thread["weights"].sum }.uniq
      begins = chart["profiles"].to_h { |thread| [thread["name"][/\A\w+/], thread["samples"].first.empty? ? thread["weights"].first.fdiv(period).round : 0] }
      assert_equal({ "main" => 0, "A" => 10, "B" => 40 }, begins.transform_values { |begin_at| begin_at.round(-1) })
    end
  end

  def test_a_profile_has_a_name_of_its_own
    in_directory do
      beside(THREADS) do |pid|
        ran = record(pid)
        assert_equal ["heapprof-#{pid}-time.pb.gz"], Dir.children(".")
        assert_match "wrote heapprof-#{pid}-time.pb.gz", ran.err
        assert_equal "100600", File.stat("heapprof-#{pid}-time.pb.gz").mode.to_s(8)
      end
    end
  end

  # ---- how it begins and ends ----

  def test_it_ends_with_the_process_and_writes_what_it_has
    beside("$ready.call; $stdin.read") do |pid, input, output|
      threads_until(pid) { |all| labels(all.first).first == "IO#read" }
      ran = record(pid, "--idle", "--to=collapsed") do |bell,|
        assert bell.ring(3)
        input.close
        assert_equal "", output.read # the kernel has closed its files, and taken its memory before
        bell.ring_out
      end
      assert_equal [%w[<main> IO#read]], collapsed(ran.out).keys
    end
  end

  def test_it_ends_when_it_is_interrupted
    in_directory do
      beside(THREADS) do |pid|
        record(pid, "--output=time.pb.gz")
        assert_match "Object#spin", heapprof!("top", "time.pb.gz").out
        assert_equal pid, Process.kill(0, pid) && pid
      end
    end
  end

  # HUP is what a terminal sends when it is closed.
  def test_what_was_seen_is_written_at_each_signal_that_asks_for_an_end
    in_directory do
      beside(THREADS) do |pid|
        %w[INT TERM HUP].each do |signal|
          ran = record(pid, "--output=#{signal}.pb.gz") do |bell, _, _, reader|
            bell.ring(20)
            Process.kill(signal, reader)
          end
          assert_equal 0, ran.status, signal
          assert_match "Object#spin", heapprof!("top", "#{signal}.pb.gz").out
        end
      end
    end
  end

  def test_a_recorder_that_is_killed_leaves_the_process_running
    beside("$ready.call\nwhile $stdin.gets do $stdout.syswrite(%(still\\n)) end") do |pid, input, output|
      10.times do
        recorder = Process.spawn(PROGRAM, "record", pid.to_s, "--rate=5000", "--stop=always", "--duration=60", "--output=/dev/null", err: File::NULL)
        sleep rand * 0.2
        Process.kill(:KILL, recorder)
        Process.wait(recorder)
        input.puts
        assert_equal "still\n", output.gets
      end
    end
  end

  def test_a_command_is_recorded_from_start_to_end
    in_directory do
      script = "def work = 1.times { $stdout.syswrite(%(works\n)); $stdin.gets }\nwork\nputs %(done)\nexit 3"
      ran = record_by_bell("--idle", "--to=collapsed", "--output=c.txt", "--", *RUBY, "-e", script) do |bell, input, out|
        assert_equal "works\n", out.gets
        assert bell.ring(30)
        input.puts
        bell.ring_out
      end
      assert_equal ["done\n", 3], [ran.out, ran.status]
      assert_match COUNTS, ran.err
      assert collapsed(File.read("c.txt")).keys.any? { |stack| stack[0, 3] == %w[<main> Object#work Integer#times] }
    end
  end

  def test_children
    script = "def child_work = ($ready.call; loop { 1 + 1 })\nfork { child_work }\nsleep"
    in_directory do
      beside(script) do |pid|
        alone = collapsed(record(pid, "--to=collapsed").out)
        refute_includes alone.keys.flatten, "Object#child_work"
        with = collapsed(record(pid, "--children", "--to=collapsed").out)
        assert_includes with.keys.flatten, "Object#child_work"
      ensure
        Dir["/proc/[0-9]*/stat"].each { |stat| Process.kill(:KILL, stat[/\d+/].to_i) if File.read(stat)[/\) \w (\d+)/, 1].to_i == pid rescue nil }
      end
    end
  end

  # It might as well have ended a moment later.
  def test_a_process_that_has_ended_does_not_keep_others_from_being_recorded
    in_directory do
      beside("$ready.call; $stdin.gets") do |pid|
        ran = heapprof("record", 4194304, pid, "--duration=0.1", "--output=time.pb.gz")
        assert_equal 0, ran.status
        assert_match(/\Aheapprof record: process 4194304: there is no such process\nheapprof record: wrote time.pb.gz\n/, ran.err)
      end
    end
  end

  def test_a_recording_without_a_name_does_not_overwrite_another
    in_directory do
      beside("$ready.call; $stdin.gets") do |pid|
        names = Array.new(3) { heapprof("record", pid, "--duration=0.1").err[/wrote (.+)$/, 1] }
        assert_equal ["heapprof-#{pid}-time.pb.gz", "heapprof-#{pid}-time-2.pb.gz", "heapprof-#{pid}-time-3.pb.gz"], names
        assert_equal names.sort, Dir["*"].sort
      end
    end
  end

  def test_exec_is_followed
    after = "def after = ($stdout.syswrite(%(after\n)); loop { 1 + 1 }); after"
    beside("$ready.call; $stdin.gets; exec(#{EnvUtil.rubybin.dump}, '--disable-gems', '-e', #{after.dump})") do |pid, input, output|
      threads_until(pid) { |all| labels(all.first).first == "IO#gets" }
      ran = record(pid, "--idle", "--to=collapsed") do |bell,|
        assert bell.ring(3)
        input.puts
        assert_equal "after\n", output.gets
        assert bell.ring(50)
      end
      stacks = collapsed(ran.out)
      assert_includes stacks.keys.flatten, "IO#gets"
      assert_includes stacks.keys.flatten, "Object#after"
    end
  end

  def test_wrong_options
    assert_refused 2, /usage/, "record"
    assert_refused 2, /--rate/, "record", "--rate=0", Process.pid
    assert_refused 2, /--rate=1000000/, "record", "--rate=1000000", Process.pid
    assert_refused 2, /--duration=-1/, "record", "--duration=-1", Process.pid
    assert_refused 2, /--duration=99999999999: give seconds, more than 0 and at most 100000000 /, "record", "--duration=99999999999", Process.pid
    assert_refused 2, /--mode/, "record", "--mode=soul", Process.pid
    assert_refused 1, /there is no such process/, "record", 4194304
    assert_refused 1, /no\/such\/time.pb.gz: No such file/, "record", "--output=no/such/time.pb.gz", Process.pid
    assert_refused 127, /no\/such: No such file/, "record", "--", "no/such"
  end

  # It says so before it records. Where the name says which format, that is written.
  def test_names_of_files
    in_directory do
      %w[time.json time.html time.txt].each do |name|
        assert_refused 2, /--output=#{name}: a profile is written there; give it a name that ends in \.pb\.gz, or another format by --to/,
                       "record", "--output=#{name}", Process.pid
      end
      beside_threads do |pid|
        record(pid, "--output=time.folded")
        assert_include collapsed(File.read("time.folded")).keys.flatten, "Object#spin"
        record(pid, "--output=time.speedscope.json")
        assert_equal "https://www.speedscope.app/file-format-schema.json", JSON.parse(File.read("time.speedscope.json"))["$schema"]
      end
    end
  end

  def test_a_directory_that_may_not_be_written
    needs_other_users
    Dir.mktmpdir do |directory|
      File.chmod(0o555, directory)
      out, status = Open3.capture2e(ENVIRONMENT, "setpriv", "--reuid=65534", "--clear-groups", PROGRAM, "record", "--duration=1000", "1", chdir: directory)
      assert_equal ["heapprof record: heapprof-PID-time.pb.gz: Permission denied; say by --output where to write it\n", 1], [out, status.exitstatus]
    end
  end

  private

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)

  def lines_of(file)
    profile = JSON.parse(heapprof!("convert", file, "--to=json").out)
    work = profile["functions"].index { |function| function["name"] == "Object#work" }
    profile["locations"].flat_map { |location| location["lines"] }.filter_map { |function, line| line if function == work }.uniq
  end
end
