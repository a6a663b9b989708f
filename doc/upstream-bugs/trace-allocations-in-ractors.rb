# Stock MRI 3.4.5: ruby trace-allocations-in-ractors.rb (needs objspace)
require "objspace"
Warning[:experimental] = false
ObjectSpace.trace_object_allocations_start
Array.new(3) { Ractor.new { 300_000.times { |i| [i] } } }.each(&:take)
puts :ok
