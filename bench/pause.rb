# frozen_string_literal: true

# pause.rb - how long a snapshot keeps other threads waiting: ruby pause.rb [LIVE] [STACKS] [FRAMES]
#
# A thread sleeps 50 us at a time; what it sleeps longer, it waited for the GVL, which every holder of the VM
# lock has as well. Its waits stand in a histogram: while snapshots are taken one after the other, and, to
# compare with, while the main thread does nothing but pass.
# Default: 1,000,000 live samples of objects, 100,000 distinct stacks, 60 frames.
#
# And how long a sample may take for which room has to be made, in CPU time of the 100 allocations around it: while
# samples are taken until there is no room for more, and while stacks are that the same budget has no room for.

LIVE, STACKS, FRAMES = [1_000_000, 100_000, 60].each_with_index.map { |default, i| Integer(ARGV.fetch(i, default)) }
ROUNDS = Integer(ENV.fetch("ROUNDS", 10))
LIMITS = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, Float::INFINITY].freeze # ms
SLEEP = 50e-6

def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

# A leaf that makes objects, below frames that differ by the digits of its number: stacks share
# their outer frames, as those of a program do.
SITES = Array.new(10) { |digit| eval("proc { |n, left, size, kept| down(n, left, size, kept) }", binding, "digit.rb", digit + 1) }

def down(number, left, size, kept)
  return size.times { kept << Object.new } if left <= 0
  SITES[number % 10].call(number / 10, left - 2, size, kept)
end

def waits
  waits = []
  stop = false
  waiter = Thread.new do
    until stop
      begun = now
      sleep SLEEP
      waits << (now - begun - SLEEP) * 1000
    end
  end
  yield
  stop = true
  waiter.join
  waits
end

def histogram(waits)
  LIMITS.each_cons(2).map { |low, high| waits.count { |wait| wait > low && wait <= high } }
end

def milliseconds(value) = format("%.2f", value)

def report(title, waits, taken)
  sorted = waits.sort
  cells = [title, *histogram(waits), milliseconds(sorted[(sorted.size * 0.99).to_i]), milliseconds(sorted.last), taken]
  puts "| #{cells.join(' | ')} |"
end

def snapshots(**options)
  times = []
  waits = waits do
    ROUNDS.times do
      begun = now
      ObjectSpace::HeapProfile.snapshot(**options)
      times << (now - begun) * 1000
      Thread.pass # or the waiter's time slice comes after many of them
    end
  end
  [waits, milliseconds(times.sort[ROUNDS / 2])]
end

# What the budget held, and the longest 100 allocations: until there is no room, an index doubles now and then; from then on
# room is made.
def room(title)
  longest = [0, 0]
  doublings = ObjectSpace::HeapProfile.stat(:doublings)
  live = full = nil
  100.times do
    live = ObjectSpace::HeapProfile.stat(:live_samples) unless full
    begun = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID)
    yield
    taken = (Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) - begun) * 1000
    full ||= ObjectSpace::HeapProfile.stat(:doublings) > doublings
    longest[full ? 1 : 0] = [longest[full ? 1 : 0], taken].max
    redo unless full
  end
  puts "| #{title} | #{live} | #{longest.map { |taken| milliseconds(taken) }.join(' | ')} |"
end

def rooms(kept)
  number = 0
  ObjectSpace::HeapProfile.start(interval: 1, malloc_interval: 0, memory: LIVE * 52)
  GC.disable
  puts "", "| no room for | live samples | while there is room | when there is none |", "|---|---|---|---|"
  room("samples") { 100.times { kept << Object.new } }
  room("stacks") { 100.times { down(number += 1, FRAMES, 1, kept) } }
  ObjectSpace::HeapProfile.stop
end

kept = []
ObjectSpace::HeapProfile.start(interval: 1, malloc_interval: 0, memory: 1 << 30)
STACKS.times { |number| down(number, FRAMES, LIVE / STACKS, kept) }
GC.start
puts "#{ObjectSpace::HeapProfile.stat(:live_samples)} live samples, #{STACKS} stacks, about #{FRAMES} frames; waits of another thread, in ms"
header = ["while", *LIMITS.each_cons(2).map { |low, high| high.finite? ? "to #{high}" : "over #{low}" }, "99 %", "longest", "a snapshot"]
puts "| #{header.join(' | ')} |", "|#{' --- |' * header.size}"
report("nothing is done", waits { (ROUNDS * 100).times { sleep 0.0005 } }, "")
report("snapshots", *snapshots(owners: false))
report("with owners", *snapshots(owners: true))
stop = false
computing = Thread.new { nil until stop }
report("snapshots beside a thread that computes", *snapshots(owners: false))
stop = true
computing.join
ObjectSpace::HeapProfile.stop
kept.clear
rooms(kept)
