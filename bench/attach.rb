# frozen_string_literal: true

# attach.rb - what `heapprof record` and `heapprof snapshot` cost the process that is read, and themselves: ruby attach.rb [ROUNDS]
#
# A job of a fixed length, 20 frames deep, on one thread beside seven that wait; its CPU time with a reader at that rate over that
# without, interleaved, medians. And of the reader: CPU time a look, and looks taken of those that were due; there
# the job runs on, and both want a core each. Of snapshots: how long they stop a process that is sampled at every object, with a
# million of them alive, while it makes more, as they say themselves. Where other processes want the cores, too, the least says most.
# HEAPPROF is the program; HEAPPROF_SECONDS how long it is read (2).

require "open3"
require "rbconfig"

ROUNDS = Integer(ARGV.fetch(0, 5))
PROGRAM = ENV["HEAPPROF_PROGRAM"] || File.expand_path("../build/bin/heapprof", __dir__)
SECONDS = Float(ENV.fetch("HEAPPROF_SECONDS", 2))
RATES = [99, 1000].freeze
MODES = %w[auto always never].freeze

JOB = <<~'RUBY'
  def deep(n) = n == 0 ? work : deep(n - 1)
  def work = 400_000.times { |i| i.to_s }
  7.times { Thread.new { sleep } }
  Thread.pass
  $stdout.syswrite("ready\n")
  if $stdin.gets == "job\n"
    before = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
    deep(16)
    $stdout.syswrite("#{Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - before}\n")
  else
    loop { deep(16) }
  end
RUBY

def median(values) = values.sort[values.size / 2]

def with_job(order)
  Open3.popen2(RbConfig.ruby, "--disable-gems", "-e", JOB) do |input, output, waiter|
    output.gets
    reader = yield waiter.pid
    sleep 0.3 if reader # it has begun
    input.puts order
    reading = order == "job" ? Float(output.gets) : sleep(SECONDS + 1)
    Process.kill(:KILL, waiter.pid)
    Process.wait(reader) if reader
    reading
  end
end

def read(pid, rate, mode, seconds)
  Process.spawn(PROGRAM, "record", pid.to_s, "--rate=#{rate}", "--stop=#{mode}", "--duration=#{seconds}", "--output=/dev/null", err: File::NULL)
end

# The job's seconds of CPU time, of each round and way.
def costs
  ways = [nil] + RATES.product(MODES)
  ways.to_h { |way| [way, []] }.tap do |all|
    ROUNDS.times { ways.each { |way| all[way] << with_job("job") { |pid| way && read(pid, *way, 600) } } }
  end
end

# The reader's CPU time a look, in microseconds, and the share of looks that were taken.
def reader(rate, mode)
  times = err = nil
  with_job("run") do |pid|
    err_read, err_write = IO.pipe
    before = Process.times
    reader = Process.spawn(PROGRAM, "record", pid.to_s, "--rate=#{rate}", "--stop=#{mode}", "--duration=#{SECONDS}", "--output=/dev/null", err: err_write)
    err_write.close
    err = err_read.read
    Process.wait(reader)
    after = Process.times
    times = after.cutime + after.cstime - before.cutime - before.cstime
    nil
  end
  asked, taken = err[/asked (\d+)/, 1].to_i, err[/taken (\d+)/, 1].to_i
  [times / taken * 1e6, taken.fdiv(asked)]
end

HEAP = <<~'RUBY'
  def deep(n, &make) = n == 0 ? make.call : deep(n - 1, &make)
  kept = []
  deep(20) { 1_000_000.times { kept << Object.new } }
  NAMELESS.times { kept << Class.new.new }
  GC.start
  $stdout.syswrite("ready\n")
  loop { Object.new }
RUBY

# nil: it came at a moment at which nobody had to be stopped.
def stop(pid)
  said, = Open3.capture2e(PROGRAM, "snapshot", pid.to_s, "--output=/dev/null")
  milliseconds = said[/stopped for ([\d.]+) ms/, 1] or return
  Float(milliseconds) * 1e6 / Integer(said[/(\d+) samples alive/, 1])
end

# Of snapshots of a heap with so many classes without a name: milliseconds a million samples.
def stops(nameless)
  settings = { "RUBY_HEAPPROF" => "interval=1,malloc_interval=0,memory=1g,out=" }
  IO.popen([settings, RbConfig.ruby, "--disable-gems", "-e", HEAP.sub("NAMELESS", nameless.to_s)]) do |output|
    output.gets
    Array.new(3 * ROUNDS) { stop(output.pid) }.compact
  ensure
    Process.kill(:KILL, output.pid)
  end
end

all = costs
base = median(all.delete(nil))
puts "rate  stop    job's CPU time   reader, us a look of 8 threads   taken"
all.each do |(rate, mode), seconds|
  look, taken = reader(rate, mode)
  puts format("%4d  %-6s  %14.3f   %29.1f   %4.1f%%", rate, mode, median(seconds) / base, look, 100 * taken)
end

puts "", "nameless classes   stop by a snapshot, ms a million samples: least   median"
[0, 10_000].each do |nameless|
  times = stops(nameless).sort
  puts format("%16d   %51.1f   %6.1f", nameless, times.first, median(times))
end
