# frozen_string_literal: true

# serve.rb - what `heapprof serve` takes, and how long it lets a scraper wait: ruby serve.rb [SECONDS]
#
# 200 Ruby processes; the heap of one of them has 1.2 million samples. In each of three phases of so many seconds (10), /targets is
# asked for ten times a second:
#
#   alone    by nobody else
#   heap     while four clients ask for the large heap again and again
#   all      while 50 clients ask for heaps, changes, profiles over time and threads of all processes, and 1,000 slow ones hold on:
#            half of them send a byte of a header each second, half do not read their answer, of some megabytes for one in fifty
#
# Prints how long /targets took; what the clients were answered; the most memory, descriptors and workers of the server; and the most
# memory of all its workers at one moment, as far as it is theirs alone. The machine runs all this, too, so the least times say most.
# "ran" and "waited" tell the machine from the server: for how much of the phase the server's own process was on a processor, and for how
# much it was ready and had none (/proc/PID/schedstat).
# PROCESSES, CLIENTS, SLOW and SAMPLES change the numbers. HEAPPROF_PROGRAM is what serves.

require "json"
require "rbconfig"
require "socket"

RUBY = [ENV.fetch("RUBY", RbConfig.ruby), "--disable-gems"].freeze
PROGRAM = ENV["HEAPPROF_PROGRAM"] || File.expand_path("../build/bin/heapprof", __dir__)
SECONDS = Float(ARGV.fetch(0, 10))
NUMBERS = { "PROCESSES" => 200, "CLIENTS" => 50, "SLOW" => 1000, "SAMPLES" => 1_200_000 }.freeze
PROCESSES, CLIENTS, SLOW, SAMPLES = NUMBERS.map { |name, number| Integer(ENV.fetch(name, number)) }
TOKEN = "bench"

SMALL = "def hold = $held = Array.new(1000) { Object.new }; hold; $stdout.syswrite(%(ready\\n)); loop { sleep 1; hold }"
LARGE = "held = Array.new(#{SAMPLES}) { Object.new }; GC.start; $stdout.syswrite(%(ready\\n)); sleep"
DEEP = "def deep(n) = n == 0 ? sleep : deep(n - 1); Array.new(100) { Thread.new { deep(200) } }.each { |each| Thread.pass until each.stop? }; " \
       "$stdout.syswrite(%(ready\\n)); sleep"

$stdout.sync = true

# ---- what runs ----

STARTED = []

def start(*command, env: {}, **options)
  read, write = IO.pipe
  STARTED << Process.spawn(env, *command, out: write, **options)
  write.close
  [STARTED.last, read]
end

def ruby(script, settings)
  start(*RUBY, "-e", script, env: { "RUBY_HEAPPROF" => settings })
end

def wait_ready(processes) = processes.map { |pid, read| read.gets == "ready\n" ? pid : abort("serve.rb: a process did not start") }

def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

# ---- clients ----

def connect(path, head = "")
  socket = TCPSocket.new("127.0.0.1", PORT)
  socket.write("GET #{path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer #{TOKEN}\r\n#{head}")
  socket
end

# The status, or what went wrong.
def get(path)
  socket = connect(path, "\r\n")
  socket.read[/\AHTTP\/1.1 (\d+)/, 1] || "closed"
rescue SystemCallError => e
  e.class.name
ensure
  socket&.close
end

def forked
  read, write = IO.pipe
  STARTED << fork do
    read.close
    yield write
    exit!
  end
  write.close
  read
end

# Clients in a process of their own, each in a thread; the answers by status, when the time is over.
def clients(count, ends, paths)
  forked do |write|
    answers = Hash.new(0)
    lock = Mutex.new
    Array.new(count) do |i|
      random = Random.new(i)
      Thread.new do
        while now < ends
          status = get(paths.sample(random: random))
          lock.synchronize { answers[status] += 1 }
        end
      end
    end.each(&:join)
    write.write(JSON.dump(answers))
  end
end

