require "bundler/setup"
require "rails"
require "action_controller/railtie"
require_relative "../ext/thumbnail"

class Shop < Rails::Application
  config.load_defaults 8.1
  config.eager_load = true
  config.logger = Logger.new(IO::NULL)
  config.secret_key_base = "for an example"
  config.hosts.clear

  routes.append do
    get "/products", to: "products#index"
    get "/products/:id", to: "products#show"
    get "/products/:id/picture", to: "products#picture"
  end
end
