# frozen_string_literal: true
#
# test_processes.rb - which process is meant, several processes side by side, and files that follow each other.

require_relative "lib/attached"

class TestHeapprofProcesses < Test::Unit::TestCase
  include Attached

  SPIN = "def spin = ($ready.call; loop { 1 + 1 })\nspin" # the stack has it from the first look on

  # A name that no other process has.
  def unused_name = "shop#{Process.pid}#{rand(1 << 30)}"

  def titled(name, script = SPIN, **options, &block)
    beside("$0 = #{name.dump}\n#{script}", **options, &block)
  end

  # ---- names ----

  def test_a_name_is_that_of_the_running_process_that_has_it
    name = unused_name
    titled("#{name}: worker 0") do |pid|
      [["stacks"], ["record", "--to=collapsed", "--duration=0.1"]].each do |command|
        ran = heapprof(*command, name)
        assert_equal 0, ran.status, ran.err
        assert_match "heapprof #{command.first}: #{name} is process #{pid}: #{name}: worker 0\n", ran.err
        assert_match "Object#spin", ran.out
      end
      assert_match "process #{pid}\n", heapprof("stacks", "#{name}: worker 0").out
    end
  end

  def test_every_command_that_takes_a_pid_takes_a_name
    name = unused_name
    titled(name) do |pid|
      { %w[snapshot] => /its heap is not profiled/, %w[watch] => /terminal/, %w[stop] => /it is not profiled/ }.each do |command, why|
        ran = heapprof(*command, name)
        assert_equal 1, ran.status
        assert_match(/\Aheapprof #{command.join(" ")}: #{name} is process #{pid}: #{name}\n.*#{why}.*\n\z/, ran.err)
      end
    end
  end

  def test_a_script_is_called_by_its_file
    in_directory do
      name = unused_name
      File.write("#{name}.rb", "$stdout.syswrite(%(ready\n)); sleep")
      reader, writer = IO.pipe
      pid = Process.spawn(*RUBY, "-W0", "-I", "lib", "./#{name}.rb", "an argument", out: writer)
      reader.gets
      [name, "#{name}.rb", "./#{name}.rb"].each { |typed| assert_match "process #{pid}\n", heapprof("stacks", typed).out }
      assert_refused 1, /no Ruby process that you may read has this name/, "stacks", "an argument"
    ensure
      Process.kill(:KILL, pid)
      Process.wait(pid)
      [reader, writer].each(&:close)
    end
  end

  def test_several_processes_of_a_name_are_listed
    name = unused_name
    titled("#{name}: first") do |first|
      titled("#{name}: second") do |second|
        ran = heapprof("record", name)
        assert_equal 1, ran.status
        assert_match(/\Aheapprof record: #{name}: 2 processes have this name; give the PID:\n/, ran.err)
        assert_match(/^ +#{first}  #{name}: first$/, ran.err)
        assert_match(/^ +#{second}  #{name}: second$/, ran.err)
      end
    end
  end

  def test_a_command_needs_dashes
    ran = heapprof("record", "no-such-process", "argument")
    assert_equal 1, ran.status
    assert_equal <<~TEXT, ran.err
      heapprof record: no-such-process: no Ruby process that you may read has this name; heapprof ps lists the processes
      heapprof record: to run a command, type heapprof record -- no-such-process argument
    TEXT
    assert_refused 2, /give processes, or a command behind --/, "record", Process.pid, "--", "true"
  end

  # ---- several ----

  def test_of_several_processes_those_that_live_are_recorded
    beside(SPIN) do |pid|
      ran = heapprof("record", 4194304, pid, "--duration=0.1", "--to=collapsed")
      assert_equal 0, ran.status, ran.err
      assert_match(/^heapprof record: process 4194304: there is no such process$/, ran.err)
      assert_match "Object#spin", ran.out
    end
    ran = heapprof("record", 4194304, 4194303)
    assert_equal [1, 2], [ran.status, ran.err.scan("there is no such process").size]
  end

  def test_a_process_that_ends_is_told_and_the_others_go_on
    beside(SPIN) do |pid|
      beside("$ready.call; $stdin.read") do |other, input|
        ran = record_by_bell(pid, other, "--to=collapsed") do |bell,|
          assert bell.ring(3)
          input.close
          bell.ring until gone?(other)
          assert bell.ring(3)
        end
        assert_match(/^heapprof record: process #{other} has ended$/, ran.err)
        assert_match "Object#spin", ran.out
      end
    end
  end

  def test_samples_say_of_which_process_they_are
    beside("$0 = 'first one'\n#{SPIN}") do |first|
      beside("$0 = 'second one'\n#{SPIN}") do |second|
        in_directory do
          record_looks(20, first, second, "--output=two.pb.gz")
          profile = JSON.parse(heapprof!("convert", "two.pb.gz", "--to=json").out)
          labels = profile["samples"].map { |sample| sample["labels"].to_h.values_at("pid", "title") }
          assert_equal [[first, "first one"], [second, "second one"]], labels.uniq.sort
          rows = heapprof!("top", "two.pb.gz", "--group=label:title", "--json").json["rows"]
          assert_equal ["first one", "second one"], rows.map { |row| row["what"] || row["name"] }.sort
        end
        stacks = collapsed(record_looks(20, first, second, "--to=collapsed").out)
        assert_equal ["first one [#{first}]", "second one [#{second}]"], stacks.keys.map(&:first).uniq.sort
        alone = collapsed(record_looks(20, first, "--to=collapsed").out)
        assert_equal ["<main>"], alone.keys.map(&:first).uniq
      end
    end
  end

  # A server's worker has the title of its parent until it sets its own.
  def test_a_title_that_comes_later_is_the_title_of_all
    beside("$0 = 'before'\ndef spin = (1 + 1 until $later)\ntrap(:USR1) { $0 = 'after'; $stdout.syswrite(%(set\n)) }\n$ready.call\nspin") do |pid, _, output|
      in_directory do
        record_by_bell(pid, "--output=title.pb.gz") do |bell,|
          assert bell.ring(30)
          Process.kill(:USR1, pid)
          assert_equal "set\n", output.gets
          assert bell.ring(30)
        end
        rows = heapprof!("top", "title.pb.gz", "--group=label:title", "--json").json["rows"]
        assert_equal ["after"], rows.map { |row| row["what"] || row["name"] }
      end
    end
  end

  # ---- children ----

  # Each line of its stdin is a child that works until it is told to end.
  FORKS = <<~'RUBY'
    def child_work = ($stdout.syswrite("forked\n"); 1 + 1 until $ends)
    def short = (Process.wait(fork { exit! }); $stdout.syswrite("short\n"))
    $ready.call
    while (line = $stdin.gets)
      next short if line == "short\n"
      child = fork { trap(:USR1) { $ends = true }; child_work; exit! }
      $stdin.gets
      Process.kill(:USR1, child)
      Process.wait(child)
      $stdout.syswrite("ended\n")
    end
  RUBY

  def test_a_child_is_seen_at_the_next_look
    beside(FORKS) do |pid, input, output|
      ran = record_by_bell(pid, "--children", "--to=collapsed") do |bell,|
        assert bell.ring(3)
        input.puts "child"
        assert_equal "forked\n", output.gets
        assert bell.ring(2)
        input.puts "end"
        assert_equal "ended\n", output.gets
        assert bell.ring(2)
      end
      assert_includes collapsed(ran.out).keys.flatten, "Object#child_work"
    end
  end

  def test_children_that_end_between_looks_are_told
    omit "needs the kernel's list of forks, as root outside of a container" unless Process.uid.zero? && first_namespace?
    beside(FORKS) do |pid, input, output|
      ran = record_by_bell(pid, "--children", "--to=collapsed", "--idle") do |bell,|
        assert bell.ring(3)
        3.times do
          input.puts "short"
          assert_equal "short\n", output.gets
        end
        assert bell.ring(2)
      end
      assert_match(/^heapprof record: 3 children ended before they were looked at$/, ran.err)
    end
  end

  # ---- files ----

  def test_a_default_name_is_a_new_one
    in_directory do
      beside(SPIN, env: { "RUBY_HEAPPROF" => "1,out=" }) do |pid|
        2.times { record_looks(3, pid) }
        2.times { assert_equal 0, heapprof("snapshot", pid).status }
        assert_equal ["heapprof-#{pid}-2.pb.gz", "heapprof-#{pid}-time-2.pb.gz", "heapprof-#{pid}-time.pb.gz", "heapprof-#{pid}.pb.gz"],
                     Dir.children(".").sort
        before = File.stat("heapprof-#{pid}.pb.gz").ino
        assert_equal 0, heapprof("snapshot", pid, "-o", "heapprof-#{pid}.pb.gz").status
        assert_not_equal before, File.stat("heapprof-#{pid}.pb.gz").ino
      end
    end
  end

  def test_a_flight_recorder_keeps_the_newest_files
    in_directory do
      beside(SPIN) do |pid|
        File.write("heapprof-#{pid}-time-2.pb.gz", "somebody else's")
        # A look in a tenth of a second, and so a file at each tenth look.
        ran = record_by_bell(pid, "--rate=10", "--every=1", "--keep=2") { |bell,| assert bell.ring(35) }
        files = ran.err.scan(/^heapprof record: wrote (.*)$/).flatten
        assert_equal [1, 3, 4, 5].map { |number| "heapprof-#{pid}-time-#{number}.pb.gz" }, files
        assert_equal files.last(2) + ["heapprof-#{pid}-time-2.pb.gz"], Dir.children(".").sort.partition { |file| !file.end_with?("-2.pb.gz") }.flatten
        assert_equal "somebody else's", File.read("heapprof-#{pid}-time-2.pb.gz")
        files.last(2).each { |file| assert_match "Object#spin", heapprof!("top", file).out }
      end
    end
  end

  # The last look writes a file. `record` ends before it looks again.
  def test_a_flight_recorder_that_ends_after_a_file_writes_no_empty_one
    in_directory do
      beside(SPIN) do |pid|
        ran = record_by_bell(pid, "--rate=10", "--every=1", "--keep=2") { |bell,| assert bell.ring(20) }
        assert_equal [1, 2].map { |number| "heapprof-#{pid}-time-#{number}.pb.gz" }, ran.err.scan(/^heapprof record: wrote (.*)$/).flatten
        assert_equal 0, ran.status
        refute_match(/nothing was counted/, ran.err)
        Dir.children(".").each { |file| assert_match "Object#spin", heapprof!("top", file).out }
      end
    end
  end

  def test_a_flight_recorder_ends_with_its_process_and_writes_the_rest
    in_directory do
      beside("$ready.call; $stdin.read") do |pid, input|
        threads_until(pid) { |all| labels(all.first).first == "IO#read" }
        ran = record_by_bell(pid, "--idle", "--rate=10", "--every=1", "-o", "%p-%n.pb.gz") do |bell,|
          assert bell.ring(13)
          input.close
          sleep 0.01 until gone?(pid)
          bell.ring_out
        end
        files = ran.err.scan(/^heapprof record: wrote (.*)$/).flatten
        assert_equal "#{pid}-1.pb.gz", files.first
        assert_equal files.sort, Dir.children(".").sort
        samples = files.map { |file| heapprof!("info", file, "--json").json }
        assert_operator files.size, :>, 1, samples
      end
    end
  end

  def test_a_series_has_names
    assert_refused 2, /--every writes several files: give --output/, "record", "--every=1", "--to=collapsed", Process.pid
    assert_refused 2, /--every writes several files: give --output/, "record", "--every=1", "--output=-", Process.pid
    assert_refused 2, /--every=0: give seconds/, "record", "--every=0", Process.pid
  end

  def test_a_series_of_snapshots_ends_with_its_process
    in_directory do
      beside("$ready.call; $stdin.read", env: { "RUBY_HEAPPROF" => "1,out=" }) do |pid, input|
        error, ours = IO.pipe
        command = Process.spawn(PROGRAM, "snapshot", pid.to_s, "--every=0.05", err: ours)
        ours.close
        assert_match "wrote", error.gets
        input.close
        rest = error.read
        Process.wait(command)
        assert_equal [0, "heapprof snapshot: process #{pid} has ended\n"], [$?.exitstatus, rest.lines.last]
      ensure
        error.close
      end
    end
  end

  private

  def gone?(pid) = File.read("/proc/#{pid}/stat")[/\) (\w)/, 1] == "Z"

  # Whether this is the kernel's first pid namespace, in which alone forks are told.
  def first_namespace? = File.readlink("/proc/self/ns/pid") == "pid:[4026531836]"
end
