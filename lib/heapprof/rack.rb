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
# A profile names the code and the classes of a program, and it takes time. So not every request is answered
# (doc/production.md, "Who may ask"):
#
# * With <tt>token:</tt>, a request is answered only if it has the token. It stands in the header "Authorization: Bearer TOKEN",
#   or in the query as token=TOKEN. A query may end up in logs.
# * Without a token, a client on this host is answered, as curl, if root or this process's user runs it. A proxy is refused, and
#   so is a page of another site in a browser. The server has to give the connection to its applications, as puma, unicorn,
#   pitchfork and falcon do.
#
# At most two requests wait at a time (seconds=), without a token at most 60 seconds. No client without a token can keep the
# garbage collector busy (gc=1). A request beyond these limits gets 429.
#
# The profiler has to run, by RUBY_HEAPPROF=1 or ObjectSpace::HeapProfile.start. If a server has several processes, the one
# that gets the request answers. Its pid is in the profile's comments.
#
# Works with Rack 2 and 3, and loads neither.

require "cgi/escape"
require "stringio"
require "uri"
require_relative "plain"
require_relative "rack/admission"
require_relative "rack/limits"

module Heapprof
  class Rack
    # Ends a request early, with a status, one line and more headers.
    class Refusal < StandardError # :nodoc:
      attr_reader :status, :headers

      def initialize(status, line, headers = {})
        super(line)
        @status = status
        @headers = headers
      end
    end

    PATH = "/debug/pprof"

    # The longest difference, in seconds: with a token, and without one.
    LONGEST = 3600
    LONGEST_WITHOUT_TOKEN = 60

    # The limits of this process.
    LIMITS = Limits.new

    # Each profile: its name, the sample type that is shown first, and what it is.
    PROFILES = {
      "heap" => [:inuse_space, "what is alive, by who allocated it"],
      "allocs" => [:alloc_space, "what was allocated since start, alive or not"]
    }.freeze

    # call-seq:
    #   new(token: nil) -> an application
    #   new(app, token: nil, path: "/debug/pprof") -> the same in front of app
    #
    # [token] A String that every request has to have. If it is +nil+, a client on this host needs no token.
    # [local] A setting of versions before 1.0.0. With +false+ and without a token no request is answered. +true+ has no effect.
    # [path] The path of the profiles, in front of an application.
    #
    # Settings may also come as a Hash.
    def initialize(app = nil, token: nil, local: true, path: PATH)
      @app = app
      @admission = Admission.new(token, local)
      @path = path.chomp("/").b
    end

    def call(env)
      name = name_of(env)
      return @app.call(env) if name.nil?
      head(env, answer(name, env))
    rescue Refusal => e
      head(env, respond(e.status, "#{e.message}\n", "text/plain; charset=utf-8", e.headers))
    end

    private

    # Returns "heap" for ".../heap", and "" for the index. Returns nil if the request is for the application. As an
    # application of its own this may be mounted at the path, or at the root.
    def name_of(env)
      path = @app ? full_path(env) : env["PATH_INFO"].to_s.b
      if path == @path || path.start_with?("#{@path}/") then path.delete_prefix(@path).delete_prefix("/")
      elsif !@app then path.delete_prefix("/")
      end
    end

    def full_path(env) = env["SCRIPT_NAME"].to_s.b + env["PATH_INFO"].to_s.b

    def answer(name, env)
      query = admitted_query(env)
      unless %w[GET HEAD].include?(env["REQUEST_METHOD"])
        raise Refusal.new(405, "method not allowed: expected GET or HEAD", "allow" => "GET, HEAD")
      end
      case name
      when "" then index(env)
      when "cmdline" then respond(200, [$0, *ARGV].map(&:b).join("\0"), "text/plain; charset=utf-8")
      when *PROFILES.keys then profile(name, query)
      else raise Refusal.new(404, "no such profile: expected #{PROFILES.keys.join(', ')} or cmdline")
      end
    end

    # Checks first whether the client may ask. A client that may not does not learn what else is wrong.
    def admitted_query(env)
      query = query_of(env)
      @admission.admit(env, query && query["token"])
      query or raise Refusal.new(400, "the query is malformed")
    rescue Admission::Refused => e
      raise Refusal.new(403, "forbidden: #{e.message}; #{'give Heapprof::Rack a token: and ' unless @admission.token?}" \
                             "send the header Authorization: Bearer TOKEN")
    end

    def query_of(env)
      URI.decode_www_form(env["QUERY_STRING"].to_s.b).to_h
    rescue ArgumentError
      nil
    end

    # ---- profiles ----

    def profile(name, query)
      by, = PROFILES.fetch(name)
      seconds = number(query, "seconds", 0, @admission.token? ? LONGEST : LONGEST_WITHOUT_TOKEN)
      debug = number(query, "debug", 0, 2)
      options = { gc: flag(query, "gc", false), owners: flag(query, "owners", true), rss: flag(query, "rss", seconds.zero?) }
      snapshot = within_limits(options, seconds)
      return text(snapshot, by) if debug > 0
      bytes = StringIO.new("".b)
      snapshot.write(bytes, by: by)
      respond(200, bytes.string, "application/octet-stream", "content-disposition" => "attachment; filename=\"#{name}\"")
    end

    def within_limits(options, seconds)
      return difference(options, seconds) if !options[:gc] || @admission.token?
      LIMITS.collect { |timed| difference(options, seconds, timed) }
    rescue Limits::Busy => e
      raise Refusal.new(429, "too many requests: #{e.message}; expected the next in #{e.seconds} s", "retry-after" => e.seconds.to_s)
    end

    # Returns the profile of what changes in that many seconds.
    def difference(options, seconds, timed = ->(&work) { work.call })
      take = -> { timed.call { snapshot(options) } }
      return take.call if seconds.zero?
      LIMITS.wait(seconds) do
        before = take.call
        sleep seconds
        take.call - before
      end
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
      report.puts "#{by}, process #{Process.pid}: #{Plain.text($0)}", ""
      snapshot.report(report, by: by, limit: 100, frames: 20)
      respond(200, report.string, "text/plain; charset=utf-8")
    end

    def number(query, key, least, most)
      value = query.fetch(key, "0").b
      return value.to_i if value.match?(/\A\d{1,9}\z/) && value.to_i.between?(least, most)
      raise Refusal.new(400, "#{key}: expected #{least} to #{most}")
    end

    # Any number except 0 means yes, as in Go.
    def flag(query, key, otherwise)
      query.key?(key) ? number(query, key, 0, 999_999_999) != 0 : otherwise
    end

    # ---- answers ----

    # The links of the index are relative.
    def index(env)
      here = full_path(env)
      unless here.end_with?("/")
        there = here.gsub(/[^\w\-.~%\/]/n) { |byte| format("%%%02X", byte.ord) } # a server may have decoded it
        raise Refusal.new(301, "see #{there}/", "location" => "#{there}/")
      end
      rows = PROFILES.map { |name, (_, what)| %(<li><a href="#{name}">#{name}</a> - #{what}; <a href="#{name}?debug=1">as text</a>) }
      respond(200, <<~HTML, "text/html; charset=utf-8")
        <!DOCTYPE html>
        <title>/debug/pprof/</title>
        <h1>Heap profiles of process #{Process.pid}: #{CGI.escapeHTML(Plain.text($0))}</h1>
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
      def new(app = nil, settings = {}, **more) # :nodoc:
        app, settings = nil, app if app.is_a?(Hash)
        super(app, **settings, **more)
      end

      # Answers with the defaults: <tt>run Heapprof::Rack</tt>.
      def call(env)
        (@default ||= new).call(env)
      end
    end
  end
end
