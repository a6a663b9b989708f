# frozen_string_literal: true

# rack_request.rb - what the tests of heapprof/rack have in their children: a request as puma hands it over, with a true
# connection, whose other end is a process that does nothing else.

module RackRequest
  SOURCE = <<~'RUBY'
    require "heapprof/rack"
    require "socket"
    require "zlib"

    # Connects to a server from a process of its own, and returns the server's end. That process becomes cat, with the other end
    # for stdin and these descriptors besides; it ends when we do. The block is run in it before.
    def connected(server, *descriptors, to: server.local_address)
      fork do
        yield if block_given?
        client = Socket.new(to.afamily, :STREAM)
        client.connect(to)
        exec("sh", "-c", "echo >&0; exec cat >/dev/null", descriptors.to_h { |io| [io, io] }.merge(in: client))
      end
      server.accept.tap(&:gets) # it has executed, and has what it is to have
    end

    # One that has a name, and no file.
    def unix_server = UNIXServer.new("\0heapprof-#{$$}-#{SERVERS.size}").tap { |server| SERVERS << server }
    SERVERS = []

    # The tests of what comes ask by this one.
    SOCKET = TCPServer.open("127.0.0.1", 0) { |server| connected(server) }
    LOCAL = { "REQUEST_METHOD" => "GET", "SCRIPT_NAME" => "", "QUERY_STRING" => "", "REMOTE_ADDR" => "127.0.0.1",
              "HTTP_HOST" => "localhost:9292", "puma.socket" => SOCKET }.freeze

    def get(app, path, **env)
      path, query = path.b.split("?", 2)
      env = env.transform_keys { |key| key == :socket ? "puma.socket" : key.to_s }
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

    # What it says behind "forbidden: ", up to what to do.
    def forbidden(app, path = "/heap", **env)
      status, line = refused(app, path, **env)
      assert_equal 403, status, env.inspect
      line[/\Aforbidden: (.*); (?:give Heapprof::Rack a token: and )?send the header Authorization: Bearer TOKEN\z/, 1]
    end
  RUBY
end
