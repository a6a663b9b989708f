# frozen_string_literal: true
#
# test_terminal.rb - heapprof on a terminal, and not on one: colour, width, pager, progress.

require "io/console"
require "pty"
require "timeout"
require_relative "lib/graph_bytes"
require_relative "lib/held"
require_relative "lib/heapprof_command"

class TestHeapprofTerminal < Test::Unit::TestCase
  include HeapprofCommand

  def test_colour_is_for_terminals_that_want_it
    in_directory do
      write("heap.pb.gz", shop)
      assert_match "\e[1m", on_terminal("top", "heap.pb.gz")
      refute_match "\e", on_terminal("top", "heap.pb.gz", "NO_COLOR" => "1")
      refute_match "\e", on_terminal("top", "heap.pb.gz", "TERM" => "dumb")
      refute_match "\e", heapprof!("top", "heap.pb.gz", env: { "TERM" => "xterm" }).out
    end
  end

  def test_lines_fit_the_terminal
    in_directory do
      write("heap.pb.gz", shop.sample(["/srv/#{"long/" * 60}é.rb:1 #{"name" * 60}"], [0, 0, 1, 10**6], class: "Klass" * 40))
      [70, 100].each do |width|
        text = on_terminal("top", "heap.pb.gz", "NO_COLOR" => "1", width: width)
        assert_equal [], text.lines(chomp: true).drop(2).select { |line| line.delete("\r").size > width }
        assert_match "...", text
      end
      assert_match "name" * 60, heapprof!("top", "heap.pb.gz").out
    end
  end

  def test_a_terminal_has_a_pager
    in_directory do
      write("heap.pb.gz", shop)
      assert_match(/\A *[1-9]\d*\s*\z/, on_terminal("top", "heap.pb.gz", "PAGER" => "wc -l"))
      assert_match(/\A *[1-9]\d*\s*\z/, on_terminal("help", "top", "PAGER" => "wc -l"))
      assert_match(/\A\{"files"/, on_terminal("top", "heap.pb.gz", "--json", "PAGER" => "wc -l"))
      assert_equal "done\r\n", on_terminal("top", "heap.pb.gz", "PAGER" => "echo done")
      assert_match "String", heapprof!("top", "heap.pb.gz", env: { "PAGER" => "wc -l" }).out
    end
  end

  # Of these two clocks one goes on by two seconds when it is looked at, and the other stands still.
  SLOWLY, AT_ONCE = [2, 0].map { |step| Held.clock(step) }

  def test_progress_is_shown_when_reading_takes_long
    in_directory do
      bytes = shop.gzip
      text = on_terminal("info", "/dev/stdin", stdin: bytes, **SLOWLY)
      assert_match(/\r\e\[Kreading \/dev\/stdin: 0\.0 MB.*\r\e\[K/m, text)
      assert_match "holds", text
      refute_match "reading", on_terminal("info", write("heap.pb.gz", bytes), **AT_ONCE)
    end
  end

  def test_what_is_done_with_a_dump_is_shown_when_it_takes_long
    graph = GraphBytes.new
    graph.root(:GLOBAL, "$text", graph.object("String", 1000, type: "T_STRING"))
    bytes = graph.bytes
    in_directory do
      write("heap.graph", bytes)
      { "report" => ["looking for suspects", "adding up classes"], "top" => ["adding up groups"], "tree" => ["putting in order what keeps what", "merging paths"],
        "view" => ["making the page"] }.each do |command, steps|
        output = command == "view" ? ["-o", "page.html"] : []
        text = on_terminal("graph", command, "/dev/stdin", *output, "PAGER" => "cat", stdin: bytes, **SLOWLY)
        ["finding what keeps what", *steps].each { |step| assert_match(/\r\e\[K#{step}.*\r\e\[K/m, text) }
        quick = on_terminal("graph", command, "heap.graph", *output, "PAGER" => "cat", **AT_ONCE)
        assert_equal quick.lines.last, text.split("\r\e[K").last.lines.last
        refute_match "finding", quick
        refute_match "finding", heapprof!("graph", command, "heap.graph", *output).err
      end
    end
  end

  def test_a_profile_is_not_written_to_a_terminal
    in_directory do
      write("heap.pb.gz", shop)
      assert_match "a profile is not text for a terminal: write it to a file", on_terminal("merge", "heap.pb.gz", status: 2)
    end
  end

  private

  # What a terminal of that width shows of it.
  def on_terminal(*arguments, status: 0, width: 120, stdin: nil, **env)
    reader, writer = PTY.open
    writer.winsize = [24, width]
    input, feed = IO.pipe
    pid = spawn(ENVIRONMENT.merge({ "TERM" => "xterm", "PAGER" => "cat" }, env.transform_keys(&:to_s)), PROGRAM, *arguments,
                in: stdin ? input : File::NULL, out: writer, err: writer)
    writer.close
    input.close
    feed.write(stdin) if stdin
    feed.close
    text = Timeout.timeout(60) { read_all(reader) }
    assert_equal status, Process.wait2(pid).last.exitstatus, text
    text.force_encoding("UTF-8")
  ensure
    reader.close
  end

  def read_all(reader)
    text = +""
    loop { text << reader.readpartial(4096) }
  rescue EOFError, Errno::EIO # the last writer has gone
    text
  end
end
