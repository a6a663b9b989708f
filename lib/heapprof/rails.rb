# frozen_string_literal: true

# heapprof/rails - labels what a Rails application does.
#
#   # config/application.rb
#   require "rails/all"
#   require "heapprof/rails"
#
#   endpoint: "UsersController#show", method: "GET"    a request, its body included (heapprof/rack/labels)
#   endpoint: "ChatChannel#speak"                      what a client of Action Cable asks a channel for
#   job: "ImportJob"                                   a job (heapprof/active_job)
#   mailer: "UserMailer#welcome"                       what makes a message, beside the label of the request or the job
#
# A request that no action answers has the endpoint "(no route)". The thread of ActionController::Live has no method when the
# application has returned.

require "rails"
require "rails/railtie"
require_relative "active_job"
require_relative "rack/labels"

module Heapprof
  module Rails
    class Railtie < ::Rails::Railtie
      initializer("heapprof.labels") { |app| app.config.middleware.unshift Rack::Labels }
    end

    # Around callbacks, rendering and rescue_from, in the thread that runs the action.
    module Controller
      private

      def process_action(*) = Labels.with(endpoint: "#{self.class.name}##{action_name}") { super }
    end

    module Mailer
      private

      def process_action(*) = Labels.with(mailer: "#{self.class.name}##{action_name}") { super }
    end

    module Channel
      def subscribe_to_channel = Labels.with(endpoint: "#{self.class.name}#subscribed") { super }

      def unsubscribe_from_channel = Labels.with(endpoint: "#{self.class.name}#unsubscribed") { super }

      private

      def dispatch_action(action, data) = Labels.with(endpoint: "#{self.class.name}##{action}") { super }
    end
  end
end

ActiveSupport.on_load(:action_controller) { prepend Heapprof::Rails::Controller }
ActiveSupport.on_load(:action_mailer) { prepend Heapprof::Rails::Mailer }
ActiveSupport.on_load(:action_cable_channel) { prepend Heapprof::Rails::Channel }
