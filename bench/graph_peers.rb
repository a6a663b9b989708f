# frozen_string_literal: true

# graph_peers.rb - what a heap takes to be written and looked into: by heapprof graph, by ObjectSpace.dump_all and sheap, by memlab,
# and by Chromium's DevTools.
#
#   ruby bench/graph_peers.rb [OBJECTS]        (make check-heaps has fetched sheap and memlab into build/heaps)
#
# Each reads the same objects, and finds a way to one of them; memlab, DevTools and heapprof find dominators and retained sizes, too. CPU
# time, and the most memory that a process had; of DevTools from the choice of the file until the table of classes is there.

require "objspace"
require "tmpdir"

TOP = File.expand_path("..", __dir__)
HEAPPROF = File.join(TOP, "build/bin/heapprof")
HEAPS = File.join(TOP, "build/heaps")
COUNT = Integer(ARGV[0] || 1_000_000)

class Node
  def initialize(name, list, pairs)
    @name, @list, @pairs = name, list, pairs
  end
end

class Shop
  NODES = Array.new(COUNT / 5) { |i| Node.new("node #{i}", [i, i.to_s], { name: i }) }
end

SHEAP = <<~'RUBY'
  require "sheap"
  heap = Sheap::Heap.new(ARGV[0])
  abort unless heap.find_path(heap.instances_of(heap.class_named("Node").first).to_a.last)
RUBY

MEMLAB = <<~'JS'
  const { getFullHeapFromFile } = require("@memlab/heap-analysis");
  getFullHeapFromFile(process.argv[1]).then((heap) => {
      let node = null;
      heap.nodes.forEach((one) => { if (one.name === "Node") node = one; });
      if (!node.pathEdge && !node.dominatorNode) process.exit(1);
  });
JS

def row(what, file, seconds, megabytes = nil)
  puts format("%-42s %8.2f s %8s  %s", what, seconds, megabytes && "#{megabytes} MB", file && format("a file of %.1f MB", File.size(file) / 1e6)).rstrip
end

def written(what, file)
  before = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID)
  yield file
  row(what, file, Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) - before)
end

# A program of its own, with /usr/bin/time (Debian's package time).
def ran(what, *command, out: File::NULL, environment: {})
  Dir.mktmpdir do |directory|
    times = File.join(directory, "times")
    system(environment, "/usr/bin/time", "-f", "%U %S %M", "-o", times, *command, out: out, err: File::NULL, chdir: HEAPS) or abort "#{what} failed"
    user, system, kilobytes = File.read(times).split.map(&:to_f)
    row(what, out == File::NULL ? nil : out, user + system, (kilobytes / 1000).round)
  end
end

def devtools(snapshot)
  command = [File.join(TOP, "scripts/chromium"), "devtools_cost.mjs", snapshot, "Node"]
  seconds, kilobytes = IO.popen({ "HEAPPROF" => HEAPPROF }, command, &:read).split.map(&:to_f)
  abort "DevTools failed" unless $?.success?
  row("DevTools: the table of classes", nil, seconds, (kilobytes / 1000).round)
end

Dir.mktmpdir do |directory|
  graph, json, snapshot = %w[heap.rbgraph heap.jsonl heap.heapsnapshot].map { |name| File.join(directory, name) }
  GC.start
  written("HeapGraph.dump", graph) { |file| ObjectSpace::HeapGraph.dump(file, fork: false) }
  written("ObjectSpace.dump_all", json) { |file| File.open(file, "w") { |out| ObjectSpace.dump_all(output: out) } }
  ran("heapprof graph report", HEAPPROF, "graph", "report", graph)
  ran("heapprof graph why", HEAPPROF, "graph", "why", graph, "Node")
  ran("heapprof graph convert --to heapsnapshot", HEAPPROF, "graph", "convert", graph, "--to", "heapsnapshot", out: snapshot)
  gems = { "GEM_HOME" => File.join(HEAPS, "gems"), "GEM_PATH" => File.join(HEAPS, "gems") }
  ran("sheap: one way", RbConfig.ruby, "-e", SHEAP, json, environment: gems)
  ran("memlab: all it computes", "node", "--max-old-space-size=8000", "-e", MEMLAB, snapshot)
  devtools(snapshot)
end
