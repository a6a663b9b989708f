# frozen_string_literal: true

require "monitor"
require_relative "track"

module Memprof
  # Prints after each request the objects that it has made and that are alive: on stderr, as Memprof.track does.
  #
  #   # config.ru
  #   require "heapprof/memprof"
  #   use Memprof::Middleware, force_gc: true
  #
  # With +force_gc+ it collects garbage first, so it prints the objects that the request leaves behind. Objects that a body
  # makes while it is sent are not counted. Requests are served one after the other. This is for development, because a request
  # takes several times as long. If RUBY_HEAPPROF or ObjectSpace::HeapProfile.start has started the profiler, each request raises
  # RuntimeError.
  #
  # Works with Rack 2 and 3, and loads neither.
  class Middleware
    ONE_AT_A_TIME = Monitor.new
    private_constant :ONE_AT_A_TIME

    # Settings may also come as a Hash: <tt>use Memprof::Middleware, { force_gc: true }</tt>.
    def self.new(app, settings = {}, **more) = super(app, **settings, **more)

    def initialize(app, force_gc: false)
      @app = app
      @force_gc = force_gc
    end

    def call(env) # :nodoc:
      response = nil
      ONE_AT_A_TIME.synchronize do
        Memprof.track do
          response = @app.call(env)
          GC.start if @force_gc
        end
      end
      response
    end
  end
end
