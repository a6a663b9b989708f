# frozen_string_literal: true

# test_rack.rb - heapprof/rack/labels with Rack, between two of Rack's own checkers (Lint), and with Sinatra.

require_relative "lib/labels_test"
require "rack"
require "rack/lint"
require "rack/mock"
require "rack/body_proxy"
require "sinatra/base"
require "heapprof/rack/labels"

class Shop < Sinatra::Base
  set :environment, :production
  set :host_authorization, {}

  class Lines
    def each
      LabelsTest.note(:streams)
      yield "lines"
    end
  end

  KEPT = []

  get("/carts/:id") { (KEPT << LabelsTest::Kept.new) && Lines.new }
end

class TestRack < Test::Unit::TestCase
  include LabelsTest

  # A body that is made while it is read.
  class Body
    attr_reader :closed

    def each
      LabelsTest.note(:each)
      KEPT << LabelsTest::Kept.new
      yield "one"
      yield "two"
    end

    def close
      LabelsTest.note(:close)
      @closed = @closed.to_i + 1
    end

    KEPT = []
  end

  PLAIN = { "content-type" => "text/plain" }.freeze
  SHOW = { method: "GET", endpoint: "carts#show" }.freeze
  UNKNOWN = { method: "GET", endpoint: "(before routing)" }.freeze
  NO_ROUTE = { method: "GET", endpoint: "(no route)" }.freeze
  BEFORE = []

  def labelled(body, route: SHOW[:endpoint], **settings, &block)
    app = lambda do |env|
      LabelsTest.note(:call)
      BEFORE << LabelsTest::Kept.new
      block&.call(env)
      Heapprof::Labels.with(endpoint: route) { LabelsTest.note(:route) } if route
      LabelsTest.note(:after)
      [200, PLAIN.transform_keys { |key| Rack.release < "3" ? "Content-Type" : key }, body]
    end
    Rack::Lint.new(Heapprof::Rack::Labels.new(Rack::Lint.new(app), **settings))
  end

  def request(app, method = "GET", path = "/carts/1") = Rack::MockRequest.new(app).request(method, path)

  def test_a_request_has_its_method_and_its_route_from_when_it_is_known_until_its_body_is_closed
    body = Body.new
    assert_equal "onetwo", request(labelled(body)).body
    assert_equal [UNKNOWN, SHOW, SHOW, SHOW, SHOW, 1], [*noted.values_at(:call, :route, :after, :each, :close), body.closed]
  end

  # Between two pieces of a body the server works, and it has the labels; after it nobody has.
  def test_labels_are_gone_when_the_body_has_been_read
    _, _, body = labelled(Body.new).call(Rack::MockRequest.env_for("/"))
    assert_equal({}, LabelsTest.current)
    inside = nil
    body.each { inside = LabelsTest.current }
    assert_equal [SHOW, {}], [inside, LabelsTest.current]
    body.close
  end

  # All wait until each has come, before any has its route.
  def test_requests_at_once_do_not_mix
    names = %w[one two three four]
    come = Thread::Queue.new
    go = Thread::Queue.new
    app = lambda do |env|
      kept = LabelsTest::Kept.new
      come << env
      go.pop
      Heapprof::Labels.with(endpoint: env["PATH_INFO"]) { [200, {}, [kept]] }
    end
    labels = labels_in_profile do
      threads = names.map { |name| Thread.new { Heapprof::Rack::Labels.new(app).call(Rack::MockRequest.env_for("/#{name}")) } }
      names.each { come.pop }
      names.each { go << true }
      threads.map(&:value)
    end
    assert_equal names.map { |name| "/#{name}" }.sort, labels.map { |row| row[:endpoint] }.sort
  end

  # Rack's MockResponse closes what has closed itself.
  def test_a_body_that_is_closed_twice_is_closed_once
    inner = Body.new
    _, _, body = Heapprof::Rack::Labels.new(->(_) { [200, {}, inner] }).call(Rack::MockRequest.env_for("/"))
    2.times { body.close }
    assert_equal 1, inner.closed
  end

  def test_a_body_has_the_methods_of_the_one_within
    wrap = ->(body) { Heapprof::Rack::Labels.new(->(_) { [200, {}, body] }).call(Rack::MockRequest.env_for("/"))[2] }
    assert_equal [true, true, false, false], %i[each to_ary to_path call].map { |name| wrap[["a"]].respond_to?(name) }
    assert_equal ["a"], wrap[["a"]].to_ary
    file = Rack::Files.new(__dir__).get(Rack::MockRequest.env_for("/run"))[2]
    assert_equal File.join(__dir__, "run"), wrap[file].to_path
    assert_raise(NoMethodError) { wrap[["a"]].to_path }
    assert_raise(NoMethodError) { wrap[["a"]].system("true") }
  end

  def test_a_body_that_writes_to_a_stream_has_the_labels
    omit "Rack 2 has none" if Rack.release < "3"
    _, _, body = labelled(->(stream) { LabelsTest.note(:stream) && stream.write("x") && stream.close }).call(Rack::MockRequest.env_for("/"))
    body.call(StringIO.new)
    assert_equal SHOW, noted[:stream]
  end

  def test_bodies_that_wrap_one_another_are_closed_once_and_labelled
    inner = Body.new
    proxied = Rack::BodyProxy.new(inner) { LabelsTest.note(:proxy) }
    request(labelled(proxied))
    assert_equal [SHOW, SHOW, 1], [*noted.values_at(:close, :proxy), inner.closed]
  end

  def test_a_setting_tells_the_endpoint
    request(labelled(Body.new, route: nil, endpoint: ->(env) { env["PATH_INFO"][%r{\A/\w+}] }))
    assert_equal({ method: "GET", endpoint: "/carts" }, noted[:each])
  end

  # The page of an error is made by another action.
  def test_the_first_route_counts
    request(labelled(Body.new, endpoint: ->(_) { "last" }) { Heapprof::Labels.with(endpoint: "first") {} })
    assert_equal %w[first first], noted.values_at(:after, :each).map { |labels| labels[:endpoint] }
  end

  def test_a_request_of_which_nobody_knows_the_route_has_a_name_for_that
    request(labelled(Body.new, route: nil))
    assert_equal [UNKNOWN, NO_ROUTE], noted.values_at(:after, :each)
    failed = -> { request(labelled([], route: nil) { raise "broken" }) rescue BEFORE }
    assert_equal [NO_ROUTE], labels_in_profile(&failed)
  end

  # As where config.ru has one, and Rails its own.
  def test_of_two_middlewares_the_outer_one_says_that_there_is_no_route
    inner = Heapprof::Rack::Labels.new(->(_) { [404, {}, Body.new] })
    Heapprof::Rack::Labels.new(inner, endpoint: ->(_) { "last" }).call(Rack::MockRequest.env_for("/"))[2].each {}
    assert_equal "last", noted[:each][:endpoint]
  end

  def test_a_body_has_the_other_labels_of_the_request_too
    request(labelled(Body.new) { Heapprof::Labels.set(tenant: "b2b") })
    assert_equal SHOW.merge(tenant: "b2b"), noted[:each]
  end

  def test_a_method_that_nobody_knows_is_other
    Heapprof::Rack::Labels.new(->(_) { LabelsTest.note(:call) && [200, {}, []] }).call(Rack::MockRequest.env_for("/", method: "BREW"))
    assert_equal "(other)", noted[:call][:method]
  end

  def test_an_error_leaves_no_label
    assert_raise(RuntimeError) { request(labelled([]) { raise "broken" }) }
    broken = Class.new { def each = raise("torn") }.new
    assert_raise(RuntimeError) { request(labelled(broken)) }
  end

  # As servers without threads do with requests that they answer later.
  def test_a_throw_leaves_no_label
    assert_equal :later, catch(:async) { request(labelled([]) { throw :async, :later }) }
  end

  def test_sinatra_tells_its_route
    assert_equal "lines", request(Heapprof::Rack::Labels.new(Shop)).body
    assert_equal({ method: "GET", endpoint: "GET /carts/:id" }, noted[:streams])
  end

  def test_what_a_request_keeps_has_the_endpoint_in_a_profile_whether_before_the_route_or_in_the_body
    assert_equal [SHOW], labels_in_profile { request(labelled(Body.new)) && [BEFORE, Body::KEPT] }
    assert_equal ["GET /carts/:id"], labels_in_profile { request(Heapprof::Rack::Labels.new(Shop)) && Shop::KEPT }.map { |labels| labels[:endpoint] }
  end
end
