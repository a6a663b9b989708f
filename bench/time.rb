# frozen_string_literal: true

# time.rb - whether the times of `heapprof record` are those of the clock and of the kernel: ruby time.rb [SECONDS]
#
# Each program of truths/ does several things in turn, beside LOAD busy loops (default: 8), and measures itself how long each took. The
# first table has the sum of all time: in mode wall over the time that was recorded, in mode cpu over what the kernel says that the
# process has run. The second has the shares: what the profile says, and the truth, in percent. A program stands still (SIGSTOP) while
# the reader begins and ends, so that both are of the same time. Then what a look costs at 500 threads that sleep or wait for input, by
# the reader's CPU time.
# HEAPPROF_PROGRAM is what reads. ONLY=NAMES: only these rows.

require "json"
require "open3"
require "rbconfig"
require "tmpdir"

RUBY = ENV.fetch("RUBY", RbConfig.ruby)
PROGRAM = ENV["HEAPPROF_PROGRAM"] || File.expand_path("../build/bin/heapprof", __dir__)
TRUTHS = File.expand_path("truths", __dir__)
SECONDS = Float(ARGV.fetch(0, 30))
LOAD = Integer(ENV.fetch("LOAD", 8))
CHOSEN = ENV["ONLY"]&.split

Sample = Struct.new(:ns, :frames, :labels) do
  def method = frames.map { |name, _| name[/[^#.]+\z/] }
  def main? = labels["thread"].to_s.start_with?("main ")
end

# What a profile has: its samples, how long it is, how many looks were taken of how many.
Profile = Struct.new(:samples, :duration_ns, :taken, :due) do
  def sum = samples.sum(&:ns)
end

# Time by what a block makes of a sample; nil is left out.
def times(profile)
  profile.samples.each_with_object(Hash.new(0)) do |sample, sums|
    name = yield sample
    sums[name] += sample.ns if name
  end
end

# NAME of truths/, options of ruby and of record, and what a sample stands for.
Program = Struct.new(:title, :file, :ruby, :record, :name) do
  def source = File.join(TRUTHS, "#{file}.rb")
  def lines = @lines ||= File.readlines(source)
end

def named(*names) = ->(sample, _) { (sample.method & names).first }

# The line of the method that runs, by the comment at it; of code that YJIT has compiled it may be unknown.
LINES = lambda do |sample, program|
  line = sample.frames.to_h["Object#count"]
  line&.zero? ? "line unknown" : line && program.lines[line - 1][/# (\w+)/, 1]
end

INNERMOST = ->(sample, _) { sample.frames.map(&:first).find { |name| %w[Zlib.crc32 Array#sort String#count].include?(name) } }
COLLECTOR = ->(sample, _) { sample.frames.map(&:first).include?("(garbage collection)") ? "(garbage collection)" : (sample.method & %w[make count]).first }
WAITS = ->(sample, _) { sample.labels["waits"] if sample.main? }

METHODS = named("seventy", "twenty", "ten")
PROGRAMS = [
  Program.new("methods", "methods", [], %w[--mode=cpu], METHODS),
  Program.new("methods, all time", "methods", [], %w[--mode=wall], METHODS),
  Program.new("methods, YJIT", "methods", %w[--yjit], %w[--mode=cpu], METHODS),
  Program.new("lines", "lines", [], %w[--mode=cpu], LINES),
  Program.new("lines, YJIT", "lines", %w[--yjit], %w[--mode=cpu], LINES),
  Program.new("C methods", "c_functions", [], %w[--mode=cpu], INNERMOST),
  Program.new("C functions", "c_functions", [], %w[--mode=cpu --native], INNERMOST),
  Program.new("GC", "collector", [], %w[--mode=cpu --gc], COLLECTOR),
  Program.new("GVL", "gvl", [], %w[--mode=gvl], named("short", "long")),
  Program.new("waits", "waits", [], %w[--mode=off --threads], WAITS)
].freeze

IDLE = <<~'RUBY'
  500.times { Thread.new { KIND == "sleep" ? sleep : IO.pipe.first.read } }
  sleep
RUBY

def beside(*command)
  pid = Process.spawn(*command)
  sleep 1
  yield pid
ensure
  Process.kill(:KILL, pid)
  Process.wait(pid)
end

def profile(file, said)
  json, = Open3.capture2(PROGRAM, "convert", file, "--to=json")
  data = JSON.parse(json)
  frames = data["locations"].map { |location| location["lines"].map { |function, line| [data["functions"][function]["name"], line] } }
  samples = data["samples"].map { |sample| Sample.new(sample["values"].last, frames.values_at(*sample["locations"]).flatten(1), sample["labels"].to_h) }
  Profile.new(samples, data["duration_ns"], said[/([\d,]+) looks?/, 1].delete(","), said[/([\d,]+) were due/, 1].delete(","))
end

# The program, which stands still, runs for SECONDS of the time that is recorded.
def record(directory, pid, *options)
  file = File.join(directory, "time.pb.gz")
  Open3.popen2e(PROGRAM, "record", *options, "--duration=100000", "--output=#{file}", pid.to_s) do |_, said, reader|
    sleep 1
    Process.kill(:CONT, pid)
    sleep SECONDS
    Process.kill(:STOP, pid)
    sleep 0.5
    Process.kill(:INT, reader.pid)
    text = said.read
    abort text unless reader.value.success?
    return profile(file, text)
  end
end

def stopped(directory, program)
  told = File.join(directory, "told")
  beside(RUBY, *program.ruby, "--disable-gems", program.source, told) do |pid|
    sleep 2
    Process.kill(:STOP, pid)
    sleep 0.1
    yield pid, -> { JSON.parse(File.read(told)) }
  end
end

def ran_ns(pid) = Dir["/proc/#{pid}/task/*/schedstat"].sum { |file| File.read(file).to_i }

def sum_row(directory, pid, rate, mode)
  before = ran_ns(pid)
  profile = record(directory, pid, "--rate=#{rate}", "--mode=#{mode}")
  truth = mode == "cpu" ? ran_ns(pid) - before : profile.duration_ns
  puts format("%4d  %-4s  %6.2f s  %6.2f s  %5.3f  %6s of %s", rate, mode, profile.sum / 1e9, truth / 1e9, profile.sum.fdiv(truth), profile.taken, profile.due)
end

def shares(times) = times.transform_values { |ns| 100.0 * ns / times.values.sum }

def share_rows(directory, program)
  stopped(directory, program) do |pid, told|
    before = told.call
    profile = record(directory, pid, "--rate=400", *program.record)
    said = shares(times(profile) { |sample| program.name.call(sample, program) })
    truth = shares(told.call.to_h { |name, ns| [name, ns - before.fetch(name, 0)] })
    (truth.keys | said.keys).each do |name|
      puts format("%-18s  %-21s  %5.1f  %5.1f  %+5.1f", program.title, name, said.fetch(name, 0), truth.fetch(name, 0), said.fetch(name, 0) - truth.fetch(name, 0))
    end
  end
end

# Microseconds a look, from the difference of a long and a short record: the median of three.
def cost(pid, *options) = Array.new(3) { cost_once(pid, *options) }.sort[1]

def cost_once(pid, *options)
  points = [1, 9].map do |seconds|
    before = Process.times
    said, = Open3.capture2e(PROGRAM, "record", *options, "--duration=#{seconds}", "--output=/dev/null", pid.to_s)
    after = Process.times
    [after.cutime + after.cstime - before.cutime - before.cstime, said[/([\d,]+) looks?/, 1].delete(",").to_i]
  end
  (points[1][0] - points[0][0]) / (points[1][1] - points[0][1]) * 1e6
end

def wanted?(name) = CHOSEN.nil? || CHOSEN.any? { |chosen| name.start_with?(chosen) }

def beside_busy_loops
  burners = Array.new(LOAD) { Process.spawn("/bin/sh", "-c", "while :; do :; done") }
  yield
ensure
  burners.each { |pid| Process.kill(:KILL, pid) }
  burners.each { |pid| Process.wait(pid) }
end

$stdout.sync = true
Dir.mktmpdir do |directory|
  beside_busy_loops do
    puts "#{LOAD} busy loops beside it, #{SECONDS.round} s each"
    if wanted?("sums")
      puts "", "rate  mode   profile     truth  ratio   looks"
      stopped(directory, PROGRAMS.first) { |pid,| [99, 1000].product(%w[wall cpu]).each { |rate, mode| sum_row(directory, pid, rate, mode) } }
    end
    puts "", "program             of                   profile  truth  difference (% of its time)"
    PROGRAMS.each { |program| share_rows(directory, program) if wanted?(program.title) }
  end
end

if wanted?("idle")
  puts "", "500 idle threads, us a look    wall    cpu"
  %w[sleep read].each do |kind|
    beside(RUBY, "--disable-gems", "-e", IDLE.sub("KIND", kind.dump)) do |pid|
      puts format("%-28s  %6.0f %6.0f", kind, cost(pid), cost(pid, "--mode=cpu"))
    end
  end
end
