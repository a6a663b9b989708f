# frozen_string_literal: true

# heapprof/rspec - a matcher for RSpec: whether C extensions lose memory in a block.
#
#   # spec/spec_helper.rb
#   require "heapprof/rspec"
#
#   # an example
#   it "leaks nothing" do
#     expect { WordCount.new("some words") }.not_to leak_natively
#   end
#
# ObjectSpace::HeapProfile.native_leaks finds the leaks. It raises if leaks cannot be told. heapprof/memcheck/rspec checks all
# examples at once.

require "heapprof/native_leaks"

module RSpec
  module Matchers
    # Matches if extensions have lost memory while the block ran.
    def leak_natively = Heapprof::NativeLeaks::Matcher.new
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
