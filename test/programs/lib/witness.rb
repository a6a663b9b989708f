# frozen_string_literal: true

# witness.rb - loaded into every process of a program, before its own code.
#
# It counts by other means: MRI has a number of the objects allocated so far, the profiler one of the
# samples taken. At interval 1 both must have grown by as much when the process ends. (Before the
# profiler starts MRI has allocated some thousands.) A forked child counts its parent's, too, in both;
# a process that ends without at_exit writes neither a profile nor a count.
#
# Compaction moves objects between slot sizes, and MRI counts each as allocated once more.
#
#   HEAPPROF_WITNESS  directory for the counts: PID.count, "ALLOCATED SAMPLED"
#   HEAPPROF_COMPACT  set: auto_compact on

module HeapprofWitness
  def self.allocated = GC.stat(:total_allocated_objects)

  def self.sampled = ObjectSpace::HeapProfile.stat(:total_samples)

  TRIES = 1000

  # [allocated, sampled]. Another thread may allocate between the two: read until the distance holds. It
  # never may where blocks are sampled, too, for a read has some of its own; then it need not.
  def self.read
    count = last = nil
    TRIES.times do
      count = [allocated, sampled]
      ahead = count.first - count.last
      break if ahead == last
      last = ahead
    end
    count
  end

  if ObjectSpace::HeapProfile.running?
    START = read

    at_exit do
      grown = read.zip(START).map { |now, start| now - start }
      File.write(File.join(ENV.fetch("HEAPPROF_WITNESS"), "#{Process.pid}.count"), grown.join(" "))
    end
  end
end

GC.auto_compact = true if ENV["HEAPPROF_COMPACT"]
