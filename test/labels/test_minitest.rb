# frozen_string_literal: true

# test_minitest.rb - heapprof/minitest/labels with Minitest, run as its users run it.

require_relative "lib/labels_test"

class TestMinitest < Test::Unit::TestCase
  include LabelsTest

  def test_each_test_has_its_name_from_setup_to_teardown
    printed = labels_printed_by(<<~'RUBY', "--seed=1")
      require "minitest/autorun"
      require "heapprof/minitest/labels"

      class CartTest < Minitest::Test
        def note(place) = puts("labels: #{place} #{ObjectSpace::HeapProfile.labels}")
        def setup = note("setup")
        def teardown = note("teardown")
        def test_total = note("test")
      end
    RUBY
    assert_equal %w[setup test teardown].map { |place| "#{place} #{{ test: 'CartTest#test_total' }}" }, printed
  end

  def test_tests_in_threads_have_their_own_names
    printed = labels_printed_by(<<~'RUBY')
      require "minitest/autorun"
      require "heapprof/minitest/labels"

      class CartTest < Minitest::Test
        parallelize_me!
        10.times { |i| define_method("test_#{i}") { puts("labels: #{name == "test_#{i}"} #{ObjectSpace::HeapProfile.labels}") } }
      end
    RUBY
    assert_equal Array.new(10) { |i| "true #{{ test: "CartTest#test_#{i}" }}" }, printed.sort
  end

  def test_a_spec_has_the_name_of_its_example
    printed = labels_printed_by(<<~'RUBY')
      require "minitest/autorun"
      require "heapprof/minitest/labels"

      describe "a cart" do
        it("is empty") { puts "labels: #{ObjectSpace::HeapProfile.labels}" }
      end
    RUBY
    assert_equal [{ test: "a cart#test_0001_is empty" }.to_s], printed
  end
end
