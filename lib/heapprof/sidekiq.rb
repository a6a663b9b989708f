# frozen_string_literal: true

# heapprof/sidekiq - labels each job of Sidekiq with its class: job: "ImportJob".
#
#   # an initializer
#   require "heapprof/sidekiq"
#
# A job of Active Job has the name of its own class, not that of the wrapper.

require "sidekiq"
require_relative "labels"

module Heapprof
  # A server middleware. It is the first, so the others have the label, too.
  class Sidekiq
    include ::Sidekiq::ServerMiddleware

    def call(_instance, job, _queue, &)
      Labels.with(job: job["wrapped"] || job["class"], &)
    end
  end
end

Sidekiq.configure_server { |config| config.server_middleware { |chain| chain.prepend Heapprof::Sidekiq } }
