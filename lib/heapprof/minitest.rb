# frozen_string_literal: true

# heapprof/minitest - assertions for Minitest: that C extensions lose no memory in a block, and that they hold no more after each run.
#
#   # test/test_helper.rb
#   require "minitest/autorun"
#   require "heapprof/minitest"
#
#   # a test
#   def test_an_error_leaks_nothing
#     assert_no_native_leak { assert_raises(ArgumentError) { WordCount.new("x" * 100) } }
#   end
#
#   def test_nothing_is_kept
#     assert_no_native_growth { WordCount.new("some words") }
#   end
#
# ObjectSpace::HeapProfile.native_leaks finds what is lost: nothing leads to it any more. native_growth finds what grows, whether
# something leads to it or not. It runs the block several times. Both raise if they cannot tell. They check one block at a time, so
# the assertions do not work with parallelize_me!. heapprof/memcheck checks all tests at once.

require "heapprof/native_growth"
require "heapprof/native_leaks"

module Minitest
  module Assertions
    # Fails if extensions have lost memory while the block ran, with the C functions that asked for it and the Ruby code that ran.
    def assert_no_native_leak(message = nil, &)
      leaks = ObjectSpace::HeapProfile.native_leaks(&)
      assert(leaks.empty?, message(message) { Heapprof::NativeLeaks.describe(leaks) })
    end

    # Fails if extensions hold more memory after each run of the block, with the C functions that asked for it and the Ruby code
    # that ran. +times+ is how many runs are compared.
    def assert_no_native_growth(message = nil, times: 3, &)
      grown = ObjectSpace::HeapProfile.native_growth(times: times, &)
      assert(grown.empty?, message(message) { Heapprof::NativeGrowth.describe(grown) })
    end
  end
end
