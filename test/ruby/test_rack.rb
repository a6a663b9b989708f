# frozen_string_literal: true

# test_rack.rb - profiles over HTTP (lib/heapprof/rack.rb): who may ask, for what, and what comes. Without a
# server first, by the environment that one makes; then `go tool pprof` asks a small one. Puma is in
# test/programs.

require_relative "lib/heapprof_test"

class TestHeapProfRack < Test::Unit::TestCase
  include HeapProfTest

  RACK = <<~'RUBY'
    require "heapprof/rack"
    require "zlib"
    LOCAL = { "REQUEST_METHOD" => "GET", "SCRIPT_NAME" => "", "QUERY_STRING" => "", "REMOTE_ADDR" => "127.0.0.1",
              "HTTP_HOST" => "localhost:9292" }.freeze

    def get(app, path, **env)
      path, query = path.b.split("?", 2)
      env = env.transform_keys(&:to_s)
      app.call(LOCAL.merge("PATH_INFO" => path, "QUERY_STRING" => query.to_s).merge(env).compact)
    end

    def status(...) = get(...)[0]
    def body(...) = get(...)[2].join

    # One line in plain text, that is said of it.
    def refused(app, path, **env)
      status, headers, body = get(app, path, **env)
      assert_equal "text/plain; charset=utf-8", headers["content-type"]
      assert_match(/\A[^\n]+\n\z/, body.join)
      [status, body.join.chomp]
    end
  RUBY

  def in_rack(script) = in_child(RACK + script)

  # ---- what comes ----

  def test_heap_and_allocs_are_profiles_that_begin_with_their_sample_type
    in_directory do
      in_rack(<<~'RUBY')
        class Item; end
        HeapProfile.start(interval: 1)
        kept = Array.new(50) { Item.new }
        %w[heap allocs].each do |name|
          status, headers, body = get(Heapprof::Rack.new, "/debug/pprof/#{name}?gc=1")
          assert_equal [200, "application/octet-stream", "attachment; filename=\"#{name}\"", "no-store"],
                       [status, *headers.values_at("content-type", "content-disposition", "cache-control")]
          assert_equal headers["content-length"], body.join.bytesize.to_s
          File.binwrite("#{name}.pb.gz", body.join)
        end
        assert_equal 50, kept.size
      RUBY
      assert_equal [50, 50], %w[heap allocs].map { |name| read_profile("#{name}.pb.gz").total(class_name: "Item") }
      assert_match(/^Type: inuse_space$/, pprof("-top", "heap.pb.gz"))
      assert_match(/^Type: alloc_space$/, pprof("-top", "allocs.pb.gz"))
    end
  end

  def test_gc_is_done_when_it_is_asked_for
    in_directory do
      in_rack(<<~'RUBY')
        class Item; end
        def make = Array.new(100) { Item.new }
        HeapProfile.start(interval: 1)
        GC.disable
        make.clear
        before = GC.count
        File.binwrite("without.pb.gz", body(Heapprof::Rack, "/heap"))
        GC.enable
        File.binwrite("with.pb.gz", body(Heapprof::Rack, "/heap?gc=1"))
        assert_operator GC.count, :>, before
      RUBY
      assert_equal 100, read_profile("without.pb.gz").total(class_name: "Item")
      assert_operator read_profile("with.pb.gz").total(class_name: "Item"), :<, 5
    end
  end

  def test_seconds_are_what_has_changed_in_them
    in_directory do
      in_rack(<<~'RUBY')
        class Early; end
        class Late; end
        HeapProfile.start(interval: 1)
        $kept = Array.new(50) { Early.new }
        thread = Thread.new { body(Heapprof::Rack, "/heap?seconds=1") }
        sleep 0.01 until thread.backtrace&.first.to_s.include?("sleep") # as between its two snapshots alone
        $kept.concat(Array.new(30) { Late.new })
        File.binwrite("p.pb.gz", thread.value)
      RUBY
      assert_equal [0, 30], %w[Early Late].map { |name| read_profile("p.pb.gz").total(class_name: name) }
    end
  end

  def test_debug_is_text_the_index_is_a_page_and_cmdline_says_how_it_was_started
    in_rack(<<~'RUBY')
      class Item; end
      HeapProfile.start(interval: 1)
      kept = Array.new(50) { Item.new }
      %w[heap allocs].zip(%w[inuse_space alloc_space]) do |name, by|
        [1, 2].each do |level|
          status, headers, body = get(Heapprof::Rack, "/#{name}?debug=#{level}")
          assert_equal [200, "text/plain; charset=utf-8"], [status, headers["content-type"]]
          assert_match(/\A#{by}, process #{$$}: /, body.join)
          assert_match(/^ +#{format('%.2f', 50 * SLOTS[0] / 1024.0)} kB .*  Item$/, body.join)
        end
      end
      $0 = "<app>"
      status, headers, body = get(Heapprof::Rack, "/debug/pprof/")
      assert_equal [200, "text/html; charset=utf-8"], [status, headers["content-type"]]
      assert_match(/process #{$$}: &lt;app&gt;/, body.join)
      assert_equal %w[heap heap?debug=1 allocs allocs?debug=1 cmdline], body.join.scan(/href="([^"]*)"/).flatten
      ARGV.replace(%w[a b])
      assert_equal "<app>\0a\0b", body(Heapprof::Rack, "/cmdline")
      assert_equal 50, kept.size
    RUBY
  end

  def test_head_has_no_body
    in_rack(<<~'RUBY')
      HeapProfile.start
      status, headers, body = get(Heapprof::Rack, "/heap", REQUEST_METHOD: "HEAD")
      assert_equal [200, "application/octet-stream", []], [status, headers["content-type"], body]
    RUBY
  end

  # ---- where ----

  def test_in_front_of_an_application_it_answers_below_its_path_alone
    in_rack(<<~'RUBY')
      HeapProfile.start
      app = ->(env) { [299, {}, ["#{env['SCRIPT_NAME']}#{env['PATH_INFO']}"]] }
      front = Heapprof::Rack.new(app)
      ["/", "/debug", "/debug/pprofs", "/debug/pprofheap", "/heap", "/x/debug/pprof/heap", ""].each do |path|
        assert_equal [299, path], [status(front, path), body(front, path)]
      end
      assert_equal [200, 200, 404], %w[/debug/pprof/ /debug/pprof/heap /debug/pprof/x].map { |path| status(front, path) }
      assert_equal 200, status(front, "/heap", SCRIPT_NAME: "/debug/pprof")
      assert_equal 299, status(front, "/debug/pprof/heap", SCRIPT_NAME: "/x")
      other = Heapprof::Rack.new(app, path: "/admin/profiles/")
      assert_equal [299, 200], [status(other, "/debug/pprof/heap"), status(other, "/admin/profiles/heap")]
    RUBY
  end

  def test_as_an_application_it_answers_where_it_is_mounted
    in_rack(<<~'RUBY')
      HeapProfile.start
      [Heapprof::Rack, Heapprof::Rack.new].each do |app|
        assert_equal [200] * 4, %w[/ /heap /debug/pprof/ /debug/pprof/heap].map { |path| status(app, path) }
        assert_equal 200, status(app, "/heap", SCRIPT_NAME: "/debug/pprof")
        { "/debug/pprof" => "", "" => "/debug/pprof" }.each do |script, path|
          status, headers, = get(app, path, SCRIPT_NAME: script)
          assert_equal [301, "/debug/pprof/"], [status, headers["location"]]
        end
      end
    RUBY
  end

  # ---- who may ask ----

  def test_closed_but_to_local_requests
    in_rack(<<~'RUBY')
      HeapProfile.start
      app = Heapprof::Rack.new
      open = [{}, { REMOTE_ADDR: "::1" }, { REMOTE_ADDR: "127.3.4.5" }, { REMOTE_ADDR: "::ffff:127.0.0.1" },
              { HTTP_HOST: "127.0.0.1" }, { HTTP_HOST: "[::1]:80" }, { HTTP_HOST: "LOCALHOST" }, { HTTP_HOST: nil, SERVER_NAME: "localhost" },
              { HTTP_X_FORWARDED_FOR: "127.0.0.1, ::1" }, { HTTP_X_REAL_IP: "127.0.0.1" }]
      open.each { |env| assert_equal 200, status(app, "/heap", **env), env.inspect }
      closed = [{ REMOTE_ADDR: "10.0.0.1" }, { REMOTE_ADDR: nil }, { REMOTE_ADDR: "" }, { REMOTE_ADDR: "localhost" }, { REMOTE_ADDR: "127.0.0.0/8" },
                { REMOTE_ADDR: "::ffff:10.0.0.1" }, { REMOTE_ADDR: "128.0.0.1" }, { REMOTE_ADDR: "unix:" },
                { HTTP_HOST: "evil.example" }, { HTTP_HOST: "localhost.evil.example:80" }, { HTTP_HOST: "10.0.0.1" }, { HTTP_HOST: nil },
                { HTTP_HOST: "127.0.0.1.evil.example" }, { HTTP_HOST: "" }, { HTTP_HOST: "[::1" },
                { HTTP_X_FORWARDED_FOR: "8.8.8.8" }, { HTTP_X_FORWARDED_FOR: "127.0.0.1, 8.8.8.8" }, { HTTP_X_FORWARDED_FOR: "8.8.8.8, 127.0.0.1" },
                { HTTP_X_FORWARDED_FOR: "unknown" }, { HTTP_X_REAL_IP: "8.8.8.8" }, { HTTP_X_REAL_IP: "" }, { HTTP_CF_CONNECTING_IP: "8.8.8.8" },
                { HTTP_FORWARDED: "for=127.0.0.1" }, { HTTP_VIA: "1.1 proxy" }, { HTTP_X_FORWARDED_HOST: "localhost" },
                { HTTP_AUTHORIZATION: "Bearer " }, { QUERY_STRING: "token=" }]
      closed.each do |env|
        env = { REMOTE_ADDR: "10.0.0.1" }.merge(env) if env.key?(:HTTP_AUTHORIZATION) || env.key?(:QUERY_STRING)
        ["/heap", "/", "/cmdline", "/nothing"].each do |path|
          assert_equal [403, "forbidden: not from this host, and without the token"], refused(app, path, **env), env.inspect
        end
      end
    RUBY
  end

  def test_token_lets_in_from_anywhere
    in_rack(<<~'RUBY')
      HeapProfile.start
      far = { REMOTE_ADDR: "10.0.0.1", HTTP_HOST: "shop.example" }
      app = Heapprof::Rack.new(token: "s3cret=&")
      assert_equal 403, status(app, "/heap", **far)
      ["Bearer s3cret=&", "bearer   s3cret=&", "BEARER s3cret=& "].each do |value|
        assert_equal 200, status(app, "/heap", **far, HTTP_AUTHORIZATION: value)
      end
      assert_equal 200, status(app, "/heap?token=s3cret%3D%26&gc=1", **far)
      ["s3cret=&", "Bearer s3cret=", "Bearer s3cret=&&", "Basic s3cret=&", "Bearer", ""].each do |value|
        assert_equal 403, status(app, "/heap", **far, HTTP_AUTHORIZATION: value), value
      end
      ["token=s3cret", "token=", "token=s3cret%3D%26%00", "Token=s3cret%3D%26"].each do |query|
        assert_equal 403, status(app, "/heap?#{query}", **far), query
      end
      assert_equal 200, status(app, "/heap")
      far_only = Heapprof::Rack.new(token: "t", local: false)
      assert_equal [403, 200], [status(far_only, "/heap"), status(far_only, "/heap?token=t")]
      assert_equal 403, status(Heapprof::Rack.new(local: false), "/heap?token=")
      assert_raise_with_message(ArgumentError, "token: is empty") { Heapprof::Rack.new(token: "") }
    RUBY
  end

  # ---- what is refused ----

  def test_refusals_are_one_line_each
    in_rack(<<~'RUBY')
      assert_equal [503, "the heap profiler is not running: set RUBY_HEAPPROF=1 where the server is started, " \
                         "or call ObjectSpace::HeapProfile.start"], refused(Heapprof::Rack, "/heap")
      assert_equal 200, status(Heapprof::Rack, "/")
      HeapProfile.start
      %w[/goroutine /heap/ /heap/x /..%2fheap /HEAP //heap].each do |path|
        assert_equal [404, "no such profile: expected heap, allocs or cmdline"], refused(Heapprof::Rack, path)
      end
      %w[POST PUT DELETE OPTIONS].each do |method|
        status, line = refused(Heapprof::Rack, "/heap", REQUEST_METHOD: method)
        assert_equal [405, "method not allowed: expected GET or HEAD"], [status, line]
        assert_equal "GET, HEAD", get(Heapprof::Rack, "/heap", REQUEST_METHOD: method)[1]["allow"]
      end
      { "seconds=3601" => "seconds: expected 0 to 3600", "seconds=-1" => "seconds: expected 0 to 3600", "seconds=1.5" => "seconds: expected 0 to 3600",
        "seconds=" => "seconds: expected 0 to 3600", "debug=3" => "debug: expected 0 to 2", "gc=yes" => "gc: expected 0 to 999999999",
        "seconds=#{'9' * 100_000}" => "seconds: expected 0 to 3600", "gc=%ff" => "gc: expected 0 to 999999999",
        "gc=\xff" => "the query is malformed" }.each do |query, line|
        assert_equal [400, line], refused(Heapprof::Rack, "/heap?#{query}")
      end
    RUBY
  end

  # ---- go tool pprof ----

  # Each connection has one request, without a body; the rest is the application's.
  SERVER = <<~'RUBY'
    require "socket"
    require "heapprof/rack"
    server = TCPServer.new("127.0.0.1", 0)
    app = Heapprof::Rack.new(->(env) { [404, {}, []] })
    class Item; end
    $kept = Array.new(50) { Item.new }
    puts server.addr[1]
    $stdout.flush
    while (socket = server.accept)
      Thread.new(socket) do |client|
        method, path, = client.gets.split
        headers = {}
        while (line = client.gets.chomp) != ""
          name, value = line.split(": ", 2)
          headers["HTTP_#{name.upcase.tr('-', '_')}"] = value
        end
        path, query = path.split("?", 2)
        env = { "REQUEST_METHOD" => method, "SCRIPT_NAME" => "", "PATH_INFO" => path, "QUERY_STRING" => query.to_s,
                "REMOTE_ADDR" => client.remote_address.ip_address }
        status, head, body = app.call(headers.merge(env))
        client << "HTTP/1.1 #{status} x\r\n" << head.map { |pair| pair.join(": ") + "\r\n" }.join << "connection: close\r\n\r\n" << body.join
        client.close
      end
    end
  RUBY

  def test_go_tool_pprof_reads_them_from_a_server
    in_directory do
      env = clean("RUBY_HEAPPROF" => "interval=1")
      Open3.popen3(env, *[EnvUtil.rubybin], "--disable-gems", write_file("server.rb", SERVER)) do |_, out, _, process|
        base = "http://localhost:#{out.gets.to_i}/debug/pprof"
        items = format("%.2fkB", 50 * GC.stat_heap(0, :slot_size) / 1024.0)
        assert_match(/^Type: inuse_space$.* #{items}.* Class#new/m, pprof("-top", "-tagfocus=class=Item", "#{base}/heap?gc=1"))
        assert_match(/^Type: alloc_space$/, pprof("-top", "#{base}/allocs"))
        assert_match(/^Type: inuse_space$/, pprof("-top", "-seconds=1", "#{base}/heap"))
      ensure
        Process.kill(:KILL, process.pid)
        FileUtils.rm_f(Dir.glob("#{Dir.tmpdir}/pprof.*")) # what it fetches it keeps
      end
    end
  end
end
