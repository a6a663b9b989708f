# frozen_string_literal: true

# attach.rb - what `heapprof record` and `heapprof snapshot` cost the process that is read, and themselves: ruby attach.rb [ROUNDS]
#
# A job of a fixed length, 20 frames deep, on one thread beside seven that wait, is done again and again by one process; its CPU
# time while a reader looks at that rate over that while none does, in turns, medians. In one process, for two that do the same
# differ by a tenth: their memory lies elsewhere. And of the reader: CPU time a look, and looks taken of those that were due; both
# want a core each. Of snapshots: how long they stop a process that is sampled at every object, with a
# million of them alive, while it makes more, as they say themselves. Where other processes want the cores, too, the least says most.
# HEAPPROF_PROGRAM is what reads; HEAPPROF_SECONDS how long it is read (2).

require "open3"
require "rbconfig"

RUBY = ENV.fetch("RUBY", RbConfig.ruby)
ROUNDS = Integer(ARGV.fetch(0, 5))
PROGRAM = ENV["HEAPPROF_PROGRAM"] || File.expand_path("../build/bin/heapprof", __dir__)
SECONDS = Float(ENV.fetch("HEAPPROF_SECONDS", 2))
RATES = [99, 1000].freeze
MODES = %w[auto always never native].freeze # native: auto with C functions

JOB = <<~'RUBY'
  def deep(n) = n == 0 ? work : deep(n - 1)
  def work = 100_000.times { |i| i.to_s }
  def now(clock) = Process.clock_gettime(clock)
  7.times { Thread.new { sleep } }
  Thread.pass
  loop do
    begun, before = now(Process::CLOCK_MONOTONIC), now(Process::CLOCK_PROCESS_CPUTIME_ID)
    deep(16)
    $stdout.syswrite("#{begun} #{now(Process::CLOCK_MONOTONIC)} #{now(Process::CLOCK_PROCESS_CPUTIME_ID) - before}\n")
  end
RUBY

Job = Struct.new(:begun, :ended, :seconds)

# A reader's window: when it looked, its CPU time in seconds, and looks asked for and taken.
Window = Struct.new(:begun, :ended, :seconds, :asked, :taken) do
  def cover?(job) = begun <= job.begun && job.ended <= ended
end

def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

def median(values) = values.sort[values.size / 2]

# It has begun, and not ended yet, in all but the first and last tenth of the time it runs.
def read(pid, rate, mode)
  before, begun = Process.times, now
  how = mode == "native" ? "--native" : "--stop=#{mode}"
  said, status = Open3.capture2e(PROGRAM, "record", pid.to_s, "--rate=#{rate}", how, "--duration=#{SECONDS}", "--output=/dev/null")
  after, ended = Process.times, now
  abort said unless status.success?
  margin = (ended - begun) / 10
  Window.new(begun + margin, ended - margin, after.cutime + after.cstime - before.cutime - before.cstime,
             *[/(\d+) were due/, /(\d+) looks? in/].map { |count| Integer(said.delete(",")[count, 1]) })
end

# Without a reader.
def idle
  begun = now
  sleep SECONDS
  Window.new(begun, now)
end

# Of each way to read, and of none: its windows; and all jobs.
def watch(ways)
  Open3.popen2(RUBY, "--disable-gems", "-e", JOB) do |_, output, waiter|
    jobs = Thread.new { output.each_line.map { |line| Job.new(*line.split.map { |number| Float(number) }) } }
    sleep 0.5
    windows = Array.new(ROUNDS) { ways.map { |way| [way ? read(waiter.pid, *way) : idle] } }
    Process.kill(:KILL, waiter.pid)
    [ways.zip(windows.transpose.map(&:flatten)).to_h, jobs.value]
  end
end

def median_job(windows, jobs)
  median(jobs.select { |job| windows.any? { |window| window.cover?(job) } }.map(&:seconds))
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
  Float(milliseconds) * 1e6 / Integer(said[/([\d,]+) samples alive/, 1].delete(","))
end

# Of snapshots of a heap with so many classes without a name: milliseconds a million samples.
def stops(nameless)
  settings = { "RUBY_HEAPPROF" => "interval=1,malloc_interval=0,memory=1g,out=" }
  IO.popen([settings, RUBY, "--disable-gems", "-e", HEAP.sub("NAMELESS", nameless.to_s)]) do |output|
    output.gets
    Array.new(3 * ROUNDS) { stop(output.pid) }.compact
  ensure
    Process.kill(:KILL, output.pid)
  end
end

all, jobs = watch([nil] + RATES.product(MODES))
base = median_job(all.delete(nil), jobs)
puts "rate  stop    job's CPU time   reader, us a look of 8 threads   taken"
all.each do |(rate, mode), windows|
  taken = windows.sum(&:taken)
  puts format("%4d  %-6s  %14.3f   %29.1f   %4.1f%%", rate, mode, median_job(windows, jobs) / base,
              windows.sum(&:seconds) / taken * 1e6, 100.0 * taken / windows.sum(&:asked))
end

puts "", "nameless classes   stop by a snapshot, ms a million samples: least   median"
[0, 10_000].each do |nameless|
  times = stops(nameless).sort
  puts format("%16d   %51.1f   %6.1f", nameless, times.first, median(times))
end
