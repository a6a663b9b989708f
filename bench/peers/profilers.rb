# frozen_string_literal: true

# profilers.rb - starts the profiler that PEER names, around what a workload measures.
#
# Each as its README has it for all of a program's allocations; what it found is not written, but made
# ready to be (`finish`, which returns how many samples were taken, or nil), and that is measured apart: some do most of
# their work there. RUBY_HEAPPROF and no PEER is ours: it runs since before the first line.

module Peer
  Profiler = Struct.new(:start, :finish)

  INTERVAL = Integer(ENV.fetch("PEER_INTERVAL", 1))

  # It samples by time, too: here once a second (interval is in microseconds), which is next to nothing.
  def self.vernier
    require "vernier"
    collector = Vernier::Collector.new(:wall, interval: 1_000_000, allocation_interval: INTERVAL)
    Profiler.new(-> { collector.start },
                 -> { collector.stop.threads.values.sum { |thread| thread[:allocations][:samples].size } })
  end

  def self.stackprof
    require "stackprof"
    Profiler.new(-> { StackProf.start(mode: :object, interval: INTERVAL, raw: false) },
                 -> { StackProf.stop && StackProf.results[:samples] })
  end

  def self.memory_profiler
    require "memory_profiler"
    reporter = MemoryProfiler::Reporter.new
    Profiler.new(-> { reporter.start }, -> { reporter.stop && nil })
  end

  def self.allocation_tracer
    require "allocation_tracer"
    ObjectSpace::AllocationTracer.setup(%i[path line type])
    Profiler.new(-> { ObjectSpace::AllocationTracer.start }, -> { ObjectSpace::AllocationTracer.stop && nil })
  end

  def self.objspace
    require "objspace"
    Profiler.new(-> { ObjectSpace.trace_object_allocations_start }, -> { ObjectSpace.trace_object_allocations_stop && nil })
  end

  def self.none = ENV["RUBY_HEAPPROF"] ? ours : Profiler.new(-> {}, -> {})

  def self.ours
    before = nil
    Profiler.new(-> { before = sampled }, -> { (sampled - before).tap { ObjectSpace::HeapProfile.snapshot.write(IO::NULL) } })
  end

  def self.sampled = ObjectSpace::HeapProfile.stat(:total_samples)

  def self.current = public_send(ENV.fetch("PEER", "none"))
end
