# frozen_string_literal: true

# graph.rb - what a dump of the object graph takes: objects and bytes for each second of CPU time, bytes for each object, and how
# long the program waits for the child that writes it.
#
#   ruby bench/graph.rb [OBJECTS]
#
# A third of the objects are plain ones, the others Arrays, Hashes and Strings that they hold.

require "tmpdir"
require "zlib"

class Node
  def initialize(name, list, pairs)
    @name, @list, @pairs = name, list, pairs
  end
end

def fill(count)
  Array.new(count / 5) { |i| Node.new("node #{i}", [i, i.to_s], { name: i }) }
end

# The last block, as doc/graph-format.md has it: lengths below 128 bytes are one byte.
def footer(path)
  bytes, at = File.binread(path), 12
  while at < bytes.bytesize
    kind, encoding, _, packed = bytes.unpack("@#{at}CCx2VV")
    data = bytes.byteslice(at + 16, packed)
    at += 16 + packed
  end
  raise "incomplete" unless kind == 8
  data = Zlib.inflate(data) if encoding == 1
  texts = []
  texts << data.slice!(0, data.slice!(0, 1).ord) until data.empty?
  texts.each_slice(2).to_h
end

def cpu_seconds = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID)

kept = fill(Integer(ARGV[0] || 2_000_000))
GC.start
count = ObjectSpace.count_objects.then { |counts| counts[:TOTAL] - counts[:FREE] }
Dir.mktmpdir do |directory|
  path = File.join(directory, "heap.rbgraph")
  seconds, bytes = Array.new(3) do
    before = cpu_seconds
    bytes = ObjectSpace::HeapGraph.dump(path, fork: false)
    [cpu_seconds - before, bytes]
  end.min
  puts format("%d objects, in place: %.2f M/s of CPU time, %.1f MB/s, %.2f B an object",
              count, count / seconds / 1e6, bytes / seconds / 1e6, bytes.fdiv(count))
  pauses = Array.new(5) do
    ObjectSpace::HeapGraph.dump(path)
    Integer(footer(path).fetch("pause_ns"))
  end
  puts format("by a child: the program waits %.1f to %.1f ms", *pauses.minmax.map { |ns| ns / 1e6 })
end
abort "lost" if kept.empty?
