# frozen_string_literal: true

require "tmpdir"
require_relative "trace"

module Memprof
  # Writes what each request did, as Memprof.trace_request does. What other requests do at the same time counts, too.
  #
  #   # config.ru
  #   require "memprof/tracer"
  #   use Memprof::Tracer
  #
  # The lines go to Memprof.trace_filename. If that is +nil+ at a request, it becomes <tt>memprof_tracer-PID.json</tt> in
  # Dir.tmpdir, which as a rule is /tmp.
  #
  # Works with Rack 2 and 3, and loads neither.
  class Tracer
    def initialize(app)
      @app = app
    end

    def call(env) # :nodoc:
      Memprof.trace_filename ||= File.join(Dir.tmpdir, "memprof_tracer-#{Process.pid}.json")
      Memprof.trace_request(env) { @app.call(env) }
    end
  end
end
