# frozen_string_literal: true

# test_async.rb - labels of the fibers of Async: a task has those of the code that made it, whichever task runs meanwhile.

require_relative "lib/labels_test"
require "async"
require "async/semaphore"
require "heapprof/labels"

class TestAsync < Test::Unit::TestCase
  include LabelsTest

  NAMES = %w[/cart /pay /home].freeze

  # All tasks are begun before any goes on, and they go on in turn.
  def in_turns
    Async do |task|
      NAMES.map { |name| Heapprof::Labels.with(endpoint: name) { task.async { 3.times.map { yield.tap { task.yield_to_others } } } } }.map(&:wait)
    end.wait
  end

  # What gives the other tasks their turn, in both versions.
  module Turns
    def yield_to_others = sleep(0.001)
  end
  Async::Task.include(Turns)

  def test_a_task_has_the_labels_of_the_code_that_made_it
    assert_equal NAMES.map { |name| [{ endpoint: name }] * 3 }, in_turns { LabelsTest.current }
  end

  def test_labels_of_a_task_are_its_own
    in_turns do
      Heapprof::Labels.with(shard: 1) do
        Async::Task.current.yield_to_others
        noted[LabelsTest.current] = true
      end
    end
    assert_equal NAMES.map { |name| { endpoint: name, shard: "1" } }.sort_by(&:to_s), noted.keys.sort_by(&:to_s)
  end

  def test_a_task_of_a_task_has_its_labels
    inner = Async { |task| Heapprof::Labels.with(job: "outer") { task.async { |child| child.async { LabelsTest.current }.wait } }.wait }.wait
    assert_equal({ job: "outer" }, inner)
  end

  def test_a_task_that_is_stopped_leaves_no_label
    Async do |task|
      stopped = Heapprof::Labels.with(job: "stopped") { task.async { Heapprof::Labels.with(shard: 1) { sleep } } }
      task.yield_to_others
      stopped.stop
      assert_equal({}, LabelsTest.current)
    end.wait
  end

  def test_what_tasks_keep_has_their_labels_in_a_profile
    labels = labels_in_profile { in_turns { LabelsTest::Kept.new } }
    assert_equal NAMES.map { |name| { endpoint: name } }, labels.sort_by { |row| NAMES.index(row[:endpoint]) }
  end
end
