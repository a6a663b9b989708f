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
# ObjectSpace::HeapProfile.native_leaks finds the leaks. It raises if leaks cannot be told. It checks one block at a time, so
# the assertion does not work with parallelize_me!. heapprof/memcheck checks all tests at once.

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
