# frozen_string_literal: true

# program.rb - a Ruby program that dumps itself, run on the ruby under test, in a directory of its own.

require "open3"
require "tmpdir"

RUBY = ENV["RUBY"] || RbConfig.ruby

# What each program begins with. `dump` writes 1.graph, 2.graph ...; `scrub` overwrites what calls have left on the stack; `apart` runs
# a block where no stack stays; `settle` waits until all other threads wait.
PRELUDE = <<~RUBY
  $VERBOSE = nil
  Thread.report_on_exception = false
  DUMPED = [0]
  def scrub(depth = 300, *) = depth > 0 ? scrub(depth - 1, nil, nil, nil, nil) : 0
  def apart(&block) = Thread.new(&block).join
  def settle = (sleep 0.01 until Thread.list.all? { |thread| thread == Thread.current || thread.stop? })
  def dump
    scrub
    ObjectSpace::HeapGraph.dump("\#{DUMPED[0] += 1}.graph", gc: true)
  end
RUBY

# MRI's make runs what it has built with stacks as small as can be. Kernel#instance_variables of an object that has many needs more.
STACKS = { "RUBY_THREAD_MACHINE_STACK_SIZE" => nil, "RUBY_FIBER_MACHINE_STACK_SIZE" => nil }.freeze

# Runs it and yields the directory, in which it is program.rb. Objects that live through it know where they were allocated.
def in_program(text, interval: 2048, options: [])
  Dir.mktmpdir("heapprof-graph") do |directory|
    File.write(File.join(directory, "program.rb"), PRELUDE + text)
    environment = { "RUBY_HEAPPROF" => "interval=#{interval},out=", "RUBYOPT" => nil, **STACKS }
    said, status = Open3.capture2e(environment, RUBY, "--disable-gems", *options, "program.rb", chdir: directory)
    raise "the program has ended with #{status}:\n#{said.lines.first(20).join}" unless status.success?
    yield directory, said
  end
end
