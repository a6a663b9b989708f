# frozen_string_literal: true

# heapprof/rack - the heap profiles of a server over HTTP, under /debug/pprof/ as Go's servers have them.
#
#   go tool pprof http://localhost:9292/debug/pprof/heap
#
#   # config.ru: in front of the application
#   require "heapprof/rack"
#   use Heapprof::Rack, token: ENV["HEAPPROF_TOKEN"]
#
#   # Rails, config/routes.rb: as an application of its own
#   require "heapprof/rack"
#   mount Heapprof::Rack.new(token: ENV["HEAPPROF_TOKEN"]) => "/debug/pprof"
#
# A profile names the code of a program and its classes, and costs time to take. So it is for those alone
# who ask from this host, or who have the token:
#
# * Local is a request that comes from a loopback address, for a loopback host (Host), and that no proxy says
#   it has forwarded from elsewhere. A proxy on this host that passes on Host or says where a request is from
#   lets nobody in; one that does neither makes everybody local: say <tt>local: false</tt> then.
# * The token stands in the header "Authorization: Bearer TOKEN", or in the query as token=TOKEN, which may
#   end up in logs.
#
# The profiler has to run, by RUBY_HEAPPROF=1 or ObjectSpace::HeapProfile.start. Of a server with several
# processes the one that gets the request answers; its pid is in the profile's comments.
#
# Works with Rack 2 and 3, and loads neither.

require "cgi/escape"
require "digest"
require "ipaddr"
require "stringio"
require "uri"

