# frozen_string_literal: true

# test_rack.rb - profiles over HTTP (lib/heapprof/rack.rb): for what, and what comes. Without a server first, by the
# environment that one makes; then `go tool pprof` asks a small one. Who may ask is in test_rack_admission.rb; puma is in
# test/programs and test/proxies.

require_relative "lib/heapprof_test"
require_relative "lib/rack_request"

class TestHeapProfRack < Test::Unit::TestCase
  include HeapProfTest

  def in_rack(script) = in_child(RackRequest::SOURCE + script)

  # ---- what comes ----

  def test_heap_and_allocs_are_profiles_that_begin_with_their_sample_type
    in_directory do
      in_rack(<<~'RUBY')
        class Item; end
        HeapProfile.start(interval: 1)
        kept = Array.new(50) { Item.new }
        %w[heap allocs].each do |name|
          status, headers, body = get(Heapprof::Rack.new(token: "t"), "/debug/pprof/#{name}?gc=1&token=t")
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
        File.binwrite("difference.pb.gz", thread.value)
      RUBY
      assert_equal [0, 30], %w[Early Late].map { |name| read_profile("difference.pb.gz").total(class_name: name) }
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
        status, headers, = get(app, "", SCRIPT_NAME: "/a%20b\r\nset-cookie: c\u00e9")
        assert_equal [301, "/a%20b%0D%0Aset-cookie%3A%20c%C3%A9/"], [status, headers["location"]]
      end
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
      { "seconds=61" => "seconds: expected 0 to 60", "seconds=-1" => "seconds: expected 0 to 60", "seconds=1.5" => "seconds: expected 0 to 60",
        "seconds=" => "seconds: expected 0 to 60", "debug=3" => "debug: expected 0 to 2", "gc=yes" => "gc: expected 0 to 999999999",
        "seconds=#{'9' * 100_000}" => "seconds: expected 0 to 60", "gc=%ff" => "gc: expected 0 to 999999999",
        "gc=\u00e9" => "the query is malformed" }.each do |query, line|
        assert_equal [400, line], refused(Heapprof::Rack, "/heap?#{query}")
      end
      with_token = Heapprof::Rack.new(token: "t")
      assert_equal [400, "seconds: expected 0 to 3600"], refused(with_token, "/heap?token=t&seconds=3601")
      assert_raise_with_message(ArgumentError, "token: is empty") { Heapprof::Rack.new(token: "") }
      assert_raise_with_message(ArgumentError, /unknown keyword: :pth/) { Heapprof::Rack.new(pth: "/") }
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
                "REMOTE_ADDR" => client.remote_address.ip_address, "puma.socket" => client }
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
