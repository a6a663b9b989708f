# frozen_string_literal: true

# heapprof/minitest/labels - labels each test of Minitest with its name: test: "CartTest#test_total".
#
#   # test/test_helper.rb
#   require "minitest/autorun"
#   require "heapprof/minitest/labels"
#
# Its setup and its teardown have the label, too. If there are more than 1000 tests, RUBY_HEAPPROF=labels=5000 gives them all names.

require "minitest"
require "minitest/test"
require_relative "../labels"

module Heapprof
  module Minitest
    module Labels
      def run = Heapprof::Labels.with(test: "#{self.class.name}##{name}") { super }
    end
  end
end

Minitest::Test.prepend Heapprof::Minitest::Labels
