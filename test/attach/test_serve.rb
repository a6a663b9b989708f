# frozen_string_literal: true
#
# test_serve.rb - heapprof serve: what it finds, what it answers, and to whom.

require_relative "lib/attached"
require "socket"

class TestHeapprofServe < Test::Unit::TestCase
  include Attached

  Answer = Struct.new(:status, :headers, :body)

  WORK = "def busy_loop = loop { Object.new }\n$0 = %(worker one)\n$ready.call\nbusy_loop"

  # Yields the port of a server, or the path of its socket.
  def serving(where = "127.0.0.1:0", env: {})
    error_read, error_write = IO.pipe
    pid = Process.spawn({ "HEAPPROF_TOKEN" => nil }.merge(env), PROGRAM, "serve", "--listen", where, err: error_write)
    error_write.close
    line = error_read.gets
    yield line[/:(\d+)\/$/, 1]&.to_i || line[/listening at (.*)$/, 1], pid
  ensure
    Process.kill(:TERM, pid)
    Process.wait(pid)
    error_read.close
    @status = $?
  end

  def get(place, path, headers = {}, **more)
    socket = place.is_a?(Integer) ? TCPSocket.new("127.0.0.1", place) : UNIXSocket.new(place)
    method = more.delete(:method) || "GET"
    headers = { "Host" => "localhost", "Connection" => "close" }.merge(headers, more)
    socket.write("#{method} #{path} HTTP/1.1\r\n#{headers.map { |key, value| "#{key}: #{value}\r\n" }.join}\r\n")
    head, body = socket.read.b.split("\r\n\r\n", 2)
    Answer.new(head[/\d{3}/].to_i, head, body)
  ensure
    socket&.close
  end

  def test_it_lists_the_processes_of_the_host
    beside(WORK, env: { "RUBY_HEAPPROF" => "1,out=" }) do |pid|
      serving do |port|
        assert_match(/^ *#{pid}  heap, time    worker one$/, get(port, "/").body)
        targets = JSON.parse(get(port, "/targets", "Host" => "localhost:#{port}").body)
        target = targets.find { |each| each["labels"]["pid"] == pid.to_s }
        assert_equal ["localhost:#{port}"], target["targets"]
        assert_equal [pid.to_s, "worker one", "1"], target["labels"].values_at("__param_pid", "title", "heap")
        assert_empty targets.select { |each| each["labels"]["process"] == "sleep" }
      end
    end
  end

  def test_profiles_are_those_that_go_tool_pprof_asks_for
    beside(WORK, env: { "RUBY_HEAPPROF" => "interval=512,out=" }) do |pid|
      serving do |port|
        url = "http://localhost:#{port}/#{pid}/debug/pprof"
        in_directory do |directory|
          env = { "PPROF_TMPDIR" => directory }
          %w[allocs heap].each do |name|
            out, status = Open3.capture2e(env, "go", "tool", "pprof", "-top", "-sample_index=alloc_space", "#{url}/#{name}")
            assert status.success?, out
            assert_match "Object#busy_loop", out
          end
          out, status = Open3.capture2e(env, "go", "tool", "pprof", "-top", "-cum", "#{url}/profile?seconds=1")
          assert status.success?, out
          assert_match(/Type: wall/, out)
          assert_match "Object#busy_loop", out
        end
        assert_match(/in 'Object#busy_loop'/, get(port, "/debug/pprof/threads?pid=#{pid}").body)
      end
    end
  end

  def test_a_profile_over_time_holds_up_nobody
    beside(WORK) do |pid|
      serving do |port|
        long = Thread.new { get(port, "/#{pid}/debug/pprof/profile?seconds=2") }
        sleep 0.3
        began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
        assert_equal 200, get(port, "/debug/pprof/threads?pid=#{pid}").status
        assert_operator Process.clock_gettime(Process::CLOCK_MONOTONIC) - began, :<, 1.5
        assert_equal 200, long.value.status
      end
    end
  end

  def test_whoever_asked_may_go_and_so_may_the_process
    beside(WORK) do |pid|
      serving do |port|
        socket = TCPSocket.new("127.0.0.1", port)
        socket.write("GET /#{pid}/debug/pprof/profile?seconds=60 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        sleep 0.2
        socket.close
        waiting = Thread.new { get(port, "/#{pid}/debug/pprof/profile?seconds=60") }
        sleep 0.5
        Process.kill(:KILL, pid)
        assert_equal 200, waiting.value.status
        assert_equal 404, get(port, "/#{pid}/debug/pprof/heap").status
      end
    end
  end

  def test_wrong_questions
    serving do |port|
      { "/nothing" => 404, "/debug/pprof/heap" => 400, "/debug/pprof/heap?pid=x" => 400, "/debug/pprof/soul?pid=1" => 404,
        "/4194304/debug/pprof/heap" => 404, "/1/debug/pprof/profile?seconds=0" => 400,
        "/1/debug/pprof/profile?seconds=1e9" => 400, "/99999999999999999999/debug/pprof/heap" => 400 }.each do |path, status|
        answer = get(port, path)
        assert_equal status, answer.status, path
        assert_equal 1, answer.body.lines.size, path
      end
      assert_operator get(port, "/", method: "DELETE").status, :>=, 400
      assert_operator get(port, "/#{'x' * 100_000}").status, :>=, 400
    end
    assert_equal 0, @status.exitstatus
  end

  def test_only_who_is_here_may_ask
    serving do |port|
      assert_equal 403, get(port, "/", "Host" => "attacker.example").status
      assert_equal 403, get(port, "/", "X-Forwarded-For" => "10.0.0.1").status
      assert_equal 403, get(port, "/", "Host" => "attacker.example", "Authorization" => "Bearer ").status
      ["127.0.0.1", "127.0.0.1:#{port}", "localhost", "[::1]:#{port}"].each { |host| assert_equal 200, get(port, "/", "Host" => host).status, host }
    end
  end

  def test_or_who_has_the_token
    serving("0.0.0.0:0", env: { "HEAPPROF_TOKEN" => "secret" }) do |port|
      wrong = ["secre", "secrets", "Secret", "", "secretsecret"]
      wrong.each { |token| assert_equal 403, get(port, "/", "Host" => "host.example", "Authorization" => "Bearer #{token}").status, token }
      assert_equal 200, get(port, "/", "Host" => "host.example", "Authorization" => "Bearer secret").status
    end
  end

  def test_a_socket_file_is_for_its_owner
    in_directory do |directory|
      path = "#{directory}/socket"
      serving(path) do |place|
        assert_equal path, place
        assert_equal "140600", File.stat(path).mode.to_s(8)
        assert_equal 200, get(path, "/", "Host" => "anything").status
        assert_refused 1, /somebody listens there/, "serve", "--listen", path
      end
      assert_empty Dir.children(directory)
    end
  end

  def test_wrong_places
    assert_refused 2, /--listen is missing/, "serve"
    ["1", "localhost", "127.0.0.1:x", "127.0.0.1:70000"].each { |where| assert_refused 2, /--listen=/, "serve", "--listen", where }
    assert_refused 1, /set HEAPPROF_TOKEN/, "serve", "--listen", "0.0.0.0:0", env: { "HEAPPROF_TOKEN" => nil }
    assert_refused 1, /No such file/, "serve", "--listen", "/nowhere/socket"
  end
end
