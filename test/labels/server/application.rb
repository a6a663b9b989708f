# frozen_string_literal: true

# application.rb - a shop with three actions and two jobs. One action and one job keep what they make, and another action only computes.

require "rails"
require "action_controller/railtie"
require "active_job/railtie"
require "active_record/railtie"
require "solid_queue"
require "heapprof/rails"

class ShopApplication < Rails::Application
  config.load_defaults Rails::VERSION::STRING.to_f
  config.root = Dir.pwd
  config.eager_load = true
  config.secret_key_base = "0" * 64
  config.logger = Logger.new($stderr)
  config.log_level = :error
  config.hosts.clear
  config.active_job.queue_adapter = :solid_queue
  config.solid_queue.logger = config.logger
  routes.append do
    get "/carts/:id" => "carts#show"
    get "/prices" => "prices#index"
    get "/orders" => "orders#create"
  end
end

def lines(count) = Array.new(count) { |line| "line #{line} of the cart" }

class CartsController < ActionController::Base
  SEEN = []

  def show
    SEEN << lines(2000)
    head :ok
  end
end

class PricesController < ActionController::Base
  def index = render(plain: (1..params.fetch(:count, 1000).to_i).sum { |price| price * price % 7 })
end

class OrdersController < ActionController::Base
  def create
    ImportJob.perform_later
    ReceiptJob.perform_later
    render plain: lines(100).last
  end
end

# Says that it has run, and where.
class ApplicationJob < ActiveJob::Base
  after_perform { $stdout.syswrite("done #{Process.pid}\n") }
end

class ImportJob < ApplicationJob
  SEEN = []

  def perform = SEEN << lines(2000)
end

class ReceiptJob < ApplicationJob
  def perform = lines(100).last
end

ShopApplication.initialize!
