# frozen_string_literal: true

# heapprof/rspec - matchers for RSpec: whether C extensions lose memory in a block, or hold more after each run of it.
#
#   # spec/spec_helper.rb
#   require "heapprof/rspec"
#
#   # an example
#   it "leaks nothing" do
#     expect { WordCount.new("some words") }.not_to leak_natively
#   end
#
#   it "keeps nothing" do
#     expect { WordCount.new("some words") }.not_to grow_natively
#   end
#
# ObjectSpace::HeapProfile.native_leaks finds what is lost: nothing leads to it any more. native_growth finds what grows, whether
# something leads to it or not. It runs the block several times: <tt>grow_natively(times: 5)</tt>. Both raise if they cannot tell.
# heapprof/memcheck/rspec checks all examples at once.

require "heapprof/native_growth"
require "heapprof/native_leaks"

module RSpec
  module Matchers
    # Matches if extensions have lost memory while the block ran.
    def leak_natively = Heapprof::NativeLeaks::Matcher.new

    # Matches if extensions hold more memory after each run of the block. +times+ is how many runs are compared.
    def grow_natively(times: 3) = Heapprof::NativeGrowth::Matcher.new(times)
  end
end

module Heapprof
  module NativeLeaks
    # Follows RSpec's protocol of matchers. It loads without RSpec.
    class Matcher
      def supports_block_expectations? = true

      def matches?(block)
        @leaks = ObjectSpace::HeapProfile.native_leaks(&block)
        @leaks.any?
      end

      def description = "leak natively"

      def failure_message = "expected that extensions lose memory, and they have lost none"

      def failure_message_when_negated = "expected that extensions lose no memory: #{NativeLeaks.describe(@leaks)}"
    end
  end
end

module Heapprof
  module NativeGrowth
    # Follows RSpec's protocol of matchers. It loads without RSpec.
    class Matcher
      def initialize(times)
        @times = times
      end

      def supports_block_expectations? = true

      def matches?(block)
        @grown = ObjectSpace::HeapProfile.native_growth(times: @times, &block)
        @grown.any?
      end

      def description = "grow natively"

      def failure_message = "expected that native memory grows, and it does not"

      def failure_message_when_negated = "expected that no native memory grows: #{NativeGrowth.describe(@grown)}"
    end
  end
end
