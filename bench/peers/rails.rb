# frozen_string_literal: true

# rails.rb - pages of the shop of test/programs/rails, in production mode, asked for within the process: a list as
# HTML, as JSON and as CSV, and a report: ruby rails.rb [ROUNDS]

require "fileutils"
require "tmpdir"

DIRECTORY = Dir.mktmpdir("peers-rails")
at_exit { FileUtils.rm_rf(DIRECTORY) }
FileUtils.cp_r(File.join(__dir__, "../../test/programs/rails/."), DIRECTORY)
FileUtils.mkdir_p([File.join(DIRECTORY, "log"), File.join(DIRECTORY, "tmp")])
Dir.chdir(DIRECTORY) # where migrations are looked for
ENV["RAILS_ENV"] = "production"
require File.join(DIRECTORY, "config/environment")
require "action_dispatch/testing/integration"
require_relative "measure"

PATHS = %w[/products /products.json /products.csv /report.json].freeze

def signed_in
  browser = ActionDispatch::Integration::Session.new(Rails.application)
  browser.get("/session/new")
  token = browser.response.body[/name="authenticity_token" value="([^"]+)"/, 1]
  browser.post("/session", params: { name: "Ada's", authenticity_token: CGI.unescapeHTML(token) })
  browser
end

ActiveRecord::Migration.verbose = false
ActiveRecord::Base.connection_pool.migration_context.migrate
browser = signed_in
shop = Shop.first
50.times { |i| shop.products.create!(sku: "sku-#{i}", name: "product #{i}", price_cents: 100 * i + 99, stock: i) }

rounds = Integer(ARGV.fetch(0, 50))
measure do
  rounds.times do
    PATHS.each { |path| browser.get(path) == 200 or abort "#{path}: #{browser.response.status}" }
  end
end
