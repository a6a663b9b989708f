# frozen_string_literal: true

# heapprof/native_leaks - what heapprof/minitest and heapprof/rspec have in common: ObjectSpace::HeapProfile.native_leaks in words.

module Heapprof
  module NativeLeaks
    # As heapprof memcheck prints them.
    def self.describe(leaks)
      blocks = leaks.sum { |leak| leak.blocks + leak.indirect_blocks }
      bytes = leaks.sum { |leak| leak.bytes + leak.indirect_bytes }
      total = "#{leaks.size} leak#{"s" if leaks.size != 1}, #{bytes} bytes in #{blocks} block#{"s" if blocks != 1}\n"
      total + leaks.map { |leak| "\n#{leak.to_s.lines.map { |line| "  #{line}" }.join}\n" }.join
    end
  end
end
