# frozen_string_literal: true

# graph.rb - what a dump of the object graph takes: objects and bytes for each second of CPU time, bytes for each object, and how
# long the program waits for the child that writes it.
#
#   ruby bench/graph.rb [OBJECTS]
#   ruby bench/graph.rb --pause GB...
#
# A third of the objects are plain ones, the others Arrays, Hashes and Strings that they hold. With --pause: how long the program waits
# when its heap pages have so many GB in all, beside a fork of the same process whose child does nothing.

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
def milliseconds(seconds) = format("%.1f to %.1f ms", *seconds.minmax.map { |one| one * 1000 })

# How long the program waits, by what the file says.
def pause(path)
  ObjectSpace::HeapGraph.dump(path)
  Integer(footer(path).fetch("pause_ns")) / 1e9
end

# Seconds of CPU time that this thread takes for the block.
def cpu_seconds_of
  before = cpu_seconds
  yield
  cpu_seconds - before
end

def fork_alone
  child = nil
  cpu_seconds_of { child = fork { exit! } }.tap { Process.wait(child) }
end

# Each in a slot of the largest size.
def fill_pages(kept, gigabytes)
  GC.disable
  kept << "x" * 600 while GC.stat(:heap_allocated_pages) * GC::INTERNAL_CONSTANTS[:HEAP_PAGE_SIZE] < gigabytes << 30
  GC.enable
  GC.start
end

# In CPU time, for a pause on a machine that does something else, too, is longer. A dump does more than its pause: it looks for the
# names of C's variables before, and waits after.
def measure_pauses(sizes, path)
  kept = []
  [0, *sizes].each do |gigabytes|
    fill_pages(kept, gigabytes)
    forked, dumped, waited = Array.new(3) do
      [fork_alone, cpu_seconds_of { ObjectSpace::HeapGraph.dump(path) }, Integer(footer(path).fetch("pause_ns")) / 1e9]
    end.transpose
    puts format("%d GB, %d objects: CPU time of a fork %s, of a dump %s; pause %s", gigabytes, kept.size,
                milliseconds(forked), milliseconds(dumped), milliseconds(waited))
  end
end

def measure_dumps(count, path)
  kept = fill(count)
  GC.start
  objects = ObjectSpace.count_objects.then { |counts| counts[:TOTAL] - counts[:FREE] }
  seconds, bytes = Array.new(3) do
    written = nil
    [cpu_seconds_of { written = ObjectSpace::HeapGraph.dump(path, fork: false) }, written]
  end.min
  puts format("%d objects, in place: %.2f M/s of CPU time, %.1f MB/s, %.2f B an object",
              objects, objects / seconds / 1e6, bytes / seconds / 1e6, bytes.fdiv(objects))
  puts "by a child: the program waits #{milliseconds(Array.new(5) { pause(path) })}"
  abort "lost" if kept.empty?
end

Dir.mktmpdir do |directory|
  path = File.join(directory, "heap.rbgraph")
  if ARGV[0] == "--pause" then measure_pauses(ARGV.drop(1).map { |gigabytes| Integer(gigabytes) }, path)
  else measure_dumps(Integer(ARGV[0] || 2_000_000), path)
  end
end
