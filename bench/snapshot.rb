# How long a snapshot and its file take: ruby snapshot.rb [LIVE OBJECTS]
# Every object is sampled, from 1,000 call sites 20 frames deep.

def deep(depth, site, &block)
  depth == 0 ? block.call(site) : deep(depth - 1, site, &block)
end

def milliseconds
  start = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  yield
  ((Process.clock_gettime(Process::CLOCK_MONOTONIC) - start) * 1000).round(1)
end

live = Integer(ARGV.fetch(0, 500_000))
sites = Array.new(1_000) { |i| eval("proc { +'site #{i}' }", binding, "site-#{i}", i + 1) }
ObjectSpace::HeapProfile.start(interval: 1, memory: 1 << 30)
kept = Array.new(live) { |i| deep(20, i % sites.size, &sites[i % sites.size]) }
profile = nil
taken = milliseconds { profile = ObjectSpace::HeapProfile.snapshot }
written = milliseconds { profile.write(IO::NULL) }
samples = ObjectSpace::HeapProfile.stat(:live_samples)
puts "#{samples} live samples, #{profile.count} rows: snapshot #{taken} ms, write #{written} ms"
