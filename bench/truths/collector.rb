# frozen_string_literal: true

# The collector, which runs where it will, beside a method that makes nothing.

require_relative "truth"

KEPT = Array.new(100_000) { [it] }
GC.measure_total_time = true

def make
  begun, collected = cpu_ns, GC.total_time
  5000.times { Array.new(10) }
  gc = GC.total_time - collected
  SPENT["(garbage collection)"] += gc
  SPENT["make"] += cpu_ns - begun - gc
end

def count
  begun = cpu_ns
  20_000.times { |i| i + 1 }
  SPENT["count"] += cpu_ns - begun
end

loop { make; count; told }
