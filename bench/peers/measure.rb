# frozen_string_literal: true

# measure.rb - runs a workload's block under the profiler, and says what that cost.
#
# A line of JSON to the file MEASURED: CPU seconds of the block and of the profiler's end, objects
# allocated in the block, and, of ours, how many of them were sampled.

require_relative "profilers"

def cpu_seconds = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)

def heapprof_samples
  ENV["RUBY_HEAPPROF"] ? ObjectSpace::HeapProfile.stat(:total_samples) : 0
end

def measure
  profiler = Peer.current
  GC.start
  objects = GC.stat(:total_allocated_objects)
  samples = heapprof_samples
  profiler.start.call
  begun = cpu_seconds
  yield
  ended = cpu_seconds
  objects = GC.stat(:total_allocated_objects) - objects
  samples = heapprof_samples - samples
  profiler.finish.call
  finished = cpu_seconds
  return unless ENV["MEASURED"]

  File.write(ENV["MEASURED"], %({"block": #{ended - begun}, "end": #{finished - ended}, ) +
                              %("objects": #{objects}, "samples": #{samples}}\n))
end
