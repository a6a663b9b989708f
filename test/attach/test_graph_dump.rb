# frozen_string_literal: true

# test_graph_dump.rb - heapprof graph dump: a process that runs is asked for a dump of its object graph, and says what came of it.

require_relative "lib/attached"

class TestHeapprofGraphDump < Test::Unit::TestCase
  include Attached

  IDLE = "$ready.call; sleep"

  def idle(directory, settings = "signal=URG,out=#{directory}/%p-%n.rbgraph", script: IDLE, env: {}, &block)
    beside(script, env: { "RUBY_HEAPGRAPH" => settings }.merge(env), &block)
  end

  def test_the_file_is_there_when_its_name_is_printed
    in_directory do |directory|
      idle(directory) do |pid,|
        2.times do |i|
          ran = heapprof("graph", "dump", pid)
          assert_equal [0, "#{directory}/#{pid}-#{i + 1}.rbgraph\n"], [ran.status, ran.out], ran.err
          assert_match(/\Aheapprof graph dump: [\d.]+ .?B, process #{pid} waited for [\d.]+ ms\n\z/, ran.err)
          assert_operator heapprof!("graph", "info", "--json", ran.out.chomp).json["objects"], :>, 5000
        end
        assert_equal 2, Dir.children(directory).size
      end
    end
  end

  def test_a_copy_is_written_where_the_user_wants_it
    in_directory do |directory|
      idle(directory) do |pid,|
        Dir.mkdir("mine")
        ran = heapprof("graph", "dump", pid, "-o", "mine/copy")
        assert_equal [0, "mine/copy\n"], [ran.status, ran.out], ran.err
        assert_equal File.binread("#{pid}-1.rbgraph"), File.binread("mine/copy")
        assert_equal "600", File.stat("mine/copy").mode.to_s(8)[-3..]
        # Refused before the process is asked.
        assert_refused 1, %r{none/copy: No such file}, "graph", "dump", pid, "-o", "none/copy"
        refute File.exist?("#{pid}-2.rbgraph")
      end
    end
  end

  # Its environment cannot be read any more then.
  def test_of_a_process_with_a_title
    in_directory do |directory|
      idle(directory, script: "$0 = 'x' * 10_000; #{IDLE}") do |pid,|
        assert_path_exist heapprof("graph", "dump", pid).out.chomp
      end
    end
  end

  def test_of_a_forked_process
    in_directory do |directory|
      script = "pid = fork { sleep }; $ready.call; $stdout.syswrite(pid.to_s + %(\n)); Process.wait(pid)"
      idle(directory, script: script) do |_, _, output|
        child = Integer(output.gets)
        assert_equal "#{directory}/#{child}-1.rbgraph\n", heapprof("graph", "dump", child).out
      ensure
        Process.kill(:KILL, child) if child
      end
    end
  end

  def test_a_signal_that_nobody_takes_is_not_sent
    in_directory do |directory|
      idle(directory, "signal=USR1,out=#{directory}/%n", script: "trap(:USR1, 'SYSTEM_DEFAULT'); #{IDLE}") do |pid,|
        assert_refused 1, /process #{pid}: it no longer handles SIGUSR1$/, "graph", "dump", pid
        assert_equal 1, threads(pid).size
      end
    end
  end

  def test_a_program_that_takes_the_signal_itself_does_not_answer
    in_directory do |directory|
      idle(directory, script: "trap(:URG) { }; #{IDLE}") do |pid,|
        assert_refused 1, /process #{pid}: it does not answer: it handles SIGURG itself, or/, "graph", "dump", pid, "--timeout=1"
      end
    end
  end

  def test_what_the_process_refuses_is_told
    in_directory do |directory|
      idle(directory, "signal=URG,max_pause=0.000001") do |pid,|
        assert_refused 1, /process #{pid}: no dump: the program would wait for about 0\.\d+ s, and max_pause is 1e-06$/, "graph", "dump", pid
      end
      idle(directory, "signal=URG,out=#{directory}/missing/file") do |pid,|
        assert_refused 1, %r{process #{pid}: cannot write .*/missing/file: No such file or directory$}, "graph", "dump", pid
      end
      assert_empty Dir.children(directory)
    end
  end

  # Its copy, which has stopped before it writes.
  def copy_of(pid)
    sleep 0.001 until (copies = Dir["/proc/#{pid}/task/*/children"].flat_map { |path| File.read(path).split }).any?
    copy = Integer(copies.first)
    sleep 0.001 until File.read("/proc/#{copy}/stat")[/\) (\w)/, 1] == "T"
    copy
  end

  def test_a_copy_that_is_killed_is_told
    in_directory do |directory|
      idle(directory, env: Held.copies) do |pid,|
        asking = Thread.new { heapprof("graph", "dump", pid) }
        Process.kill(:KILL, copy_of(pid))
        ran = asking.value
        assert_equal [1, ""], [ran.status, ran.out]
        assert_equal "heapprof graph dump: process #{pid}: its copy ended before #{directory}/#{pid}-1.rbgraph was written\n", ran.err
      end
    end
  end

  def test_a_process_that_ends_meanwhile_is_told
    in_directory do |directory|
      idle(directory, env: Held.copies) do |pid,|
        asking = Thread.new { heapprof("graph", "dump", pid) }
        copy = copy_of(pid)
        Process.kill(:KILL, pid)
        ran = asking.value
        assert_equal [1, ""], [ran.status, ran.out]
        assert_match(/\Aheapprof graph dump: process #{pid}: it has ended.*\n\z/, ran.err)
      ensure
        Process.kill(:KILL, copy) if copy
      end
    end
  end

  def test_a_process_that_is_stopped_answers_when_it_goes_on
    in_directory do |directory|
      idle(directory) do |pid,|
        Process.kill(:STOP, pid)
        assert_refused 1, /process #{pid}: it is stopped; it will write the file when it continues$/, "graph", "dump", pid, "--timeout=1"
        Process.kill(:CONT, pid)
        sleep 0.01 until File.exist?("#{directory}/#{pid}-1.rbgraph")
      end
    end
  end

  def test_bad_input_is_one_line
    assert_refused 1, /: core[.]1: a core has no object graph.*`heapprof snapshot --core`/, "graph", "dump", "--core", "core.1"
    assert_refused 2, /usage: heapprof graph dump/, "graph", "dump"
    assert_refused 2, /--timeout/, "graph", "dump", Process.pid, "--timeout=x"
    assert_refused 1, /no-such-name: no Ruby process that you may read has this name; heapprof ps lists the processes$/, "graph", "dump", "no-such-name"
    assert_refused 1, /process 999999999: /, "graph", "dump", "999999999"
  end
end
