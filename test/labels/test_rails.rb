# frozen_string_literal: true

# test_rails.rb - heapprof/rails with Rails: controllers, Live, mailers, channels, jobs.

require_relative "lib/labels_test"
require "rails"
require "action_controller/railtie"
require "action_mailer/railtie"
require "active_job/railtie"
require "action_cable/engine"
require "action_cable/channel/test_case"
require "rack/mock"
require "heapprof/rails"

class NotingMiddleware
  def initialize(app) = @app = app

  def call(env)
    KEPT << LabelsTest::Kept.new
    @app.call(env).tap { LabelsTest.note(:middleware) }
  end

  KEPT = []
end

class ShopApplication < Rails::Application
  config.load_defaults Rails::VERSION::STRING.to_f
  config.eager_load = false
  config.secret_key_base = "0" * 64
  config.logger = Logger.new(nil)
  config.hosts.clear
  config.action_dispatch.show_exceptions = :none
  config.active_job.queue_adapter = :inline
  config.action_mailer.delivery_method = :test
  config.middleware.use NotingMiddleware
  routes.append do
    get "/carts/:id" => "carts#show"
    get "/fails" => "carts#fails"
    get "/orders" => "carts#order"
    get "/missing" => "carts#missing"
    get "/live" => "live#show"
    get "/api" => "api#show"
  end
end

class ReceiptMailer < ActionMailer::Base
  def receipt
    LabelsTest.note(:mailer)
    mail(from: "a@example.com", to: "b@example.com", subject: "receipt", body: "thanks")
  end
end

class OrderJob < ActiveJob::Base
  def perform = LabelsTest.note(:job)
end

class CartsController < ActionController::Base
  class Failed < StandardError; end

  KEPT = []

  before_action { LabelsTest.note(:before_action) }
  rescue_from(Failed) { LabelsTest.note(:rescue_from) && head(:ok) }

  def show
    KEPT << LabelsTest::Kept.new
    render inline: "<% LabelsTest.note(:view) %>cart"
  end

  def fails = raise(Failed)

  def order
    OrderJob.perform_later
    ReceiptMailer.receipt.deliver_now
    ReceiptMailer.receipt.deliver_later
    self.response_body = Enumerator.new { |out| out << LabelsTest.note(:streams).to_s }
  end
end

class LiveController < ActionController::Base
  include ActionController::Live

  def show
    LabelsTest.note(:live)
    response.stream.write("live")
    LabelsTest.note(:later)
  ensure
    response.stream.close
  end
end

class ApiController < ActionController::API
  def show = LabelsTest.note(:api) && render(json: {})
end

class ChatChannel < ActionCable::Channel::Base
  def subscribed = LabelsTest.note(:subscribed)
  def unsubscribed = LabelsTest.note(:unsubscribed)
  def speak = LabelsTest.note(:speak)
end

ShopApplication.initialize!

class TestRails < Test::Unit::TestCase
  include LabelsTest

  SHOW = { method: "GET", endpoint: "CartsController#show" }.freeze
  ORDER = { method: "GET", endpoint: "CartsController#order" }.freeze

  def get(path) = Rack::MockRequest.new(Rails.application).get(path)

  def test_an_action_has_its_name_with_callbacks_and_views
    assert_equal "cart", get("/carts/1").body
    assert_equal [SHOW, SHOW], noted.values_at(:before_action, :view)
  end

  def test_it_has_the_name_where_its_error_is_handled
    assert_equal 200, get("/fails").status
    assert_equal({ method: "GET", endpoint: "CartsController#fails" }, noted[:rescue_from])
  end

  def test_a_body_that_streams_has_the_name
    get("/orders")
    assert_equal ORDER, noted[:streams]
  end

  def test_a_job_and_a_mailer_have_their_names_beside_the_endpoint
    get("/orders")
    assert_equal ORDER.merge(job: "OrderJob"), noted[:job]
    assert_equal ORDER.merge(job: "ActionMailer::MailDeliveryJob", mailer: "ReceiptMailer#receipt"), noted[:mailer]
  end

  def test_a_mailer_has_its_name_without_a_request
    ReceiptMailer.receipt.deliver_now
    assert_equal({ mailer: "ReceiptMailer#receipt" }, noted[:mailer])
  end

  # Its thread is made before the action is known, and goes on when the application has returned.
  def test_live_has_the_name_in_its_thread
    assert_equal "live", get("/live").body
    assert_equal ["LiveController#show"] * 2, noted.values_at(:live, :later).map { |labels| labels[:endpoint] }
  end

  def test_an_api_controller_has_its_name
    get("/api")
    assert_equal({ method: "GET", endpoint: "ApiController#show" }, noted[:api])
  end

  # An action that does not exist cannot use up names.
  def test_what_is_not_found_has_no_name_of_its_own
    assert_raise(AbstractController::ActionNotFound) { get("/missing") }
    assert_raise(ActionController::RoutingError) { get("/nowhere") }
    assert_equal ["(before routing)"], noted.values.map { |labels| labels[:endpoint] }
    nowhere = -> { assert_raise(ActionController::RoutingError) { get("/nowhere") } && NotingMiddleware::KEPT }
    assert_equal [{ method: "GET", endpoint: "(no route)" }], labels_in_profile(&nowhere)
  end

  def test_a_channel_has_the_name_of_what_a_client_asks_for
    channel = ChatChannel.new(ActionCable::Channel::ConnectionStub.new, "chat", {})
    channel.subscribe_to_channel
    channel.perform_action("action" => "speak")
    channel.perform_action("action" => "no_such_action")
    channel.unsubscribe_from_channel
    expected = %i[subscribed speak unsubscribed].to_h { |action| [action, { endpoint: "ChatChannel##{action}" }] }
    assert_equal expected, noted
  end

  # ETag reads the body, for instance.
  def test_middlewares_have_the_name_when_the_action_has_run
    get("/carts/1")
    assert_equal SHOW, noted[:middleware]
    assert_equal Heapprof::Rack::Labels, Rails.application.middleware.first.klass
  end

  def test_what_an_action_keeps_and_what_middlewares_keep_before_it_has_its_name_in_a_profile
    assert_equal [SHOW], labels_in_profile { get("/carts/1") && [CartsController::KEPT, NotingMiddleware::KEPT] }
  end
end
