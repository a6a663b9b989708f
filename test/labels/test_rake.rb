# frozen_string_literal: true

# test_rake.rb - heapprof/rake with Rake.

require_relative "lib/labels_test"
require "rake"
require "heapprof/rake"

class TestRake < Test::Unit::TestCase
  include LabelsTest
  include Rake::DSL

  def setup
    super
    Rake.application = Rake::Application.new
  end

  def test_a_task_has_its_name_and_what_it_needs_has_its_own
    task(:fetch) { LabelsTest.note(:fetch) }
    namespace(:assets) { task(precompile: :fetch) { LabelsTest.note(:precompile) } }
    Rake::Task["assets:precompile"].invoke
    assert_equal({ fetch: { task: "fetch" }, precompile: { task: "assets:precompile" } }, noted)
  end

  def test_arguments_come_through
    task(:import, [:file]) { |task, arguments| noted[:file] = [task.name, arguments[:file], LabelsTest.current] }
    Rake::Task["import"].invoke("a.csv")
    assert_equal ["import", "a.csv", { task: "import" }], noted[:file]
  end

  def test_tasks_in_threads_have_their_own_names
    names = %w[one two three]
    names.each { |name| task(name) { LabelsTest.note(name) } }
    multitask(all: names) { LabelsTest.note("all") }
    Rake::Task["all"].invoke
    assert_equal [*names, "all"].to_h { |name| [name, { task: name }] }, noted
  end

  def test_a_file_task_has_the_name_of_its_file
    file("made.txt") { |task| File.write(task.name, LabelsTest.note(:file).inspect) }
    Rake::Task["made.txt"].invoke
    assert_equal({ task: "made.txt" }, noted[:file])
  end

  def test_what_a_task_keeps_has_its_name_in_a_profile
    kept = []
    task(:keep) { kept << LabelsTest::Kept.new }
    assert_equal [{ task: "keep" }], labels_in_profile { Rake::Task["keep"].invoke && kept }
  end
end
