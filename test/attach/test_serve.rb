# frozen_string_literal: true
#
# test_serve.rb - heapprof serve: what it finds, what it answers, and to whom.

require_relative "lib/attached"
require "socket"

class TestHeapprofServe < Test::Unit::TestCase
  include Attached

  Answer = Struct.new(:status, :headers, :body)

  WORK = "def busy_loop = ($ready.call; loop { Object.new })\n$0 = %(worker one)\nbusy_loop"

  # Yields the port of a server, or the path of its socket.
  def serving(where = "127.0.0.1:0", env: {}, **options)
    error_read, error_write = IO.pipe
    pid = Process.spawn({ "HEAPPROF_TOKEN" => nil }.merge(env), PROGRAM, "serve", "--listen", where, err: error_write, **options)
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
        assert_includes get(port, "/").body, %(<a href="/#{pid}/debug/pprof/">#{pid}</a><td>heap, time<td>worker one\n)
        targets = JSON.parse(get(port, "/targets", "Host" => "localhost:#{port}").body)
        target = targets.find { |each| each["labels"]["pid"] == pid.to_s }
        assert_equal ["localhost:#{port}"], target["targets"]
        assert_equal [pid.to_s, "worker one", "1"], target["labels"].values_at("__param_pid", "title", "heap")
        assert_empty targets.select { |each| each["labels"]["process"] == "sleep" }
      end
    end
  end

  def target_of(port, pid) = JSON.parse(get(port, "/targets").body).find { |each| each["labels"]["pid"] == pid.to_s }&.fetch("labels")

  # What a listing has found out is kept for the next one.
  def test_the_list_sees_what_a_process_becomes
    becomes = "$ready.call; $stdin.gets; ObjectSpace::HeapProfile.start; $stdin.gets; exec(#{RUBY.map(&:dump).join(', ')}, %(-e), %(sleep))"
    beside(becomes, ruby: ["sh", "-c", 'exec 3<&0; echo ready; read x <&3; exec "$@" <&3', "sh", *RUBY]) do |pid, input|
      serving do |port|
        assert_nil target_of(port, pid)
        %w[0 1 0].each do |heap|
          input.puts # a ruby; it is profiled; another ruby
          sleep 0.1 until target_of(port, pid)&.fetch("heap") == heap
        end
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

  KEPT = "def keep = $kept = Array.new(10_000) { Object.new }\ndef grow = $more = Array.new(10_000) { Object.new }\n" \
         "keep\n$ready.call\n$stdin.gets\ngrow\n$ready.call\nsleep"

  # By debug=1: the lines of `heapprof top`.
  def test_seconds_of_a_heap_are_what_changes_in_that_time
    beside(KEPT, env: { "RUBY_HEAPPROF" => "interval=1,out=" }) do |pid, input, output|
      serving(env: Held.copies) do |port, server|
        change, whole = ["seconds=0.1&debug=1", "debug=1"].map { |query| ask(port, "/#{pid}/debug/pprof/heap?#{query}") }
        readers = held_workers(server, 2)
        Process.kill(:CONT, readers[0]) # it reads the heap, and sleeps
        sleep 0.001 until File.read("/proc/#{readers[0]}/syscall").match?(/\A230 /) # clock_nanosleep
        input.puts
        assert_equal "ready\n", output.gets
        text = change.read
        assert_match(/\r\n\r\ninuse_space /, text)
        assert_match "Object#grow", text
        refute_match "Object#keep", text
        Process.kill(:CONT, readers[1])
        text = whole.read
        assert_match "Object#grow", text
        assert_match "Object#keep", text
      end
    end
  end

  def test_go_tool_pprof_gets_a_difference_when_it_asks_for_seconds
    beside("def keep = $kept = Array.new(10_000) { Object.new }\nkeep\n" + WORK, env: { "RUBY_HEAPPROF" => "interval=512,out=" }) do |pid|
      serving do |port|
        in_directory do |directory|
          command = ["go", "tool", "pprof", "-top", "-sample_index=alloc_space"]
          whole, change = [[], ["-seconds=1"]].map do |seconds|
            out, status = Open3.capture2e({ "PPROF_TMPDIR" => directory }, *command, *seconds, "http://localhost:#{port}/#{pid}/debug/pprof/heap")
            assert status.success?, out
            out
          end
          assert_match "Object#keep", whole
          refute_match "Object#keep", change
          assert_match "Object#busy_loop", change
        end
      end
    end
  end

  def test_a_profile_over_time_has_the_comments_of_a_record
    beside(WORK) do |pid|
      serving do |port|
        in_directory do
          File.binwrite("time.pb.gz", get(port, "/#{pid}/debug/pprof/profile?seconds=0.1").body)
          comments = heapprof!("info", "time.pb.gz").out
          assert_match(/looks: asked \d+, taken \d+, late \d+/, comments)
          assert_match(/stacks: read \d+, torn \d+, failed \d+/, comments)
          assert_match(/pid: #{pid}/, comments)
        end
      end
    end
  end

  def test_a_profile_over_time_has_the_labels_of_the_program
    beside("ObjectSpace::HeapProfile.label!(endpoint: '/cart')\n" + WORK) do |pid|
      serving do |port|
        in_directory do
          File.binwrite("time.pb.gz", get(port, "/#{pid}/debug/pprof/profile?seconds=0.2").body)
          assert_equal ["/cart"], heapprof!("top", "time.pb.gz", "--group=label:endpoint", "--json").json["rows"].map { |row| row["what"] }
          assert_match(/^  labels: endpoint=\/cart$/, get(port, "/#{pid}/debug/pprof/threads").body)
        end
      end
    end
  end

  def test_each_process_has_a_page_of_its_profiles
    beside("$0 = %(<b>&)\n" + WORK, env: { "RUBY_HEAPPROF" => "1,out=" }) do |pid|
      beside(WORK) do |plain|
        serving do |port|
          ["/#{pid}/debug/pprof/", "/debug/pprof/?pid=#{pid}"].each do |path|
            page = get(port, path)
            assert_match(/^Content-Type: text\/html/, page.headers)
            assert_match(/<td>\d+<td><a href="\/#{pid}\/debug\/pprof\/heap">heap<\/a>/, page.body)
            assert_match(/<td>1<td><a href="\/#{pid}\/debug\/pprof\/threads">/, page.body)
            page.body.scan(/href="([^"]*)"/).flatten.grep_v(/profile$/).each { |link| assert_equal 200, get(port, link).status, link }
          end
          assert_includes get(port, "/#{plain}/debug/pprof/").body, "<td>not profiled<td>"
          assert_includes get(port, "/").body, "<td>worker one\n"
        end
      end
    end
    beside("$0 = %(<b>&)\n$ready.call\nsleep") do |pid|
      serving do |port|
        ["/", "/#{pid}/debug/pprof/"].each { |path| assert_includes get(port, path).body, "&lt;b&gt;&amp;" }
      end
    end
  end

  def test_head_has_no_body
    beside(WORK, env: { "RUBY_HEAPPROF" => "1,out=" }) do |pid|
      serving do |port|
        names = ["", "heap", "heap?debug=1", "threads", "profile?seconds=0.1", "soul"]
        paths = ["/", "/targets", "/nothing"] + names.map { |name| "/#{pid}/debug/pprof/#{name}" }
        paths.each do |path|
          answer = get(port, path, method: "HEAD")
          assert_equal ["", true], [answer.body, answer.headers.match?(/^Content-Length: [1-9]/)], path
        end
        ["HEAD / HTTP/1.1\r\nHost\r\n\r\n", "HEAD /\xff HTTP/1.1\r\n\r\n", "HEAD #{'x' * 20_000}"].each { |bytes| assert_equal "", raw(port, bytes).body }
      end
    end
  end

  def ask(place, path, headers = "Host: localhost")
    socket = place.is_a?(Integer) ? TCPSocket.new("127.0.0.1", place) : UNIXSocket.new(place)
    socket.write("GET #{path} HTTP/1.1\r\n#{headers}\r\n\r\n")
    closed_at_the_end(socket)
  end

  def closed_at_the_end(io)
    (@open ||= []) << io
    io
  end

  def teardown
    @open&.each(&:close)
    super
  end

  def test_a_profile_ends_with_its_process
    beside(WORK) do |pid|
      serving do |port|
        waiting = ask(port, "/#{pid}/debug/pprof/profile?seconds=60")
        assert_equal 200, get(port, "/#{pid}/debug/pprof/threads").status # the one before is being recorded
        Process.kill(:KILL, pid)
        assert_match(/\AHTTP\/1.1 200 /, waiting.read.b)
        assert_equal 404, get(port, "/#{pid}/debug/pprof/heap").status
      end
    end
  end

  # ---- how much ----

  # Readers that have stopped before they began to read, as Held.copies says.
  def held_workers(server, count)
    loop do
      all = File.read("/proc/#{server}/task/#{server}/children").split.map(&:to_i)
      held = all.select { |pid| File.read("/proc/#{pid}/stat")[/\) (\w)/, 1] == "T" rescue false }
      return held.sort if held.size == count
      sleep 0.001
    end
  end

  def wait_for_end_of(pid) = (sleep 0.001 while File.exist?("/proc/#{pid}"))

  HEAPS_AT_ONCE = 4
  WAITING_MOST = 256

  # Yields with as many held readers of the heap of a process as there may be, and the connections that wait for them.
  def with_held_readers(where)
    beside(WORK, env: { "RUBY_HEAPPROF" => "1,out=" }) do |pid|
      serving(where, env: Held.copies) do |place, server|
        heap = "/#{pid}/debug/pprof/heap"
        waiting = Array.new(HEAPS_AT_ONCE) { ask(place, heap) }
        yield place, server, heap, waiting, held_workers(server, HEAPS_AT_ONCE)
      end
    end
  end

  def test_nobody_waits_for_the_heap_of_another
    with_held_readers("127.0.0.1:0") do |port, _, heap, waiting|
      page = heap.delete_suffix("heap")
      ["/", "/targets", page, "#{page}threads", "#{page}profile?seconds=0.1"].each { |path| assert_equal 200, get(port, path).status, path }
      assert_nil IO.select(waiting, nil, nil, 0)
    end
  end

  def test_a_request_waits_for_its_turn
    with_held_readers("127.0.0.1:0") do |port, server, heap, waiting, readers|
      fifth = ask(port, heap)
      sixth = ask(port, heap)
      assert_equal 200, get(port, "/").status
      assert_equal readers, held_workers(server, HEAPS_AT_ONCE)
      Process.kill(:CONT, readers[0])
      first, = IO.select(waiting)
      assert_match(/\AHTTP\/1.1 200 /, first[0].read.b)
      (next_reader,) = held_workers(server, HEAPS_AT_ONCE) - readers
      Process.kill(:CONT, next_reader)
      assert_match(/\AHTTP\/1.1 200 /, fifth.read.b)
      assert_nil IO.select([sixth], nil, nil, 0)
    end
  end

  def test_a_client_that_leaves_frees_its_reader_and_its_place
    with_held_readers("127.0.0.1:0") do |port, server, heap, waiting, readers|
      leaves = ask(port, heap)
      stays = ask(port, heap)
      assert_equal 200, get(port, "/").status
      leaves.close
      waiting[0].close
      (next_reader,) = Enumerator.produce { held_workers(server, HEAPS_AT_ONCE) - readers }.find(&:any?)
      assert_equal 1, readers.count { |pid| !File.exist?("/proc/#{pid}") }
      Process.kill(:CONT, next_reader)
      assert_match(/\AHTTP\/1.1 200 /, stays.read.b)
    end
  end

  # The queue is one process's, which has a connection for each request. They are looked at together.
  def test_a_queue_that_is_full_says_when_to_ask_again
    in_directory do |directory|
      with_held_readers("#{directory}/socket") do |path, server, heap, _, readers|
        queue = Array.new(WAITING_MOST) { ask(path, heap) }
        refused = get(path, heap)
        assert_equal [503, "too many requests: 256 wait already; ask again in 10 seconds\n"], [refused.status, refused.body]
        assert_match(/^Retry-After: 10\r?$/, refused.headers)
        assert_equal 200, get(path, "/").status
        queue.pop.close
        last = ask(path, heap)
        assert_equal 200, get(path, "/targets").status
        assert_nil IO.select([last, *queue], nil, nil, 0)
        assert_equal readers, held_workers(server, HEAPS_AT_ONCE)
      end
    end
  end

  def test_a_reader_that_is_killed_is_told_and_the_server_goes_on
    with_held_readers("127.0.0.1:0") do |port, _, heap, waiting, readers|
      Process.kill(:KILL, readers[0])
      first, = IO.select(waiting)
      head, body = first[0].read.b.split("\r\n\r\n", 2)
      assert_match(/\AHTTP\/1.1 500 /, head)
      assert_equal "process #{heap[/\d+/]}: its reader has ended: Killed\n", body
      assert_equal 200, get(port, "/").status
    end
  end

  def test_readers_have_no_connection_and_end_with_the_server
    readers = with_held_readers("127.0.0.1:0") do |_, server, _, _, pids|
      pids.each do |pid|
        files = Dir["/proc/#{pid}/fd/*"].map { |path| File.readlink(path) }
        assert_empty files.grep(/socket:|eventpoll/)
        assert_equal 4, files.size
        assert_match(/^Max core file size +0 /, File.read("/proc/#{pid}/limits"))
        assert_match(/^Max open files +64 /, File.read("/proc/#{pid}/limits"))
      end
      Process.kill(:KILL, server)
      break pids
    end
    readers.each { |pid| wait_for_end_of(pid) }
  end

  def test_a_reader_may_only_read
    beside(WORK) do |pid|
      serving do |port, server|
        ask(port, "/#{pid}/debug/pprof/profile?seconds=60")
        (reader,) = Enumerator.produce { File.read("/proc/#{server}/task/#{server}/children").split }.find(&:any?)
        sleep 0.001 until File.read("/proc/#{reader}/status").match?(/^Seccomp:\t2$/)
        assert_match(/^NoNewPrivs:\t1$/, File.read("/proc/#{reader}/status"))
      end
    end
  end

  def test_as_many_profiles_are_recorded_at_once_as_a_scraper_asks_for
    beside(WORK) do |pid|
      serving do |port|
        all = Array.new(24) { ask(port, "/#{pid}/debug/pprof/profile?seconds=0.1") }
        all.each { |socket| assert_match(/\AHTTP\/1.1 200 /, socket.read.b) }
      end
    end
  end

  def test_a_profile_over_time_whose_client_leaves_is_not_recorded_any_more
    beside(WORK) do |pid|
      serving do |port, server|
        socket = ask(port, "/#{pid}/debug/pprof/profile?seconds=60")
        (reader,) = Enumerator.produce { File.read("/proc/#{server}/task/#{server}/children").split }.find(&:any?)
        socket.close
        wait_for_end_of(reader)
        assert_equal 200, get(port, "/").status
      end
    end
  end

  def test_a_profile_takes_a_minute_at_most_and_with_a_token_ten
    beside(WORK) do |pid|
      serving { |port| assert_match(/at most 60; with HEAPPROF_TOKEN at most 600$/, get(port, "/#{pid}/debug/pprof/profile?seconds=61").body) }
      serving(env: { "HEAPPROF_TOKEN" => "t" }) do |port|
        assert_match(/at most 600$/, get(port, "/#{pid}/debug/pprof/profile?seconds=601&token=t").body)
        assert_nil IO.select([ask(port, "/#{pid}/debug/pprof/profile?seconds=600&token=t")], nil, nil, 0)
      end
    end
  end

  # A connection may need two descriptors, and 128 are kept for other things.
  def test_of_too_many_connections_the_oldest_that_has_not_asked_goes
    beside(WORK) do |pid|
      serving(rlimit_nofile: 128 + 2 * 50) do |port|
        waiting = ask(port, "/#{pid}/debug/pprof/profile?seconds=60")
        silent = Array.new(49) { closed_at_the_end(TCPSocket.new("127.0.0.1", port)) }
        assert_equal 200, get(port, "/").status
        assert_equal "", silent.shift.read
        assert_nil IO.select([waiting, *silent], nil, nil, 0)
      end
    end
  end

  # The server's ten seconds are waited for. The deep stacks of many threads are more than fits into the kernel's buffers.
  def test_a_client_that_does_not_come_to_an_end_is_left
    beside("def deep(n) = n == 0 ? sleep : deep(n - 1)\nArray.new(100) { Thread.new { deep(200) } }.each { |each| Thread.pass until each.stop? }\n" \
           "$ready.call\nsleep") do |pid|
      in_directory do |directory|
        serving("#{directory}/socket") do |path|
          reads_not = ask(path, "/#{pid}/debug/pprof/threads")
          silent, slow = closed_at_the_end(UNIXSocket.new(path)), ask(path, "/", "Host: localhost\r\nAccept: ")
          drip = Thread.new do
            loop { slow.write("x") && sleep(0.2) }
          rescue SystemCallError
            true
          end
          assert_equal "", silent.read
          assert drip.value
          sleep 0.01 until File.readlines("/proc/net/unix").grep(/#{path}$/).size == 1 # the one that listens
          head, body = reads_not.read.b.split("\r\n\r\n", 2)
          assert_operator body.bytesize, :<, Integer(head[/Content-Length: (\d+)/, 1])
          assert_equal 200, get(path, "/").status
        end
      end
    end
  end

  # ---- what is refused ----

  def test_wrong_questions
    serving do |port|
      { "/nothing" => 404, "/debug/pprof/heap" => 400, "/debug/pprof/heap?pid=x" => 400, "/debug/pprof/soul?pid=1" => 404,
        "/4194304/debug/pprof/heap" => 404, "/1/debug/pprof/profile?seconds=0" => 400, "/1/debug/pprof/profile?seconds=nan" => 400,
        "/1/debug/pprof/profile?seconds=1e9" => 400, "/99999999999999999999/debug/pprof/heap" => 404, "/?pid=%" => 400,
        "/1/debug/pprof/heap?gc=1" => 400, "/1/debug/pprof/heap?second=5" => 400, "/1/debug/pprof/threads?seconds=5" => 400,
        "/1/debug/pprof/profile?debug=1" => 400, "/?token=x" => 200 }.each do |path, status|
        answer = get(port, path)
        assert_equal status, answer.status, path
        assert_equal 1, answer.body.lines.size, path unless status == 200
      end
      assert_equal 405, get(port, "/", method: "DELETE").status
      assert_equal 431, get(port, "/#{'x' * 100_000}").status
      assert_equal 431, get(port, "/", (0..99).to_h { |i| ["Accept", "x" * i] }.merge((0..99).to_h { |i| ["accept-#{i}", ""] })).status
      ["GET / HTTP/1.1\r\nHost\r\n\r\n", "GET /\r\n\r\n", "\r\n\r\n", "GET http://localhost/ HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\n a: b\r\n\r\n",
       "GET / HTTP/1.1\r\nAccept: \0\r\n\r\n", "GET / HTTP/1.1\r\nHost : localhost\r\n\r\n"].each { |bytes| assert_equal 400, raw(port, bytes).status, bytes }
      ["GET /\xff HTTP/1.1\r\nHost: localhost\r\n\r\n", "GET / HTTP/1.1\r\nHost: localhost\r\nAccept: \xc3\r\n\r\n"].each do |bytes|
        assert_equal [403, "the request is not UTF-8\n"], raw(port, bytes).to_a.values_at(0, 2)
      end
    end
    assert_equal 0, @status.exitstatus
  end

  def raw(port, bytes)
    socket = TCPSocket.new("127.0.0.1", port)
    socket.write(bytes.b)
    head, body = socket.read.b.split("\r\n\r\n", 2)
    Answer.new(head[/\d{3}/].to_i, head, body)
  ensure
    socket&.close
  end

  # ---- who may ask ----

  def forbidden(...)
    answer = get(...)
    assert_equal [403, 1], [answer.status, answer.body.lines.size], answer.body
    answer.body[/\Aforbidden: (.*?); /, 1]
  end

  def test_a_client_of_this_host_may_ask_and_no_proxy_and_no_page_of_elsewhere
    serving do |port|
      ["127.0.0.1", "127.0.0.1:#{port}", "localhost", "LOCALHOST:1", "[::1]:#{port}"].each { |host| assert_equal 200, get(port, "/", "Host" => host).status, host }
      ["attacker.example", "localhost.attacker.example", "127.0.0.1.attacker.example", "", "10.0.0.1", "[::1", "localhost:x"].each do |host|
        assert_equal "the request is not for localhost", forbidden(port, "/", "Host" => host), host
      end
      assert_equal 403, raw(port, "GET / HTTP/1.0\r\n\r\n").status
      assert_equal 403, raw(port, "GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n").status
      %w[Forwarded Via X-Forwarded-For X-Forwarded-Host X-Real-IP True-Client-IP CF-Connecting-IP CF-Ray CDN-Loop Fastly-Client-IP X-Client-IP
         X-Cluster-Client-IP X-Envoy-External-Address X-Amzn-Trace-Id X-Amz-Cf-Id X-Original-URL X-Request-Id Akamai-Origin-Hop Fly-Client-IP
         X-Vercel-Id X_Forwarded_For Proxy-Connection traceparent Origin].each do |name|
        assert_equal "a client of this host sends no header #{name}", forbidden(port, "/", name => "127.0.0.1")
      end
      browser = { "User-Agent" => "Mozilla/5.0", "Accept-Language" => "en", "Cookie" => "a=b", "Sec-Fetch-Mode" => "navigate", "Sec-CH-UA" => "x" }
      %w[none same-origin].each { |site| assert_equal 200, get(port, "/", browser.merge("Sec-Fetch-Site" => site)).status }
      [browser, { "User-Agent" => "Mozilla/4.0" }, { "Referer" => "http://localhost/" }].product([nil, "cross-site", "same-site", ""]) do |headers, site|
        headers = headers.merge("Sec-Fetch-Site" => site) if site
        assert_equal "a page of another site has sent the browser here", forbidden(port, "/", headers)
      end
      assert_equal 403, raw(port, "GET / HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: none\r\nSec-Fetch-Site: cross-site\r\n\r\n").status
    end
  end

  def test_with_a_token_nobody_may_ask_without_it
    in_directory do |directory|
      ["0.0.0.0:0", "127.0.0.1:0", "#{directory}/socket"].each do |where|
        serving(where, env: { "HEAPPROF_TOKEN" => "secret" }) do |place|
          ["Bearer secre", "Bearer secrets", "Bearer Secret", "Bearer ", "Bearer", "Bearer secretsecret", "secret", "Basic secret"].each do |value|
            assert_equal "the token is missing or wrong", forbidden(place, "/", "Authorization" => value), value
          end
          assert_equal "the token is missing or wrong", forbidden(place, "/")
          ["/?token=", "/?token=secre", "/?token=secret%00", "/?Token=secret", "/?token=%"].each { |path| forbidden(place, path) }
          assert_equal 200, get(place, "/", "Host" => "host.example", "Via" => "1.1 proxy", "Authorization" => "Bearer secret").status
          assert_equal 200, get(place, "/?token=s%65cret", "Host" => "host.example").status
        end
      end
      assert_refused 1, /HEAPPROF_TOKEN is empty/, "serve", "--listen", "127.0.0.1:0", env: { "HEAPPROF_TOKEN" => "" }
    end
  end

  # Connects from a process that has these descriptors besides, and asks; what it says why not.
  def asked_with(where, *descriptors)
    client = where.is_a?(Integer) ? "TCPSocket.new('127.0.0.1', #{where})" : "UNIXSocket.new(#{where.dump})"
    script = "socket = #{client}; socket.write(%(GET / HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n)); print socket.read"
    out, = Open3.capture2(*RUBY, "-rsocket", "-e", script, descriptors.to_h { |io| [io, io] })
    out.b[/forbidden: (.*?); /, 1] || out.b[/\d{3}/].to_i
  end

  def test_a_process_that_listens_or_has_accepted_is_a_proxy
    in_directory do |directory|
      front, other = TCPServer.new("127.0.0.1", 0), UNIXServer.new("#{directory}/front")
      clients = [front.local_address.connect, other.local_address.connect]
      accepted = [front.accept, other.accept]
      [front, other, *clients, *accepted].each { |io| closed_at_the_end(io) }
      ["127.0.0.1:0", "#{directory}/socket"].each do |where|
        serving(where) do |place|
          [front, other, *accepted].each do |io|
            assert_equal "the client's process answers requests itself, as a proxy does", asked_with(place, io)
          end
          assert_equal 200, asked_with(place, *clients)
        end
      end
    end
  end

  AS_USER = %w[setpriv --reuid 65534 --regid 65534 --clear-groups].freeze

  # What a client of another user is answered: the status, and the rest.
  def as_user(port, path)
    script = "socket = TCPSocket.new('127.0.0.1', #{port}); socket.write(%(GET #{path} HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n)); print socket.read"
    out, = Open3.capture2(*AS_USER, *RUBY, "-rsocket", "-e", script)
    head, body = out.b.split("\r\n\r\n", 2)
    [head[/\d{3}/].to_i, body]
  end

  BECOME = "Process::GID.change_privilege(65_534); Process::UID.change_privilege(65_534); "

  def test_a_server_of_roots_gives_a_user_what_that_user_may_read
    needs_other_users
    beside(WORK) do |roots|
      beside(WORK, ruby: [*AS_USER, *RUBY]) do |users|
        beside(BECOME + WORK) do |undumpable|
          beside("Process::Sys.setreuid(65_534, 0); " + WORK) do |setuid|
            beside(WORK, ruby: ["setpriv", "--reuid", "65534", "--clear-groups", *RUBY]) do |of_group|
              serving do |port|
                assert_equal 200, get(port, "/#{users}/debug/pprof/threads").status
                reasons = { roots => "it is another user's", setuid => "it is another user's", undumpable => "it is not dumpable", of_group => "it is of another group" }
                reasons.each do |pid, why|
                  ["threads", "heap", "profile?seconds=1"].each do |name|
                    line = "process #{pid}: not permitted to user 65534: #{why}; ask as root, or with HEAPPROF_TOKEN\n"
                    assert_equal [403, line], as_user(port, "/#{pid}/debug/pprof/#{name}")
                  end
                end
                assert_equal 200, as_user(port, "/#{users}/debug/pprof/threads")[0]
                assert_equal 200, as_user(port, "/#{users}/debug/pprof/profile?seconds=0.1")[0]
                all = [roots, users, undumpable, setuid, of_group]
                assert_equal [users], all & as_user(port, "/")[1].scan(/\/(\d+)\/debug/).flatten.map(&:to_i)
                assert_equal [users], all & JSON.parse(as_user(port, "/targets")[1]).map { |each| each["labels"]["pid"].to_i }
                assert_equal all, all & get(port, "/").body.scan(/\/(\d+)\/debug/).flatten.map(&:to_i)
                # The same as `heapprof snapshot` would say to that user.
                _, error, status = Open3.capture3(*AS_USER, PROGRAM, "stacks", undumpable.to_s)
                refute_predicate status, :success?
                assert_match(/not permitted/, error)
              end
            end
          end
        end
      end
    end
  end

  def test_a_socket_file_is_for_its_owner
    in_directory do |directory|
      path = "#{directory}/socket"
      serving(path) do |place|
        assert_equal path, place
        assert_equal "140600", File.stat(path).mode.to_s(8)
        assert_equal 200, get(path, "/", "Host" => "anything").status
        assert_equal "a client of this host sends no header Via", forbidden(path, "/", "Via" => "1.1 proxy")
        assert_refused 1, /another program listens there/, "serve", "--listen", path
      end
      assert_empty Dir.children(directory)
    end
  end

  # Root's is in /run, which a test leaves alone.
  def test_without_listen_a_user_gets_a_socket_file_in_the_directory_of_the_session
    needs_other_users
    Dir.mktmpdir("heapprof", "/tmp") do |directory| # a user may come there
      File.chown(65_534, 65_534, directory)
      read, write = IO.pipe
      pid = Process.spawn({ "XDG_RUNTIME_DIR" => directory, "HEAPPROF_TOKEN" => nil }, *AS_USER, PROGRAM, "serve", err: write)
      write.close
      assert_equal "heapprof serve: listening at #{directory}/heapprof.sock\n", read.gets
      assert_equal "140600", File.stat("#{directory}/heapprof.sock").mode.to_s(8)
      Process.kill(:TERM, pid)
      Process.wait(pid)
      out, = Open3.capture2e({ "XDG_RUNTIME_DIR" => nil }, *AS_USER, PROGRAM, "serve")
      assert_match(/\Aheapprof serve: --listen is missing, and XDG_RUNTIME_DIR is not set: /, out)
    ensure
      read&.close
    end
  end

  def test_wrong_places
    ["1", "localhost", "127.0.0.1:x", "127.0.0.1:70000"].each { |where| assert_refused 2, /--listen=/, "serve", "--listen", where }
    assert_refused 1, /set HEAPPROF_TOKEN/, "serve", "--listen", "0.0.0.0:0", env: { "HEAPPROF_TOKEN" => nil }
    assert_refused 1, /No such file/, "serve", "--listen", "/nowhere/socket"
  end
end
