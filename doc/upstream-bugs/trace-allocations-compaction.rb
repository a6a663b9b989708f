# Stock MRI 3.4.5: ruby trace-allocations-compaction.rb (needs objspace)
#
# Always: each round of trace_object_allocations and compaction makes the process larger for good. What is known of an object that
# has died after the tracing is forgotten when compaction finds its page gone, but not freed
# (allocation_info_tracer_compact_update_object_table_i in ext/objspace/object_tracing.c returns ST_DELETE).
require "objspace"

def round
  objects = []
  ObjectSpace.trace_object_allocations { 300_000.times { objects << Object.new } }
  objects = nil
  GC.start
  GC.compact
  ObjectSpace.trace_object_allocations_clear
  GC.start
end

def resident_kilobytes = File.read("/proc/self/status")[/^VmRSS:\s+(\d+)/, 1].to_i

3.times { round }
before = resident_kilobytes
10.times { round }
puts "#{resident_kilobytes - before} kB more after ten rounds"
