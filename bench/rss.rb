# rss.rb - at the end of any program: what its resident memory consists of, beside what the kernel
# says, and what finding out takes. The tables of doc/rss.md.
#
#   RUBY_HEAPPROF=1 ruby -r ./bench/rss PROGRAM ...

at_exit do
  clock = -> { Process.clock_gettime(Process::CLOCK_MONOTONIC) }
  take = lambda do |rss|
    before = clock.()
    profile = ObjectSpace::HeapProfile.snapshot(owners: false, rss: rss)
    [profile, (1000 * (clock.() - before)).round(1)]
  end
  rss_of_kernel = -> { File.read("/proc/self/smaps_rollup")[/^Rss: +(\d+)/, 1].to_i << 10 }
  next warn "bench/rss: the profiler is off: set RUBY_HEAPPROF=1" unless ObjectSpace::HeapProfile.running?

  GC.start
  _, without = take.(false)
  profile, with = take.(true)
  kernel, rows = rss_of_kernel.(), profile.sum(&:rss_space)
  rss = ObjectSpace::HeapProfile.stat(rss: true)
  share = 100.0 * (rss[:rss] - rss[:rss_unexplained]) / rss_of_kernel.()
  $stderr.puts "smaps_rollup #{kernel}, rows #{rows}; explained #{share.round(2)} %, absent #{rss[:rss_absent]}",
               "snapshot #{without} ms, with rss #{with} ms"
  profile.report($stderr, rss: true, limit: 0)
end
