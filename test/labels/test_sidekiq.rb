# frozen_string_literal: true

# test_sidekiq.rb - heapprof/sidekiq with Sidekiq's own processor, which gets its work from here, so no Redis is needed.

require_relative "lib/labels_test"
require "active_job"
require "sidekiq/cli" # what is loaded in a server
require "active_job/queue_adapters/sidekiq_adapter"

class NotingMiddleware
  include Sidekiq::ServerMiddleware

  def call(*)
    LabelsTest.note(:middleware)
    yield
  end
end

Sidekiq.default_configuration.server_middleware { |chain| chain.add(NotingMiddleware) }
require "heapprof/sidekiq" # comes before what is there

class ImportJob
  include Sidekiq::Job

  KEPT = []

  def perform(count)
    LabelsTest.note(:perform)
    NOTED << count
    KEPT << LabelsTest::Kept.new
  end

  NOTED = []
end

class WrappedJob < ActiveJob::Base
  def perform = LabelsTest.note(:wrapped)
end

class TestSidekiq < Test::Unit::TestCase
  include LabelsTest

  Work = Struct.new(:job) do
    def queue = "queue:default"
    def queue_name = "default"
    def acknowledge = nil
    def requeue = nil
  end

  CONFIG = Sidekiq.default_configuration
  CONFIG.logger = nil
  ActiveJob::Base.logger = nil

  # What a thread of the server does with one job.
  def process(job)
    processor = Sidekiq::Processor.new(CONFIG.default_capsule)
    processor.send(:process, Work.new(Sidekiq.dump_json({ "jid" => "1", "queue" => "default", "retry" => false }.merge(job))))
  end

  def test_a_job_has_its_class_also_in_other_middlewares
    process("class" => "ImportJob", "args" => [7])
    assert_equal({ middleware: { job: "ImportJob" }, perform: { job: "ImportJob" } }, noted)
    assert_equal 7, ImportJob::NOTED.last
  end

  # As Active Job's adapter hands it over.
  def test_a_job_of_active_job_has_the_name_of_its_own_class
    wrapper = ActiveJob::QueueAdapters::SidekiqAdapter::JobWrapper
    process("class" => wrapper.name, "wrapped" => "WrappedJob", "args" => [WrappedJob.new.serialize])
    assert_equal({ middleware: { job: "WrappedJob" }, wrapped: { job: "WrappedJob" } }, noted)
  end

  def test_what_a_job_keeps_has_its_name_in_a_profile
    assert_equal [{ job: "ImportJob" }], labels_in_profile { process("class" => "ImportJob", "args" => [1]) && ImportJob::KEPT }
  end
end
