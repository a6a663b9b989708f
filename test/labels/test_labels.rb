# frozen_string_literal: true

# test_labels.rb - heapprof/labels: the labels of this ruby, and nothing on another one.

require_relative "lib/labels_test"
require "heapprof/labels"

class TestLabels < Test::Unit::TestCase
  include LabelsTest

  FILE = File.expand_path("../../lib/heapprof/labels.rb", __dir__)

  def test_with_labels_the_block_and_returns_its_value
    inside = nil
    value = Heapprof::Labels.with(endpoint: "/cart") do
      inside = LabelsTest.current
      :value
    end
    assert_equal [:value, { endpoint: "/cart" }], [value, inside]
  end

  def test_set_labels_from_now_on_and_returns_what_restores
    before = Heapprof::Labels.set(job: "Mailer")
    assert_equal({ job: "Mailer" }, Heapprof::Labels.current)
    Heapprof::Labels.set(before)
    assert_equal({}, Heapprof::Labels.current)
  end

  def test_objects_have_the_labels_in_a_profile
    assert_equal [{ tenant: "b2b" }], labels_in_profile { Heapprof::Labels.with(tenant: "b2b") { LabelsTest::Kept.new } }
  end

  # A ruby without the methods of this one.
  def test_on_another_ruby_only_the_block_runs
    printed = labels_printed_by(<<~RUBY)
      ObjectSpace.send(:remove_const, :HeapProfile)
      load #{FILE.dump}
      before = Heapprof::Labels.set(job: "Mailer")
      value = Heapprof::Labels.with(job: "Mailer") { 1 }
      Heapprof::Labels.set(before)
      puts "labels: \#{[value, Heapprof::Labels.current].inspect}"
    RUBY
    assert_equal ["[1, {}]"], printed
  end

  # A gem's copy is loaded beside ours.
  def test_several_copies_do_no_harm
    script = "2.times { load #{FILE.dump} }; print Heapprof::Labels.with(a: 1) { Heapprof::Labels.current }"
    assert_equal "{a: \"1\"}", IO.popen([RbConfig.ruby, "-w", "-e", script, err: [:child, :out]], &:read)
  end

  # ActiveSupport has Object#with, and is loaded before.
  def test_other_methods_of_that_name_do_no_harm
    printed = labels_printed_by(<<~RUBY)
      require "active_support/core_ext/object/with"
      load #{FILE.dump}
      puts "labels: \#{Heapprof::Labels.with(a: 1) { Heapprof::Labels.current }}"
    RUBY
    assert_equal ['{a: "1"}'], printed
  end
end
