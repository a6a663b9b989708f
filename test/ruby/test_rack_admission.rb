# frozen_string_literal: true

# test_rack_admission.rb - who may ask heapprof/rack, and how much (lib/heapprof/rack/). Connections are true ones, with a
# process at the other end; what only a proxy's process has is made there. Proxies themselves: test/proxies.

require_relative "lib/heapprof_test"
require_relative "lib/rack_request"
require "heapprof/rack"

class TestHeapProfRackAdmission < Test::Unit::TestCase
  include HeapProfTest

  Limits = Heapprof::Rack::Limits
  Peer = Heapprof::Rack::Peer

  def in_rack(script, **options) = in_child(RackRequest::SOURCE + script, **options)

  # ---- the token ----

  def test_with_a_token_nobody_is_answered_without_it
    in_rack(<<~'RUBY')
      HeapProfile.start
      app = Heapprof::Rack.new(token: "s3cret=&")
      unix = connected(unix_server)
      [{}, { socket: unix }, { socket: nil }, { REMOTE_ADDR: "10.0.0.1", HTTP_HOST: "shop.example", HTTP_X_FORWARDED_FOR: "8.8.8.8" }].each do |env|
        ["/heap", "/", "/cmdline", "/nothing", "/heap?token=", "/heap?%"].each do |path|
          assert_equal "the token is missing or wrong", forbidden(app, path, **env), env.inspect
        end
        ["Bearer s3cret=&", "bearer   s3cret=&", "BEARER s3cret=& "].each do |value|
          assert_equal 200, status(app, "/heap", **env, HTTP_AUTHORIZATION: value)
        end
        assert_equal 200, status(app, "/heap?token=s3cret%3D%26&gc=1", **env)
        ["s3cret=&", "Bearer s3cret=", "Bearer s3cret=&&", "Basic s3cret=&", "Bearer", "Bearer ", ""].each do |value|
          forbidden(app, "/heap", **env, HTTP_AUTHORIZATION: value)
        end
        ["token=s3cret", "token=", "token=s3cret%3D%26%00", "Token=s3cret%3D%26", "token=%ff"].each do |query|
          forbidden(app, "/heap?#{query}", **env)
        end
      end
    RUBY
  end

  # As before 1.0.0.
  def test_with_local_false_nobody_is_answered_without_a_token
    in_rack(<<~'RUBY')
      socket = connected(unix_server)
      assert_equal "no token is set, and local: is false", forbidden(Heapprof::Rack.new(local: false), "/", socket: socket)
      assert_equal 200, status(Heapprof::Rack.new(local: true), "/", socket: socket)
      [true, false].each do |local|
        app = Heapprof::Rack.new(token: "t", local: local)
        forbidden(app, "/", socket: socket)
        assert_equal 200, status(app, "/?token=t", socket: socket)
      end
    RUBY
  end

  # ---- the connection ----

  def test_without_one_a_client_of_this_host_is_answered
    in_rack(<<~'RUBY')
      servers = [TCPServer.new("127.0.0.1", 0), unix_server]
      servers << TCPServer.new("::1", 0) if Socket.ip_address_list.any?(&:ipv6_loopback?)
      servers.each { |server| assert_equal 200, status(Heapprof::Rack, "/", socket: connected(server)), server.inspect }
    RUBY
  end

  def test_a_client_of_IPv4_is_found_behind_a_server_of_IPv6
    in_rack(<<~'RUBY')
      omit "no IPv6" unless Socket.ip_address_list.any?(&:ipv6_loopback?)
      server = TCPServer.new("::", 0)
      ["127.0.0.1", "::1", "::ffff:127.0.0.1"].each do |address|
        socket = connected(server, to: Addrinfo.tcp(address, server.addr[1]))
        assert_equal 200, status(Heapprof::Rack, "/", socket: socket, HTTP_HOST: "[::1]"), address
      end
    RUBY
  end

  def test_a_client_that_has_asked_all_it_wants_is_answered_and_one_that_is_gone_is_not
    in_rack(<<~'RUBY')
      server = TCPServer.new("127.0.0.1", 0)
      client = server.local_address.connect
      socket = server.accept
      pid = spawn("cat", in: client, out: File::NULL)
      client.shutdown(Socket::SHUT_WR)
      client.close
      assert_equal "", socket.read
      assert_equal 200, status(Heapprof::Rack, "/", socket: socket)
      Process.kill(:KILL, pid)
      Process.wait(pid)
      # The kernel keeps the connection as root's, without an inode, until we close it.
      assert_equal "the client's socket is not in the kernel's tables", forbidden(Heapprof::Rack, "/", socket: socket)
    RUBY
  end

  def test_without_the_connection_or_from_elsewhere_nobody_is_answered
    in_rack(<<~'RUBY')
      app = Heapprof::Rack.new
      [nil, "socket", Object.new, $stdin].each do |io|
        assert_equal "this server does not give the connection to its applications", forbidden(app, socket: io), io.inspect
      end
      assert_equal "the connection is closed", forbidden(app, socket: TCPServer.open("127.0.0.1", 0) { |server| connected(server) }.tap(&:close))
      address = Socket.ip_address_list.find { |each| each.ipv4? && !each.ipv4_loopback? }
      if address
        socket = connected(TCPServer.new(address.ip_address, 0))
        assert_equal "the client is not on this host", forbidden(app, socket: socket)
      end
    RUBY
  end

  def test_a_process_that_listens_or_has_accepted_is_a_proxy
    in_rack(<<~'RUBY')
      tcp, unix = TCPServer.new("127.0.0.1", 0), unix_server
      front, other = TCPServer.new("127.0.0.1", 0), unix_server
      [[front], [other]].each do |mine,|
        accepted = [mine.local_address.connect, mine.accept]
        [tcp, unix].each do |server|
          [mine, accepted[1]].each do |io|
            assert_equal "the client's process answers requests itself, as a proxy does", forbidden(Heapprof::Rack, socket: connected(server, io))
          end
          assert_equal 200, status(Heapprof::Rack, "/", socket: connected(server, accepted[0]))
        end
      end
      client = tcp.local_address.connect
      shared = tcp.accept
      spawn("cat", in: client, out: File::NULL)
      spawn("cat", in: client, out: File::NULL, front => front)
      client.close
      forbidden(Heapprof::Rack, "/", socket: shared)
    RUBY
  end

  def test_other_users_are_not_answered_nor_who_borrows_a_user
    omit "needs root" unless Process.uid.zero?
    in_rack(<<~'RUBY')
      servers = [TCPServer.new("127.0.0.1", 0), unix_server]
      servers.each do |server|
        socket = connected(server) { Process::UID.change_privilege(65_534) }
        assert_equal "the client is user 65534, and this process is not", forbidden(Heapprof::Rack, "/", socket: socket)
        socket = connected(server) { Process::Sys.setreuid(65_534, 0) }
        assert_equal "the client's process has other rights than its user", forbidden(Heapprof::Rack, "/", socket: socket)
      end
      # As a server of that user: its own clients, and of root none, whose descriptors it does not see.
      own, roots = servers.map { |server| connected(server) { Process::UID.change_privilege(65_534) } }, servers.map { |server| connected(server) }
      Process::UID.change_privilege(65_534)
      own.each { |socket| assert_equal 200, status(Heapprof::Rack, "/", socket: socket) }
      roots.each { |socket| assert_equal "the client's process cannot be seen: ask as this process's user", forbidden(Heapprof::Rack, "/", socket: socket) }
    RUBY
  end

  # ---- what a request says ----

  PROXIES = %w[FORWARDED VIA X_FORWARDED_FOR X_FORWARDED_HOST X_FORWARDED_PROTO X_FORWARDED_PORT X_FORWARDED_SERVER X_FORWARDED_PREFIX
               X_REAL_IP TRUE_CLIENT_IP CLIENT_IP X_CLIENT_IP X_CLUSTER_CLIENT_IP CF_CONNECTING_IP CF_RAY CF_VISITOR CDN_LOOP
               FASTLY_CLIENT_IP FASTLY_FF X_ENVOY_EXTERNAL_ADDRESS X_AMZN_TRACE_ID X_AMZ_CF_ID X_ORIGINAL_URL X_ORIGINAL_FORWARDED_FOR
               X_REQUEST_ID X_REQUEST_START AKAMAI_ORIGIN_HOP X_AKAMAI_EDGESCAPE FLY_CLIENT_IP FLY_FORWARDED_PORT X_VERCEL_ID
               X_VARNISH X_CACHE SURROGATE_CAPABILITY X_APPENGINE_USER_IP X_AZURE_CLIENTIP X_ARR_SSL X_SCHEME X_HTTPS X_SSL PROXY_CONNECTION
               TRACEPARENT B3 MAX_FORWARDS EARLY_DATA SSL_CLIENT_CERT REMOTE_USER REMOTE_ADDR ORIGIN].freeze

  def test_a_header_that_no_client_sends_is_a_proxys
    in_rack("PROXIES = #{PROXIES.inspect}\n" + <<~'RUBY')
      app = Heapprof::Rack.new
      PROXIES.each do |name|
        ["127.0.0.1", ""].each do |value|
          line = forbidden(app, "/heap", "HTTP_#{name}": value)
          assert_equal "a client of this host sends no header #{name.tr('_', '-').downcase}", line
        end
      end
      curl = { HTTP_USER_AGENT: "curl/7.88.1", HTTP_ACCEPT: "*/*", HTTP_HOST: "localhost:9292", HTTP_VERSION: "HTTP/1.1" }
      go = { HTTP_USER_AGENT: "Go-http-client/1.1", HTTP_ACCEPT_ENCODING: "gzip", HTTP_HOST: "127.0.0.1:9292" }
      net = { HTTP_USER_AGENT: "Ruby", HTTP_ACCEPT: "*/*", HTTP_ACCEPT_ENCODING: "gzip;q=1.0", HTTP_CONNECTION: "close", HTTP_HOST: "[::1]:80" }
      [curl, go, net].each { |env| assert_equal 200, status(app, "/", **env), env.inspect }
    RUBY
  end

  def test_a_browser_is_answered_where_no_page_of_elsewhere_has_sent_it
    in_rack(<<~'RUBY')
      browser = { HTTP_USER_AGENT: "Mozilla/5.0 (X11)", HTTP_ACCEPT: "text/html", HTTP_ACCEPT_LANGUAGE: "en", HTTP_COOKIE: "a=b",
                  HTTP_SEC_FETCH_MODE: "navigate", HTTP_SEC_FETCH_DEST: "document", HTTP_SEC_CH_UA: "x", HTTP_UPGRADE_INSECURE_REQUESTS: "1" }
      %w[none same-origin].each { |site| assert_equal 200, status(Heapprof::Rack, "/", **browser, HTTP_SEC_FETCH_SITE: site) }
      ["cross-site", "same-site", "None", "", "none, cross-site", "none\n"].each do |site|
        assert_equal "a page of another site has sent the browser here", forbidden(Heapprof::Rack, **browser, HTTP_SEC_FETCH_SITE: site), site
      end
      # One that does not say.
      [browser, { HTTP_USER_AGENT: "Mozilla/4.0" }, { HTTP_REFERER: "http://localhost:9292/" }, { HTTP_COOKIE: "" }].each do |env|
        assert_equal "a page of another site has sent the browser here", forbidden(Heapprof::Rack, **env), env.inspect
      end
      forbidden(Heapprof::Rack, **browser, HTTP_SEC_FETCH_SITE: "same-origin", HTTP_ORIGIN: "http://localhost:9292")
    RUBY
  end

  def test_a_name_or_an_address_of_elsewhere_keeps_out_and_none_lets_in
    in_rack(<<~'RUBY')
      app = Heapprof::Rack.new
      ["localhost", "LOCALHOST:1", "127.3.4.5", "[::1]", "[::ffff:127.0.0.1]:80"].each { |host| assert_equal 200, status(app, "/", HTTP_HOST: host), host }
      [nil, "", "evil.example", "localhost.evil.example:80", "10.0.0.1", "127.0.0.1.evil.example", "[::1", "127.0.0.0/8"].each do |host|
        assert_equal "the request is not for localhost", forbidden(app, HTTP_HOST: host, SERVER_NAME: "localhost"), host.inspect
      end
      ["10.0.0.1", "", "localhost", "127.0.0.0/8", "::ffff:10.0.0.1", "128.0.0.1"].each do |address|
        assert_equal "the client is not on this host", forbidden(app, REMOTE_ADDR: address), address
      end
      unix = connected(unix_server)
      assert_equal 200, status(app, "/", socket: unix, HTTP_HOST: nil, REMOTE_ADDR: "")
      assert_equal 403, status(app, "/", socket: nil, HTTP_HOST: "localhost", REMOTE_ADDR: "127.0.0.1")
    RUBY
  end

  # ---- bytes ----

  def test_bytes_that_are_no_text_are_refused_wherever_they_are
    in_rack(<<~'RUBY')
      HeapProfile.start
      places = %i[HTTP_HOST HTTP_AUTHORIZATION HTTP_COOKIE HTTP_USER_AGENT HTTP_SEC_FETCH_SITE HTTP_X REMOTE_ADDR QUERY_STRING
                  REQUEST_METHOD SCRIPT_NAME SERVER_NAME REQUEST_PATH CONTENT_TYPE]
      bytes = ["\xff", "a\xffb", "\xc3", "\xed\xa0\x80", "\xf8\x88\x80\x80\x80", "token=\xff"]
      bytes += bytes.map { |text| text.b } + bytes.map { |text| text.dup.force_encoding("US-ASCII") }
      app = ->(env) { [299, {}, []] }
      apps = [Heapprof::Rack.new, Heapprof::Rack.new(token: "t"), Heapprof::Rack.new(app, path: "/p\u00e9")]
      paths = ["/heap?token=t", "/heap?token=t", "/p\u00e9/heap"]
      apps.zip(paths) do |each, path|
        bytes.product(places) do |text, place|
          next if place == :SCRIPT_NAME && each == apps[2] # that is the application's
          assert_equal "the request is no UTF-8", forbidden(each, path, place => text), [place, text].inspect
        end
        bytes.each { |text| assert_equal "the request is no UTF-8", forbidden(each, "#{path.split('?').first}#{text}") unless each == apps[2] }
        assert_equal "the request is no UTF-8", forbidden(each, path, **{ "HTTP_\xff" => "x" })
      end
      assert_equal 299, status(apps[2], "/\xff")
      assert_equal 200, status(apps[2], "/p\u00e9/heap")
      assert_equal 404, status(apps[0], "/\u00e9")
    RUBY
  end

  # ---- how much ----

  def test_two_requests_wait_at_most_and_a_page_of_elsewhere_holds_none
    in_rack(<<~'RUBY')
      HeapProfile.start
      app = Heapprof::Rack.new
      5.times { forbidden(app, "/heap?seconds=60&gc=1", HTTP_SEC_FETCH_SITE: "cross-site", HTTP_USER_AGENT: "Mozilla/5.0") }
      waiting = Array.new(2) { Thread.new { status(app, "/heap?seconds=60") } }
      Thread.pass until waiting.all? { |thread| thread.stop? && thread.backtrace.first.to_s.include?("sleep") }
      [app, Heapprof::Rack.new(token: "t")].each do |each|
        answer = get(each, "/heap?seconds=5&token=t")
        assert_equal [429, "5"], [answer[0], answer[1]["retry-after"]]
        assert_equal ["too many requests: 2 requests with seconds= are waiting already; expected the next in 5 s\n"], answer[2]
        assert_equal 200, status(each, "/heap?token=t")
      end
      assert_equal [400, "seconds: expected 0 to 60"], refused(app, "/heap?seconds=61")
      waiting[0].kill.join
      third = Thread.new { status(app, "/heap?seconds=1") }
      assert_equal 200, third.value
      waiting[1].kill
    RUBY
  end

  def test_what_a_fork_leaves_waiting_is_forgotten
    in_rack(<<~'RUBY')
      limits = Heapprof::Rack::Limits.new
      2.times { Thread.new { limits.wait(1) { sleep } } }
      Thread.pass until Thread.list.count(&:stop?) == 2
      assert_raise(Heapprof::Rack::Limits::Busy) { limits.wait(1) { } }
      pid = fork { exit!(limits.wait(1) { true }) }
      Process.wait(pid)
      assert_predicate $?, :success?
    RUBY
  end

  def test_the_collector_is_asked_for_a_tenth_of_the_time_at_most
    now = 100.0
    limits = Limits.new(-> { now })
    limits.collect { |timed| timed.call { now += 2 } }
    [0, 10, 7.5].each do |seconds|
      now += seconds
      busy = assert_raise(Limits::Busy) { limits.collect { flunk } }
      assert_equal (18 - (now - 102)).ceil, busy.seconds
    end
    now += 0.5
    limits.collect do |timed|
      assert_raise_with_message(Limits::Busy, /answered already/) { limits.collect { flunk } }
      timed.call { now += 0.01 }
      now += 60 # seconds=60 between two
      timed.call { now += 0.01 }
    end
    now += 0.99
    assert_raise(Limits::Busy) { limits.collect { flunk } }
    now += 0.01
    assert_equal(:made, limits.collect { |timed| timed.call { :made } })
  end

  def test_gc_in_a_loop_is_refused_without_a_token_alone
    in_rack(<<~'RUBY')
      HeapProfile.start
      app, with_token = Heapprof::Rack.new, Heapprof::Rack.new(token: "t")
      assert_equal [200, 429], Array.new(2) { status(app, "/heap?gc=1") }
      assert_match(/\Atoo many requests: gc=1 was asked for a moment ago; expected the next in \d+ s\z/, refused(app, "/heap?gc=1")[1])
      assert_equal [200] * 3, Array.new(3) { status(with_token, "/heap?gc=1&token=t") }
      assert_equal 200, status(app, "/heap")
    RUBY
  end

  # ---- anything ----

  # RACK_FUZZ=SECONDS: so long instead, with other seeds.
  def test_any_environment_is_answered_or_refused_and_none_raises
    seconds = ENV["RACK_FUZZ"].to_i
    script = File.read(File.join(__dir__, "lib/rack_fuzz.rb")).lines.drop(1).join # the magic comment
    in_rack("SECONDS = #{seconds}\nPROXIES = #{PROXIES.inspect}\n" + script, timeout: TIMEOUT + seconds)
  end
end
