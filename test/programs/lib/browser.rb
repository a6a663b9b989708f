# frozen_string_literal: true

# browser.rb - asks the shop application for pages as one shop's keeper does, and writes down what came.
#
# It keeps cookies, sends the CSRF tokens that pages contain, and waits for the receipt of an order
# before it goes on: so each answer depends on what this keeper asked before, not on the others.

require "cgi/escape"
require "json"
require "net/http"

class Browser
  TOKEN = /(name="(?:csrf-token|authenticity_token)" (?:content|value)=")([^"]+)/
  FORM = "application/x-www-form-urlencoded"
  WORDS = %w[lemon orange & <b>plain</b> Öl banana 油 "quoted"]
  COLOURS = %w[red green blue grün 青]

  attr_reader :log

  def initialize(port, name)
    @name = name
    @random = Random.new(name.sum)
    @http = Net::HTTP.start("127.0.0.1", port, read_timeout: 300)
    @log = []
    @cookies = {}
    @products = @orders = 0
  end

  # So many requests, more or less at random, beginning with the door.
  def visit(requests)
    get("/products")
    sign_in
    5.times { offer }
    random_step while @log.size < requests - 3
    get("/products.csv")
    get("/report.json")
    delete("/session")
  ensure
    @http.finish
  end

  private

  # Step => how often, relatively.
  STEPS = { list: 5, show: 6, offer: 4, change: 4, order: 8, cancel: 2, orders: 3, report: 3, mistake: 3, remove: 1 }
  DECK = STEPS.flat_map { |step, times| [step] * times }

  def random_step
    send(DECK.sample(random: @random))
  end

  def sign_in
    get("/session/new")
    post_form("/session", "name" => " #{@name}  ")
    get("/")
  end

  def list
    get("/products#{['', '.json', '.csv', '?q=o%25', '.json?q=an'].sample(random: @random)}")
  end

  def show
    path = "/products/#{sku}"
    path += ".json" if @random.rand(2) == 0
    tag = get(path)["etag"]
    get(path, "If-None-Match" => tag) if tag
  end

  def offer
    @products += 1
    get("/products/new")
    post_form("/products", product("sku" => "item-#{@products}"))
    get("/products/item-#{@products}")
  end

  def change
    get("/products/#{sku = self.sku}/edit")
    post_form("/products/#{sku}", product("sku" => sku).merge("_method" => "patch"))
  end

  def order
    quantities = Array.new(@random.rand(1..4)) { [sku, @random.rand(1..9)] }.to_h
    answer = post_json("/orders", customer: "Customer #{@random.rand(100)} of #{@name}", quantities:)
    return unless answer.code == "201"
    @orders += 1
    wait_for_receipt("/orders/#{@orders}")
    get("/orders/#{@orders}#{['', '.json', '.text'].sample(random: @random)}")
  end

  def cancel
    post_json("/orders/#{number}/cancel", {})
  end

  def orders
    get(["/orders", "/orders/#{number}", "/orders/#{number}.json"].sample(random: @random))
  end

  def report
    get(["/report", "/report.json"].sample(random: @random))
  end

  # Each is answered by an error, and changes nothing.
  def mistake
    case @random.rand(6)
    when 0 then get("/products/none-1")
    when 1 then get("/nowhere/at/all")
    when 2 then post_form("/products", product("sku" => "NOT A SKU", "price_cents" => "-1"))
    when 3 then post_json("/orders", quantities: { sku => 1 })
    when 4 then post_json("/orders", customer: "Many", quantities: { sku => 1_000_000 })
    when 5 then request(:Post, "/session", "name=forged", "Content-Type" => FORM)
    end
  end

  def remove
    post_form("/products/#{sku}", "_method" => "delete")
  end

  def sku = "item-#{@random.rand(1..@products)}"

  def number = @random.rand(1..@orders + 1)

  def product(values)
    text = Array.new(@random.rand(3..40)) { WORDS.sample(random: @random) }
    { "name" => text.first(3).join(" "), "description" => text.join(" "), "colour" => COLOURS.sample(random: @random),
      "price_cents" => @random.rand(1..99_999), "stock" => @random.rand(200) }
      .merge(values).transform_keys { |key| "product[#{key}]" }
  end

  # Not written down: how often it has to ask is a matter of time.
  def wait_for_receipt(path)
    1000.times do
      return if JSON.parse(exchange(:Get, "#{path}.json").body)["receipt"]
      sleep 0.02
    end
    raise "no receipt for #{path} of #{@name}"
  end

  def get(path, headers = {}) = request(:Get, path, nil, headers)

  def delete(path) = request(:Delete, path, nil, "X-CSRF-Token" => @token)

  def post_form(path, values)
    body = URI.encode_www_form(values.merge("authenticity_token" => @token))
    request(:Post, path, body, "Content-Type" => FORM)
  end

  def post_json(path, values)
    json = "application/json"
    request(:Post, path, JSON.generate(values), "Content-Type" => json, "Accept" => json, "X-CSRF-Token" => @token)
  end

  def request(method, path, body = nil, headers = {})
    answer = exchange(method, path, body, headers)
    text = answer.body.to_s.dup.force_encoding(Encoding::UTF_8)
    @token = CGI.unescapeHTML($2) if text =~ TOKEN
    location = answer["location"]&.sub(%r{\Ahttp://[^/]*}, "")
    @log << [[method, path, body&.sub(/authenticity_token=[^&]*/, "")].compact.join(" "),
             [answer.code, answer["content-type"], location].compact.join(" "), text.gsub(TOKEN, '\1')].join("\n")
    answer
  end

  def exchange(method, path, body = nil, headers = {})
    cookies = @cookies.map { |pair| pair.join("=") }.join("; ")
    request = Net::HTTP.const_get(method).new(path, { "Cookie" => cookies }.merge(headers))
    answer = @http.request(request, body)
    Array(answer.get_fields("set-cookie")).each { |cookie| @cookies.store(*cookie[/\A[^;]*/].split("=", 2)) }
    answer
  end
end
