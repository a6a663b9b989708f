# frozen_string_literal: true

require_relative "trace"

module Memprof
  # Writes what each request did, as Memprof.trace_request does. What other requests do at the same time counts, too.
  #
  #   # config.ru
  #   require "heapprof/memprof"
  #   Memprof.trace_filename = "requests.json"
  #   use Memprof::Tracer
  #
  # Works with Rack 2 and 3, and loads neither.
  class Tracer
    def initialize(app)
      @app = app
    end

    def call(env) # :nodoc:
      Memprof.trace_request(env) { @app.call(env) }
    end
  end
end
