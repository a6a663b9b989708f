# frozen_string_literal: true

# applications.rb - parts of web applications: routes, templates, middlewares, parsers.

class Steady
  steady "router, middlewares, controllers", <<~'RUBY', "apart { 300.times { |i| APP.call(request(i)) } }"
    class Controller
      attr_reader :env, :params
      def initialize(env, params) = (@env, @params = env, params)
      def show = [200, { "content-type" => "text/html" }, ["<p>#{params['id']}</p>" * 20]]
      def index = [200, {}, Array.new(10) { |i| "item #{i}" }]
    end
    class Router
      def initialize = @routes = []
      def get(path, to) = @routes << [Regexp.new("\\A#{path.gsub(/:(\w+)/, '(?<\1>[^/]+)')}\\z"), to]
      def call(env)
        @routes.each { |pattern, to| (match = pattern.match(env["PATH"])) and return Controller.new(env, match.named_captures).public_send(to) }
        [404, {}, []]
      end
    end
    class Middleware
      def initialize(app, name) = (@app, @name = app, name)
      def call(env) = @app.call(env.merge(@name => Time.now)).then { |status, headers, body| [status, headers.merge("x-#{@name}" => "1"), body] }
    end
    ROUTER = Router.new
    ROUTER.get("/items", :index)
    200.times { |i| ROUTER.get("/shop#{i}/:id", :show) }
    APP = 8.times.inject(ROUTER) { |app, i| Middleware.new(app, "layer#{i}") }
    def request(number) = { "PATH" => number.even? ? "/items" : "/shop#{number % 200}/#{number}" }
    apart { 10.times { |i| APP.call(request(i)) } }
  RUBY

  steady "templates that are rendered", <<~'RUBY', "apart { 200.times { |i| page(i) } }"
    require "erb"
    TEMPLATE = ERB.new("<ul><% items.each do |item| %><li><%= ERB::Util.html_escape(item) %></li><% end %></ul>")
    def page(number, items = Array.new(20) { |i| "item <#{number}> #{i}" }) = TEMPLATE.result(binding)
    apart { 5.times { |i| page(i) } }
  RUBY

  steady "template that is compiled again", <<~'RUBY', "apart { 50.times { compile } }"
    module Template; end
    def compile = Template.module_eval("def render = [#{'1,' * 200}]")
    apart { 20.times { compile } }
  RUBY

  steady "exceptions that are rescued", <<~'RUBY', "apart { 300.times { failing_safely } }"
    class Failed < StandardError; def initialize(request) = (@request = request; super("failed")); end
    def failing(depth) = depth > 0 ? failing(depth - 1) : (raise Failed.new("r" * 500))
    def failing_safely = (failing(10) rescue $last_error = $!)
    apart { failing_safely }
  RUBY

  steady "JSON in and out", <<~'RUBY', "apart { 100.times { round_trip } }"
    require "json"
    DOCUMENT = JSON.generate((0..50).to_h { |i| ["key #{i}", { "name" => "n" * 20, "list" => [1, 2.5, nil, true] }] })
    def round_trip = $document = JSON.parse(DOCUMENT)
    apart { 3.times { round_trip } }
  RUBY

  steady "sessions with singleton classes", <<~'RUBY', "apart { sign_in_all }"
    module Admin; def admin? = true; end
    class Session; def initialize = @data = "d" * 200; end
    USERS = {}
    def sign_in_all = 200.times { |i| USERS[i] = Session.new.extend(Admin) }
    apart { 2.times { sign_in_all } }
  RUBY

  steady "observers that are taken back", <<~'RUBY', "apart { 500.times { |i| notified(i) } }"
    class Events
      def initialize = @all = []
      def during(block) = (@all << block; yield) && @all.delete(block)
      def tell(what) = @all.each { |block| block.call(what) }
    end
    EVENTS = Events.new
    def notified(number) = EVENTS.during(->(what) { "#{what} #{number}" }) { EVENTS.tell("event") }
    apart { 5.times { |i| notified(i) } }
  RUBY

  steady "log lines", <<~'RUBY', "apart { 300.times { |i| LOGS.info(\"line \#{i}\") } }"
    require "logger"
    LOGS = Logger.new(File::NULL)
    apart { 10.times { |i| LOGS.info("line #{i}") } }
  RUBY
end
