# frozen_string_literal: true

# test_server.rb - the shop of ./server: two workers of Puma, and a worker of Solid Queue, under load. Who keeps what it makes comes first in
# `heapprof diff` and in `go tool pprof`, and who computes in `heapprof record`, which looks from outside.
#
#     load     old profiles     load     new profiles     load, recorded
#     load, without a profiler, and `heapprof leak` meanwhile

require_relative "lib/labels_test"
require_relative "lib/shop"

class TestServer < Test::Unit::TestCase
  include LabelsTest

  LEAKING = "CartsController#show"
  COMPUTING = "PricesController#index"
  ENDPOINTS = [LEAKING, COMPUTING, "OrdersController#create"].freeze
  JOBS = %w[ImportJob ReceiptJob].freeze

  class << self
    attr_reader :web, :jobs, :record, :leaks

    # Everything happens once; the tests look at what has come of it.
    def startup
      Shop.new.run do |shop|
        shop.load(10)
        old = shop.profiles("old")
        shop.load(100)
        @web, @jobs = old.zip(shop.profiles("new"))
        @record = shop.record
      end
      Shop.new("RUBY_HEAPPROF" => nil).run do |shop|
        shop.load(10)
        @leaks = shop.leaks
      end
    end
  end

  # Both workers are added up. `(none)` has what no request has made.
  def test_the_endpoint_that_leaks_comes_first_in_a_difference
    assert_equal LEAKING, grown(self.class.web, "endpoint").first
    assert_empty grown(self.class.web, "job") - ["(none)"]
  end

  def test_the_job_that_leaks_comes_first_in_a_difference
    assert_equal "ImportJob", grown(self.class.jobs, "job").first
    assert_empty grown(self.class.jobs, "endpoint") - ["(none)"]
  end

  def test_go_tool_pprof_has_both_first_at_the_root
    assert_equal LEAKING, roots(self.class.web, "endpoint", ENDPOINTS).first
    assert_equal "ImportJob", roots(self.class.jobs, "job", JOBS).first
  end

  # `(none)` is what ran when nobody looked: on a machine that has other work, a look comes late.
  def test_the_endpoint_that_computes_comes_first_from_outside
    rows = self.class.record.lines(chomp: true).drop_while { |line| !line.match?(/\A +value /) }.drop(1)
    first = rows.find { |row| !row.end_with?("  (none)") }
    assert_match(/  #{COMPUTING}\z/, first, self.class.record)
  end

  # Neither was started with a profiler. Of Puma's master and workers, the one that grew most comes first.
  def test_who_holds_what_leaks_comes_first_on_demand
    web, jobs = self.class.leaks
    assert_held "CartsController::SEEN", "endpoint: #{LEAKING}", web
    assert_held "ImportJob::SEEN", "job: ImportJob", jobs
  end

  private

  def assert_held(holder, label, answer)
    rows, lines = %w[What\ holds\ it By\ the\ line].map { |start| answer[/^#{start}.*?:\n(.*?)\n\n/m, 1].to_s.lines }
    assert_match(/ constant #{holder} \(Array\): [\d,]+ new Arrays/, rows.first, answer)
    assert_include lines.first, label, answer
  end

  # What grew, by that label, most first.
  def grown((old, new), key)
    json = JSON.parse(Shop.heapprof("diff", *old, *new, "--group=label:#{key}", "--json"))
    json["rows"].map { |row| row["what"] }
  end

  # The values of that label which pprof has put at the root, most first.
  def roots((old, new), key, values)
    text = Shop.output("go", "tool", "pprof", "-top", "-cum", "-tagroot=#{key}", "-sample_index=inuse_space",
                       *old.map { |file| "-base=#{file}" }, *new)
    text.lines.filter_map { |line| values.find { |value| line.end_with?("  #{value}\n") } }
  end
end