module Heapprof
  class Rack
    # What ends a request early: a status, one line, more headers.
    class Refusal < StandardError # :nodoc:
      attr_reader :status, :headers

      def initialize(status, line, headers = {})
        super(line)
        @status = status
        @headers = headers
      end
    end

    PATH = "/debug/pprof"

    # The longest difference, in seconds.
    LONGEST = 3600

    # Name, the sample type that is shown first, and what it is.
    PROFILES = {
      "heap" => [:inuse_space, "what is alive, by who allocated it"],
      "allocs" => [:alloc_space, "what was allocated since start, alive or not"]
    }.freeze

    # By these a proxy says from where a request is.
    FORWARDED = %w[HTTP_X_FORWARDED_FOR HTTP_X_REAL_IP HTTP_CLIENT_IP HTTP_TRUE_CLIENT_IP HTTP_CF_CONNECTING_IP
                   HTTP_X_CLIENT_IP HTTP_X_CLUSTER_CLIENT_IP].freeze

    # By these that there is one, and the request need not be of this host.
    PROXIED = %w[HTTP_FORWARDED HTTP_VIA HTTP_X_FORWARDED_HOST HTTP_X_FORWARDED_SERVER].freeze

    # call-seq:
    #   new(token: nil, local: true) -> an application
    #   new(app, token: nil, local: true, path: "/debug/pprof") -> the same in front of app
    #
    # [token] A String that lets in who has it; +nil+: nobody but local requests.
    # [local] Whether local requests need no token.
    # [path] Where the profiles are, in front of an application.
    def initialize(app = nil, token: nil, local: true, path: PATH)
      raise ArgumentError, "token: is empty" if token&.empty?
      @app = app
      @token = token && Digest::SHA256.digest(token)
      @local = local
      @path = path.chomp("/")
    end

    def call(env)
      name = name_of(env)
      return @app.call(env) if name.nil?
      head(env, answer(name, env))
    rescue Refusal => e
      head(env, respond(e.status, "#{e.message}\n", "text/plain; charset=utf-8", e.headers))
    end

    private

    # "heap" for ".../heap", "" for the index; nil: it is for the application. As an application it may be
    # mounted at the path, or at the root.
    def name_of(env)
      path = @app ? "#{env['SCRIPT_NAME']}#{env['PATH_INFO']}" : env["PATH_INFO"].to_s
      if path == @path || path.start_with?("#{@path}/") then path.delete_prefix(@path).delete_prefix("/")
      elsif !@app then path.delete_prefix("/")
      end
    end

    def answer(name, env)
      query = query_of(env)
      raise Refusal.new(403, "forbidden: not from this host, and without the token") unless allowed?(env, query)
      unless %w[GET HEAD].include?(env["REQUEST_METHOD"])
        raise Refusal.new(405, "method not allowed: expected GET or HEAD", "allow" => "GET, HEAD")
      end
      case name
      when "" then index(env)
      when "cmdline" then respond(200, [$0, *ARGV].join("\0"), "text/plain; charset=utf-8")
      when *PROFILES.keys then profile(name, query)
      else raise Refusal.new(404, "no such profile: expected #{PROFILES.keys.join(', ')} or cmdline")
      end
    end

    def query_of(env)
      URI.decode_www_form(env["QUERY_STRING"].to_s).to_h
    rescue ArgumentError
      raise Refusal.new(400, "the query is malformed")
    end

    # ---- who may ask ----

    def allowed?(env, query)
      (@local && local?(env)) || (@token && token?(env["HTTP_AUTHORIZATION"], query["token"]))
    end

    def token?(authorization, parameter)
      given = authorization.to_s[/\ABearer +(\S+)\s*\z/i, 1] || parameter.to_s
      same?(Digest::SHA256.digest(given))
    end

    # In a time that does not depend on where the two differ.
    def same?(digest)
      digest.bytes.zip(@token.bytes).reduce(0) { |difference, (a, b)| difference | (a ^ b) }.zero?
    end

    def local?(env)
      loopback?(env["REMOTE_ADDR"]) && PROXIED.none? { |name| env[name] } &&
        FORWARDED.all? { |name| env[name].nil? || loopbacks?(env[name].split(",")) } &&
        loopback_host?((env["HTTP_HOST"] || env["SERVER_NAME"]).to_s)
    end

    # A page of somewhere else, whose name leads here (DNS rebinding), has another host.
    def loopback_host?(host)
      name = host[/\A\[([^\]]*)\](?::\d+)?\z/, 1] || host.sub(/:\d*\z/, "")
      name.casecmp?("localhost") || loopback?(name)
    end

    def loopbacks?(addresses)
      addresses.any? && addresses.all? { |address| loopback?(address.strip) }
    end

    def loopback?(address)
      address = IPAddr.new(address.to_s)
      address = address.native if address.ipv4_mapped?
      address.loopback? && address.to_range.first == address.to_range.last
    rescue IPAddr::Error
      false
    end

    # ---- profiles ----

    def profile(name, query)
      by, = PROFILES.fetch(name)
      seconds = number(query, "seconds", 0, LONGEST)
      debug = number(query, "debug", 0, 2)
      options = { gc: flag(query, "gc", false), owners: flag(query, "owners", true), rss: flag(query, "rss", seconds.zero?) }
      snapshot = take(options, seconds)
      return text(snapshot, by) if debug > 0
      bytes = StringIO.new("".b)
      snapshot.write(bytes, by: by)
      respond(200, bytes.string, "application/octet-stream", "content-disposition" => "attachment; filename=\"#{name}\"")
    end

    # Of so many seconds: what has changed meanwhile.
    def take(options, seconds)
      before = snapshot(options)
      return before if seconds.zero?
      sleep seconds
      snapshot(options) - before
    end

    def snapshot(options)
      unless ObjectSpace::HeapProfile.running?
        raise Refusal.new(503, "the heap profiler is not running: set RUBY_HEAPPROF=1 where the server is started, " \
                               "or call ObjectSpace::HeapProfile.start")
      end
      ObjectSpace::HeapProfile.snapshot(**options)
    end

    def text(snapshot, by)
      report = StringIO.new
      report.puts "#{by}, process #{Process.pid}: #{$0}", ""
      snapshot.report(report, by: by, limit: 100, frames: 20)
      respond(200, report.string, "text/plain; charset=utf-8")
    end

    def number(query, key, least, most)
      value = query.fetch(key, "0").b
      return value.to_i if value.match?(/\A\d{1,9}\z/) && value.to_i.between?(least, most)
      raise Refusal.new(400, "#{key}: expected #{least} to #{most}")
    end

    # As Go has it, any number but 0 is yes.
    def flag(query, key, otherwise)
      query.key?(key) ? number(query, key, 0, 999_999_999) != 0 : otherwise
    end

    # ---- answers ----

    # Its links are relative.
    def index(env)
      here = "#{env['SCRIPT_NAME']}#{env['PATH_INFO']}"
      raise Refusal.new(301, "see #{here}/", "location" => "#{here}/") unless here.end_with?("/")
      rows = PROFILES.map { |name, (_, what)| %(<li><a href="#{name}">#{name}</a> - #{what}; <a href="#{name}?debug=1">as text</a>) }
      respond(200, <<~HTML, "text/html; charset=utf-8")
        <!DOCTYPE html>
        <title>/debug/pprof/</title>
        <h1>Heap profiles of process #{Process.pid}: #{CGI.escapeHTML($0)}</h1>
        <ul>
        #{rows.join("\n")}
        <li><a href="cmdline">cmdline</a> - how it was started
        </ul>
        <p>?gc=1: after a full garbage collection, only what is reachable. ?seconds=10: what changes in ten seconds.
        ?owners=0, ?rss=0: without them, which is quicker. ?debug=1: as text.
        <p><code>go tool pprof -http=: http://HOST/debug/pprof/heap</code>
      HTML
    end

    def respond(status, body, type, headers = {})
      body = body.b
      [status, { "content-type" => type, "content-length" => body.bytesize.to_s, "cache-control" => "no-store",
                 "x-content-type-options" => "nosniff" }.merge(headers), [body]]
    end

    def head(env, response)
      env["REQUEST_METHOD"] == "HEAD" ? [*response.first(2), []] : response
    end

    class << self
      # With the defaults: <tt>run Heapprof::Rack</tt>.
      def call(env)
        (@default ||= new).call(env)
      end
    end
  end
end
