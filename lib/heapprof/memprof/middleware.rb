# frozen_string_literal: true

require "monitor"
require_relative "track"

module Memprof
  # Prints, after each request, what it has made and is alive: on stderr, as Memprof.track does.
  #
  #   # config.ru
  #   require "heapprof/memprof"
  #   use Memprof::Middleware, force_gc: true
  #
  # With +force_gc+ a garbage collection comes before that: what is left is what the request leaves behind. What a body
  # makes while it is sent is not in it. Requests are served one after the other meanwhile. For development: it takes
  # several times the time. Where the profiler runs already, by RUBY_HEAPPROF or ObjectSpace::HeapProfile.start, each
  # request raises RuntimeError.
  #
  # Works with Rack 2 and 3, and loads neither.
  class Middleware
    ONE_AT_A_TIME = Monitor.new
    private_constant :ONE_AT_A_TIME

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
