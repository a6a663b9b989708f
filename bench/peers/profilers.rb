# frozen_string_literal: true

# profilers.rb - starts the profiler that PEER names, around what a workload measures.
#
# Each as its README has it for all of a program's allocations; what it found is not written, but made
# ready to be (`finish`), which is measured apart: some do most of their work there.
# RUBY_HEAPPROF and no PEER is ours: it runs since before the first line.

module Peer
  Profiler = Struct.new(:start, :finish)

  INTERVAL = Integer(ENV.fetch("PEER_INTERVAL", 1))

  def self.vernier
    require "vernier"
    collector = Vernier::Collector.new(:custom, allocation_interval: INTERVAL)
    Profiler.new(-> { collector.start }, -> { collector.stop })
  end

  def self.stackprof
    require "stackprof"
    Profiler.new(-> { StackProf.start(mode: :object, interval: INTERVAL, raw: false) },
                 -> { StackProf.stop && StackProf.results })
  end

  def self.memory_profiler
    require "memory_profiler"
    reporter = MemoryProfiler::Reporter.new
    Profiler.new(-> { reporter.start }, -> { reporter.stop })
  end

  def self.allocation_tracer
    require "allocation_tracer"
    ObjectSpace::AllocationTracer.setup(%i[path line type])
    Profiler.new(-> { ObjectSpace::AllocationTracer.start }, -> { ObjectSpace::AllocationTracer.stop })
  end

  def self.objspace
    require "objspace"
    Profiler.new(-> { ObjectSpace.trace_object_allocations_start }, -> { ObjectSpace.trace_object_allocations_stop })
  end

  def self.none = Profiler.new(-> {}, -> { ours if ENV["RUBY_HEAPPROF"] })

  def self.ours
    ObjectSpace::HeapProfile.snapshot.write(IO::NULL)
  end

  def self.current = public_send(ENV.fetch("PEER", "none"))
end
