# frozen_string_literal: true

# rails.rb - a Rails application that answers requests, with the gems that `make check-programs` has left. Without them it is left out.

class Steady
  GEMS = ENV["GEMS"] || File.expand_path("../../../build/programs/gems", __dir__)
  BUNDLED = [File.join(File.dirname(RUBY), ".bundle"), *Dir[File.expand_path("../src/ruby-[0-9]*/.bundle", File.dirname(RUBY))]].freeze

  if Dir.exist?(File.join(GEMS, "specifications"))
    steady "Rails application", <<~RUBY, "apart { requests(300) }", alone: true
      ENV["GEM_HOME"], ENV["GEM_PATH"] = #{GEMS.dump}, #{[GEMS, *BUNDLED].join(':').dump}
      ENV["RAILS_ENV"], ENV["SECRET_KEY_BASE"] = "production", "s" * 64
      require "rubygems"
      require "fileutils"
      require "logger"
      require "rails"
      require "action_controller/railtie"
      require "action_view/railtie"

      class Shop < Rails::Application
        config.load_defaults "\#{Rails::VERSION::MAJOR}.\#{Rails::VERSION::MINOR}"
        config.root = Dir.pwd
        config.eager_load = true
        config.logger = Logger.new(File::NULL)
      end

      FileUtils.mkdir_p("app/views/pages")
      File.write("app/views/pages/index.html.erb", '<% @items.each do |item| %><%= link_to item, "/pages" %><% end %>')
      class PagesController < ActionController::Base
        def index = @items = Array.new(20) { |i| "item \#{i}" }
        def show = render(json: { id: params[:id], list: [1, 2, 3] })
      end
      Rails.application.initialize!
      Rails.application.routes.draw { resources :pages, only: %i[index show] }

      def get(path)
        status, _, body = Rails.application.call(Rack::MockRequest.env_for("http://localhost\#{path}"))
        raise "\#{status} for \#{path}" unless status == 200
        body.each { }
        body.close if body.respond_to?(:close)
      end
      def requests(count) = count.times { |i| get(i.even? ? "/pages" : "/pages/\#{i % 50}") }
      apart { requests(300) }
    RUBY
  else
    warn "steady: Rails is left out, because its gems are not in #{GEMS}: make check-programs"
  end
end