# As many as there were stay connected: one that is closed comes again.
def slow_ones(count, ends, deep)
  forked do
    all = {}
    while now < ends
      (count - all.size).times do |i|
        reads_not = i.odd?
        path = reads_not && i % 50 == 1 ? "/#{deep}/debug/pprof/threads" : "/"
        all[connect(path, reads_not ? "\r\n" : "Accept: ")] = reads_not
      rescue SystemCallError
        break
      end
      all.delete_if do |socket, reads_not|
        reads_not || socket.write("x")
        socket.wait_readable(0) && !reads_not && socket.read_nonblock(1, exception: false).nil?
      rescue SystemCallError
        socket.close
        true
      end
      sleep 1
    end
  end
end

# ---- what is measured ----

def children(pid) = File.read("/proc/#{pid}/task/#{pid}/children").split.map(&:to_i)

def private_kilobytes(pid)
  File.foreach("/proc/#{pid}/smaps_rollup").sum { |line| line[/\APrivate_\w+: +(\d+)/, 1].to_i }
rescue SystemCallError
  0
end

Most = Struct.new(:resident, :descriptors, :workers, :workers_resident) do
  def see(pid)
    workers = children(pid)
    see_one(:resident, File.read("/proc/#{pid}/status")[/VmRSS:\s+(\d+)/, 1].to_i)
    see_one(:descriptors, Dir.children("/proc/#{pid}/fd").size)
    see_one(:workers, workers.size)
    see_one(:workers_resident, workers.sum { |worker| private_kilobytes(worker) })
  end

  def see_one(member, value) = self[member] = [self[member], value].max
end

# Nanoseconds on a processor, and ready without one.
def schedule(pid) = File.read("/proc/#{pid}/schedstat").split.first(2).map(&:to_i)

def phase(name, server)
  most, times, ends = Most.new(0, 0, 0, 0), [], now + SECONDS
  began, before = now, schedule(server)
  answers = yield ends
  while now < ends
    asked = now
    status = get("/targets")
    abort "serve.rb: /targets: #{status}" unless status == "200"
    times << now - asked
    most.see(server)
    sleep [asked + 0.1 - now, 0].max
  end
  ran, waited = schedule(server).zip(before).map { |after, first| (after - first) / 1e7 / (now - began) }
  times = times.map { |seconds| seconds * 1e3 }.sort
  puts format("%-6s %6d %8.1f %8.1f %8.1f   %4.1f%% %5.1f%% %8.1f %11d %8d %17.1f   %s", name, times.size,
              times[times.size / 2], times[times.size * 99 / 100], times[-1], ran, waited, most.resident / 1024.0, most.descriptors, most.workers, most.workers_resident / 1024.0, answers.map(&:read).reject(&:empty?).join(" "))
end

begin
  small = wait_ready(Array.new(PROCESSES - 2) { ruby(SMALL, "interval=4k,out=") })
  (large,) = wait_ready([ruby(LARGE, "interval=1,malloc_interval=0,memory=1g,out=")])
  (deep,) = wait_ready([ruby(DEEP, "1,out=")])
  errors, written = IO.pipe
  server, = start(PROGRAM, "serve", "--listen=127.0.0.1:0", env: { "HEAPPROF_TOKEN" => TOKEN }, err: written)
  PORT = Integer(errors.gets[/:(\d+)\/$/, 1])
  get("/targets")
  puts "         /targets, ms                       server        server, MB              most     workers, MB   answers"
  puts "phase   count   median      99%      max     ran waited   resident descriptors  workers   their own alone   by status"
  phase("alone", server) { [] }
  phase("heap", server) { |ends| [clients(4, ends, ["/#{large}/debug/pprof/heap"])] }
  names = ["heap", "threads", "profile?seconds=1", "heap?seconds=1"]
  paths = small.product(names).map { |pid, name| "/#{pid}/debug/pprof/#{name}" } << "/#{large}/debug/pprof/heap"
  phase("all", server) { |ends| [slow_ones(SLOW, ends, deep), clients(CLIENTS, ends, paths)] }
ensure
  STARTED.each { |pid| Process.kill(:KILL, pid) rescue nil }
  STARTED.each { |pid| Process.wait(pid) }
end
