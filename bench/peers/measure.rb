# frozen_string_literal: true

# measure.rb - runs a workload's block under the profiler, and says what that cost.
#
# A line of JSON to the file MEASURED: CPU seconds of the block and of the profiler's end, objects
# allocated in the block, and how many of them were sampled, null where the profiler does not tell.

require_relative "profilers"

def cpu_seconds = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)

# Once, below a C function that no workload calls: callgrind counts what is between its begin and its end.
def counted(&block) = [].permutation(0, &block)

def measure
  profiler = Peer.current
  GC.start
  objects = GC.stat(:total_allocated_objects)
  profiler.start.call
  begun = cpu_seconds
  counted { yield }
  ended = cpu_seconds
  objects = GC.stat(:total_allocated_objects) - objects
  samples = profiler.finish.call
  finished = cpu_seconds
  return unless ENV["MEASURED"]

  File.write(ENV["MEASURED"], %({"block": #{ended - begun}, "end": #{finished - ended}, ) +
                              %("objects": #{objects}, "samples": #{samples || 'null'}}\n))
end
