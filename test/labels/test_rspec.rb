# frozen_string_literal: true

# test_rspec.rb - heapprof/rspec/labels with RSpec, run as its users run it.

require_relative "lib/labels_test"

class TestRSpec < Test::Unit::TestCase
  include LabelsTest

  def test_each_example_has_its_name_with_its_hooks
    printed = labels_printed_by(<<~'RUBY')
      require "rspec/autorun"
      require "heapprof/rspec/labels"

      def note(place) = puts("labels: #{place} #{ObjectSpace::HeapProfile.labels}")

      RSpec.describe "Cart" do
        before(:all) { note("group") }
        before { note("before") }
        after { note("after") }
        around { |example| note("around"); example.run }
        it("is empty") { note("example") }
        describe("with a line") { it("sums") { note("nested") } }
      end
    RUBY
    empty, sums = { test: "Cart is empty" }, { test: "Cart with a line sums" }
    expected = [["group", {}], ["around", empty], ["before", empty], ["example", empty], ["after", empty]] +
               [["around", sums], ["before", sums], ["nested", sums], ["after", sums]]
    assert_equal expected.map { |place, labels| "#{place} #{labels}" }, printed
  end
end
