# frozen_string_literal: true

# worker.rb - what snapshots take in a program of a Rails worker's shape: ruby worker.rb [VALUES]
#
# 4,000 classes of 20 methods, 3,000 classes without a name, and values until it has some 340 MB; two threads that
# serve, mostly waiting. Sampled at the default interval. Prints, for snapshots of each kind taken in a loop, how
# long they took and the CPU time of the thread that took them. Default: 650,000 values.

VALUES = Integer(ARGV.fetch(0, 650_000))
ROUNDS = Integer(ENV.fetch("ROUNDS", 10))

def median(values) = values.sort[values.size / 2].round(1)

def milliseconds(clock)
  before = Process.clock_gettime(clock, :float_millisecond)
  yield
  Process.clock_gettime(clock, :float_millisecond) - before
end

def named_class(number)
  methods = Array.new(10) { |i| "def meth#{i}(a) = [a, 'text #{i}', { key: a }]\ndef self.sing#{i} = new" }
  Object.const_set("Model#{number}", Class.new).tap { |model| model.class_eval(methods.join("\n"), "model#{number}.rb", 1) }
end

def nameless_class = Class.new { class_eval("def call(value) = [value, self]") }

ObjectSpace::HeapProfile.start
objects = Array.new(4000) { |number| named_class(number).new }
nameless = Array.new(3000) { nameless_class.new.tap { |object| object.call(1) } }
kept = Array.new(VALUES) { |i| objects[i % 4000].send("meth#{i % 10}", "value #{i} " * (1 + i % 8)) }
GC.start
2.times do
  Thread.new do
    loop do
      Array.new(2000) { |i| objects[i].meth1("request") }
      sleep 0.002
    end
  end
end

puts "#{File.read('/proc/self/status')[/VmRSS:\s+(\d+)/, 1].to_i / 1024} MB, #{GC.stat(:heap_allocated_pages)} pages, " \
     "#{kept.size + nameless.size} values, #{ObjectSpace::HeapProfile.stat(:live_samples)} live samples"
[{}, { owners: true }, { rss: true }, { owners: true, rss: true }, { native_leaks: true }].each do |with|
  options = { owners: false, **with }
  cpu = []
  wall = Array.new(ROUNDS) do
    milliseconds(Process::CLOCK_MONOTONIC) do
      cpu << milliseconds(Process::CLOCK_THREAD_CPUTIME_ID) { ObjectSpace::HeapProfile.snapshot(**options) }
    end
  end
  puts "snapshot(#{with.keys.join(', ')}): median #{median(wall)} ms, longest #{wall.max.round(1)}; " \
       "CPU #{median(cpu)}, most #{cpu.max.round(1)}"
end
