# frozen_string_literal: true
#
# test_watch.rb - heapprof watch: its pages and keys, on a terminal of ours.

require_relative "lib/attached"
require_relative "lib/vt100"
require "io/console"
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

  # Yields what reads the terminal until a pattern appears, what types, and the terminal itself.
  def on_terminal(*arguments, term: "xterm", rows: 30, columns: 120)
    env = ENVIRONMENT.merge("TERM" => term, "LINES" => nil)
    output, input, pid = PTY.spawn(env, PROGRAM, "watch", *arguments.map(&:to_s))
    output.winsize = [rows, columns]
    yield ->(pattern) { expect(output, pattern) }, ->(keys) { input.write(keys) }, output
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

  # Reads what a VT100 gets until its screen is as the block wants it. Returns its lines.
  def screen_until(screen, output)
    deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 20
    until yield screen.lines
      flunk screen.lines.join("\n") if Process.clock_gettime(Process::CLOCK_MONOTONIC) > deadline
      screen.write(output.readpartial(65536)) if output.wait_readable(1)
    end
    screen.lines
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
        screen.(/its heap is not profiled: `heapprof start \d+` starts that/)
        type.("1t")
        screen.(/self TOTAL/)
        type.(" ")
        screen.(/paused/)
        type.("q")
      end
      assert_equal 0, status.exitstatus
    end
  end

  LABELS = <<~'RUBY'
    HP = ObjectSpace::HeapProfile
    def busy(**labels) = Thread.new { HP.label(**labels) { loop { 1 + 1 } } }
    busy(endpoint: "POST /cart", tenant: "b2b")
    busy(endpoint: "POST /cart")
    busy(endpoint: "GET /")
    $ready.call
    sleep
  RUBY

  # Each of three threads is seen at each look, since it has the GVL or waits for it: two have the first label.
  def test_labels_are_a_page
    beside(LABELS) do |pid|
      on_terminal(pid, term: "vt100") do |_, type, output|
        type.("5")
        lines = screen_until(Vt100.new(30, 120), output) do |all|
          all.filter_map { |line| line[/%   (\w+=.*)/, 1] } == ["endpoint=POST /cart", "endpoint=GET /", "tenant=b2b"] && all[5][/\A *(\d+)/, 1].to_i.between?(60, 70)
        end
        assert_match(/\Aheapprof watch - labels - process #{pid}: 4 threads/, lines[0])
        assert_equal "   now    since it began  label", lines[4]
        type.("q")
      end
    end
    beside(WORK) do |pid|
      on_terminal(pid) do |screen, type|
        type.("5")
        screen.(/no thread that was seen has labels/i)
        type.("q")
      end
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
          assert_match(/\Aheapprof watch - functions - process #{pid}: 2 threads - .*ruby.*\n.*\n\n  SELF total .*Object#busy_loop/m, File.read(one))
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

  MANY = <<~'RUBY'
    40.times { |i| Thread.new { Thread.current.name = "t%02d" % i; sleep } }
    Thread.pass until Thread.list.count { |thread| thread.status == "sleep" } == 40
    $ready.call
    sleep
  RUBY

  DOWN, UP, PAGE_DOWN = "\eOB", "\eOA", "\e[6~"

  def test_scrolling_stops_at_the_last_line
    beside(MANY) do |pid|
      on_terminal(pid, term: "vt100", columns: 100) do |_, type, output|
        screen = Vt100.new(30, 100)
        names = ->(lines) { lines.join("\n").scan(/\bt\d\d\b/) }
        type.("2")
        screen_until(screen, output) { |lines| names.(lines).first(2) == %w[t00 t01] && lines.size == 30 && lines.last.include?("t") }
        type.(DOWN * 100)
        screen_until(screen, output) { |lines| names.(lines) == ("t15".."t39").to_a }
        type.(UP)
        screen_until(screen, output) { |lines| names.(lines) == ("t14".."t38").to_a }
        type.("q")
      end
    end
  end

  # The next line that has the text may be one that is on the screen already.
  def test_the_next_line_is_found_below_the_last_screen
    beside(MANY) do |pid|
      on_terminal(pid, term: "vt100", columns: 100) do |_, type, output|
        screen = Vt100.new(30, 100)
        type.("2/t3")
        screen_until(screen, output) { |lines| lines[3].start_with?("find: t3") }
        type.("\r")
        screen_until(screen, output) { |lines| lines.last.include?("t39") && lines[3].start_with?("t3: 10 lines") }
        type.("n" * 10)
        type.("/t0\r")
        screen_until(screen, output) { |lines| lines.any? { |line| line.include?(" t00 ") } }
        type.("q")
      end
    end
  end

  def test_the_screen_may_become_tiny_and_large_again
    beside(WORK) do |pid|
      status = on_terminal(pid, term: "vt100", columns: 100) do |_, type, output|
        screen = Vt100.new(30, 100)
        whole = ->(lines) { lines[0].start_with?("heapprof watch - threads - process #{pid}") && lines.any? { |line| line.include?("sleeper") } && lines[2].end_with?("q quit") }
        type.("2")
        screen_until(screen, output, &whole)
        [[1, 1], [2, 10], [4, 3], [6, 20]].each { |size| output.winsize = size }
        small = Vt100.new(6, 20)
        screen_until(small, output) { |lines| lines[0] == "heapprof watch - thr" && lines[1].match?(/\A\d+ looks?; /) && lines[4].start_with?("  native  Rac  state") }
        output.winsize = [30, 100]
        screen_until(Vt100.new(30, 100), output, &whole)
        type.("q")
      end
      assert_equal 0, status.exitstatus
    end
  end

  def test_the_title_says_what_the_process_is_called
    beside("$0 = 'shop: worker 3'; $ready.call; sleep") do |pid|
      on_terminal(pid) do |screen, type|
        screen.(/process #{pid}: 1 thread - shop: worker 3/)
        type.("q")
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
