# frozen_string_literal: true

# heapprof/rack/labels - a middleware that labels each request with its method and its endpoint, until the body is closed.
#
#   # config.ru: in front of all other middlewares
#   require "heapprof/rack/labels"
#   use Heapprof::Rack::Labels
#
#   # where the framework does not tell the route
#   use Heapprof::Rack::Labels, endpoint: ->(env) { env["PATH_INFO"][%r{\A/\w*}] }
#
# The endpoint is the route, never the path of the request: paths have IDs, and a key has at most 1000 values. It is the first that
# the application gives itself, as heapprof/rails does: <tt>Heapprof::Labels.with(endpoint: "GET /carts/:id") { ... }</tt>. Else it comes
# from the setting +endpoint+, which is called after the application, or from Sinatra. What was allocated before it is known has it,
# too: until then it is "(before routing)". Where nobody knows it in the end, also because of an error, it is "(no route)".
#
# A body is made while the server reads it, after the application has returned. So the body has the labels, too, in each of its methods.
#
# Works with Rack 2 and 3, and loads neither.

require_relative "../labels"

module Heapprof
  class Rack
    class Labels
      # A client may send any word as method. One that is none of these is "(other)".
      METHODS = %w[GET HEAD POST PUT PATCH DELETE OPTIONS TRACE CONNECT].freeze

      # [endpoint] Returns the endpoint of a request, or +nil+, when it is called with its env.
      def initialize(app, endpoint: nil)
        @app = app
        @endpoint = endpoint
      end

      # Within another one, as where config.ru has one and Rails its own, it only names the request.
      def call(env)
        return answer(env) if env["heapprof.labels"]
        env["heapprof.labels"] = true
        method = env["REQUEST_METHOD"]
        method = "(other)" unless METHODS.include?(method)
        labels = nil
        status, headers, body = Heapprof::Labels.with(method: method, late: :endpoint) do
          answer(env)
        ensure
          name("(no route)")
          labels = Heapprof::Labels.current
        end
        [status, headers, Body.new(body, labels)]
      end

      private

      def answer(env) = @app.call(env).tap { name(@endpoint&.call(env) || env["sinatra.route"]) }

      # The first name is that of the whole request. One that comes later changes nothing.
      def name(endpoint) = endpoint && Heapprof::Labels.with(endpoint: endpoint) {}

      # A body that has labels while it works. It has the methods of the body within.
      class Body # :nodoc:
        def initialize(body, labels)
          @body = body
          @labels = labels
          @closed = false
        end

        # May be called more than once: Rack's MockResponse does.
        def close
          return if @closed
          @closed = true
          Heapprof::Labels.with(@labels) { @body.close } if @body.respond_to?(:close)
        end

        def respond_to_missing?(name, _include_all = false) = @body.respond_to?(name)

        def method_missing(...) = Heapprof::Labels.with(@labels) { @body.public_send(...) }
      end
    end
  end
end
