# frozen_string_literal: true
#
# test_watch.rb - heapprof watch: its pages and keys, on a terminal of ours.

require_relative "lib/attached"
require "pty"

class TestHeapprofWatch < Test::Unit::TestCase
  include Attached

  WORK = <<~'RUBY'
    def busy_loop = loop { 1 + 1 }
    sleeper = Thread.new { sleep }
    sleeper.name = "sleeper"
    Thread.pass until sleeper.status == "sleep"
    $ready.call
    busy_loop
  RUBY

  # Yields what reads the terminal until a pattern appears, and what types.
  def on_terminal(*arguments, term: "xterm")
    env = ENVIRONMENT.merge("TERM" => term, "LINES" => "30", "COLUMNS" => "120")
    output, input, pid = PTY.spawn(env, PROGRAM, "watch", *arguments.map(&:to_s))
    yield ->(pattern) { expect(output, pattern) }, ->(keys) { input.write(keys) }
    read_to_end(output)
    Process.wait(pid)
    $?
  ensure
    unless $?&.pid == pid
      Process.kill(:KILL, pid)
      Process.wait(pid)
    end
    [output, input].each(&:close)
  end

  # Reads the screen until there is a match.
  def expect(output, pattern)
    deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 20
    text = +""
    until text.scrub.gsub(/\e\[[\d;?]*[A-Za-z]/, "").match?(pattern)
      flunk "#{pattern.inspect} is not in #{text.inspect}" if Process.clock_gettime(Process::CLOCK_MONOTONIC) > deadline
      text << output.readpartial(65536) if output.wait_readable(1)
    end
  end

  def read_to_end(output)
    output.readpartial(65536) while output.wait_readable(10)
  rescue Errno::EIO, EOFError
    nil # it has ended
  end

  def test_pages_and_keys
    beside(WORK) do |pid|
      status = on_terminal(pid) do |screen, type|
        screen.(/heapprof watch - functions - process #{pid}: 2 threads.*SELF total.*Object#busy_loop/m)
        type.("2")
        screen.(/thread.*sleeping.*sleeper.*Kernel#sleep/m)
        type.("3")
        screen.(/its heap is not profiled: start it with RUBY_HEAPPROF=1/)
        type.("1t")
        screen.(/self TOTAL/)
        type.(" ")
        screen.(/paused/)
        type.("q")
      end
      assert_equal 0, status.exitstatus
    end
  end

  def test_help_is_a_page
    beside(WORK) do |pid|
      on_terminal(pid) do |screen, type|
        screen.(/h help/)
        %w[h ?].each do |key|
          type.(key)
          screen.(/save the page to a file/)
          type.(key)
          screen.(/SELF total/)
        end
        type.("h2")
        screen.(/sleeper/)
        type.("q")
      end
    end
  end

  def test_find_marks_lines_and_goes_to_them
    beside(WORK) do |pid|
      on_terminal(pid) do |screen, type|
        screen.(/h help/)
        type.("h/PAUz")
        screen.(/z_/)
        type.("\x7fse\r") # a backspace, and the rest
        screen.(/1 line \(n: next\)/)
        type.("/q") # it is typed, and does not end the command
        screen.(/q_/)
        type.("\e/no such text\rn")
        screen.(/no line has/)
        type.("q")
      end
    end
  end

  def test_what_is_shown_is_saved
    Dir.mktmpdir do |directory|
      Dir.chdir(directory) do
        beside(WORK) do |pid|
          on_terminal(pid) do |screen, type|
            screen.(/Object#busy_loop/)
            type.("s")
            screen.(/wrote heapprof-watch-#{pid}-1\.txt/)
            type.("2s")
            screen.(/wrote heapprof-watch-#{pid}-2\.txt/)
            type.("q")
          end
          one, two = [1, 2].map { |number| "heapprof-watch-#{pid}-#{number}.txt" }
          assert_equal [0o600] * 2, [one, two].map { |file| File.stat(file).mode & 0o777 }
          assert_match(/\Aheapprof watch - functions - process #{pid}: 2 threads\n.*\n\n  SELF total .*Object#busy_loop/m, File.read(one))
          assert_match(/sleeping +sleeper +Kernel#sleep/, File.read(two))
          on_terminal(pid, "--output=none/mine") do |screen, type|
            screen.(/h help/)
            type.("s")
            screen.(%r{none/mine: No such file or directory})
            type.("q")
          end
          on_terminal(pid, "-o", "mine") do |screen, type|
            screen.(/h help/)
            type.("s")
            screen.(/wrote mine/)
            type.("q")
          end
          assert_equal 0o600, File.stat("mine").mode & 0o777
        end
      end
    end
  end

  def test_the_process_ends_meanwhile
    beside("$ready.call; $stdin.read") do |pid, input|
      on_terminal(pid) do |screen, type|
        screen.(/process #{pid}: 1 thread\b/)
        input.close
        screen.(/ended/)
        type.("q")
      end
    end
  end

  def test_without_a_terminal
    beside(WORK) do |pid|
      assert_refused 1, /it needs a terminal/, "watch", pid
    end
    assert_refused 2, /--output=-: the screen is there; give a file/, "watch", Process.pid, "--output=-"
    assert_refused 1, /there is no such process/, "watch", 4194304
  end
end
