# frozen_string_literal: true

# heapprof/active_job - labels each job of Active Job with its class: job: "ImportJob".
#
#   require "heapprof/active_job"
#
# So all of its backends have labels. The label is there while arguments are found, and while a failed job is put back.

require "active_support"
require "active_support/lazy_load_hooks"
require_relative "labels"

module Heapprof
  module ActiveJob
    def perform_now = Labels.with(job: self.class.name) { super }
  end
end

ActiveSupport.on_load(:active_job) { prepend Heapprof::ActiveJob }
