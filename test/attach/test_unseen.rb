# frozen_string_literal: true
#
# test_unseen.rb - whatever a process that runs calls its methods, files, threads and itself: what a terminal obeys, and what is not seen,
# comes out of no command that reads it.

require_relative "lib/attached"
require_relative "../cli/lib/unseen"
require "pty"
require "socket"
require "timeout"

class TestHeapprofUnseenOutside < Test::Unit::TestCase
  include Attached
  include Unseen

  # Names come by a pipe, for a command line would be read by others, too.
  WORK = <<~'RUBY'
    name, file, directory = Marshal.load($stdin)
    Dir.mkdir(directory)
    Dir.chdir(directory)
    $0 = name.delete("\n")
    class Weird; end
    Weird.define_method(name) { |&block| block.call }
    eval("def wait_in(weird, name, &block) = weird.public_send(name, &block)", TOPLEVEL_BINDING, file, 1)
    $class = Class.new { set_temporary_name("fake #{name}") }
    sleeper = Thread.new { wait_in(Weird.new, name) { $kept = Array.new(100_000) { $class.new }; sleep } }
    sleeper.name = name
    Thread.pass until sleeper.status == "sleep"
    $ready.call
    wait_in(Weird.new, name) { loop { 1 + 1 } }
  RUBY

  # In a directory of its own.
  def weird(env = {})
    in_directory do
      input, output = IO.pipe.each(&:binmode), IO.pipe
      prelude = "$ready = -> { $stdout.syswrite(%(ready\\n)) }\n"
      pid = Process.spawn({ "RUBYOPT" => nil, "RUBY_HEAPPROF" => "interval=1,out=" }.merge(env), *RUBY, "-e", prelude + WORK,
                          in: input[0], out: output[1])
      output[1].close
      Marshal.dump([NAME, "/srv/#{PATH}.rb", FILE], input[1])
      input[1].close
      assert_equal "ready\n", output[0].gets
      yield pid
    ensure
      Process.kill(:KILL, pid)
      Process.wait(pid)
      [*input, *output].each { |io| io.close unless io.closed? }
    end
  end

  def assert_all_seen(*arguments)
    ran = heapprof(*arguments)
    assert_equal 0, ran.status, ran.err
    assert_seen ran.out, arguments.inspect
    assert_seen ran.err, arguments.inspect
    ran
  end

  def test_stacks_and_records
    weird do |pid|
      assert_include assert_all_seen("stacks", "--json", pid).json.first["threads"].map { |thread| thread["name"] }, NAME
      assert_match(/Thread 2 "<.*\\xE2\\x80\\x8B.*in 'Object#wait_in'/m, assert_all_seen("stacks", "--fibers", pid).out)
      assert_match(/\\xE2\\x80\\x8B/, assert_all_seen("stacks", "--values", pid).out)
      assert_all_seen("stacks", "--values", "--json", pid)
      %w[collapsed speedscope chart svg callgrind firefox].each do |format|
        ran = record_looks(3, "--idle", "--threads", "--to", format, pid)
        assert_equal 0, ran.status, ran.err
        [ran.out, ran.err].each { |text| assert_seen text, format }
        assert_match "Object#wait_in", ran.out
      end
    end
  end

  def test_snapshots
    weird do |pid|
      assert_all_seen("snapshot", pid, "-o", "#{FILE}-%e-%n.gz")
      file = Dir["*.gz"].first
      %w[site class function].each { |group| assert_match(/\\xE2\\x80\\x8B/, assert_all_seen("top", file, "-n0", "--group", group).out) }
      assert_all_seen("info", file)
      assert_all_seen("snapshot", pid, "-o", "#{FILE}.gz", "--diff", file)
    end
  end

  def test_graphs
    in_directory do |directory|
      weird("RUBY_HEAPGRAPH" => "signal=URG,out=#{directory}/#{FILE}-%n.rbgraph") do |pid|
        assert_match(/\\xE2\\x80\\x8B-1.rbgraph$|rbgraph$/, assert_all_seen("graph", "dump", pid).out)
        file = Dir["#{directory}/*.rbgraph"].first
        %w[report info top tree dups].each { |command| assert_all_seen("graph", command, file) }
        assert_all_seen("graph", "top", "--json", file)
      end
    end
  end

  # All pages. Curses' own sequences are of control characters below U+0020, which a name cannot be told from here.
  def test_a_live_screen
    weird do |pid|
      env = ENVIRONMENT.merge("TERM" => "xterm", "LINES" => "30", "COLUMNS" => "200")
      PTY.spawn(env, PROGRAM, "watch", pid.to_s) do |screen, keys, watcher|
        text = +""
        { nil => /threads/, "2" => /sleeping/, "3" => /fake/, "4" => nil }.each do |key, shown|
          keys.write(key) if key
          Timeout.timeout(30) { text << screen.readpartial(65536) until !shown || text.scrub.match?(shown) }
        end
        keys.write("q")
        begin
          Timeout.timeout(30) { loop { text << screen.readpartial(65536) } }
        rescue EOFError, Errno::EIO
          assert_equal 0, Process.wait2(watcher)[1].exitstatus
        end
        assert_seen text.force_encoding("UTF-8"), "watch", lines: "\x00-\x1f"
      ensure
        Process.kill(:KILL, watcher) rescue nil # it has ended, if all went well
      end
    end
  end

  def test_a_server
    weird do |pid|
      error, writer = IO.pipe
      server = Process.spawn(PROGRAM, "serve", "--listen", "127.0.0.1:0", err: writer)
      port = error.gets[/:(\d+)\/$/, 1].to_i
      ["/targets", "/debug/pprof/threads?pid=#{pid}"].each do |path|
        body = TCPSocket.open("127.0.0.1", port) do |socket|
          socket.write("GET #{path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
          socket.read.force_encoding("UTF-8").split("\r\n\r\n", 2).last
        end
        assert_match(/Object#wait_in|\\u200b/, body)
        assert_seen body, path
      end
    ensure
      Process.kill(:TERM, server)
      Process.wait(server)
    end
  end
end
