# frozen_string_literal: true

# test_active_job.rb - heapprof/active_job with Active Job.

require_relative "lib/labels_test"
require "active_job"
require "heapprof/active_job"

ActiveJob::Base.logger = nil
ActiveJob::Base.queue_adapter = :inline

class ImportJob < ActiveJob::Base
  KEPT = []

  around_perform do |_job, block|
    LabelsTest.note(:around)
    block.call
  end

  def perform
    LabelsTest.note(:perform)
    KEPT << LabelsTest::Kept.new
  end
end

# Something that is found by its name, as a record is.
Account = Struct.new(:name)

class AccountSerializer < ActiveJob::Serializers::ObjectSerializer
  def klass = Account
  def serialize(account) = super("name" => account.name)
  def deserialize(hash) = LabelsTest.note(:finds) && Account.new(hash["name"])
end

ActiveJob::Serializers.add_serializers(AccountSerializer)

class AccountJob < ActiveJob::Base
  def perform(account) = LabelsTest.note(account.name.to_sym)
end

class OuterJob < ActiveJob::Base
  def perform
    LabelsTest.note(:before)
    ImportJob.perform_later
    LabelsTest.note(:after)
  end
end

class FailingJob < ActiveJob::Base
  class Failed < StandardError; end

  discard_on(Failed) { LabelsTest.note(:discarded) }

  def perform = raise(Failed)
end

class BrokenJob < ActiveJob::Base
  def perform = raise("broken")
end

class TestActiveJob < Test::Unit::TestCase
  include LabelsTest

  def test_a_job_has_its_class_also_in_callbacks
    ImportJob.perform_later
    assert_equal({ around: { job: "ImportJob" }, perform: { job: "ImportJob" } }, noted)
  end

  def test_arguments_are_found_with_the_label
    AccountJob.perform_later(Account.new("b2b"))
    assert_equal({ finds: { job: "AccountJob" }, b2b: { job: "AccountJob" } }, noted)
  end

  def test_a_job_within_a_job_has_its_own_name
    OuterJob.perform_later
    assert_equal [{ job: "OuterJob" }, { job: "ImportJob" }, { job: "OuterJob" }], noted.values_at(:before, :perform, :after)
  end

  def test_a_job_that_fails_has_it_where_it_is_handled
    FailingJob.perform_later
    assert_equal({ job: "FailingJob" }, noted[:discarded])
  end

  def test_an_error_leaves_no_label
    assert_raise(RuntimeError) { BrokenJob.perform_now }
  end

  def test_what_a_job_keeps_has_its_name_in_a_profile
    assert_equal [{ job: "ImportJob" }], labels_in_profile { ImportJob.perform_later && ImportJob::KEPT }
  end
end
