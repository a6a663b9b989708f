# frozen_string_literal: true

# heapprof/minitest - an assertion for Minitest that C extensions lose no memory in a block.
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
# What fails it is what ObjectSpace::HeapProfile.native_leaks tells, and that raises where it cannot be told. One block is looked at at a time: not
# with parallelize_me!. For all tests at once there is heapprof/memcheck.

require "heapprof/native_leaks"

module Minitest
  module Assertions
    # Fails if extensions have lost memory while the block ran, with the C functions that asked for it and the Ruby code that ran.
    def assert_no_native_leak(message = nil, &)
      leaks = ObjectSpace::HeapProfile.native_leaks(&)
      assert(leaks.empty?, message(message) { Heapprof::NativeLeaks.describe(leaks) })
    end
  end
end
