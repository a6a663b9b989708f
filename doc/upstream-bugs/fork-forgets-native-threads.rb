# Stock MRI 3.4.5: miniruby --disable-gems fork-forgets-native-threads.rb (Linux)
#
# Always: a child of fork keeps what MRI has of its parent's other native threads, 16.5 KB each, most of it the stack for
# signals. These threads do not run in the child, so they never come to their end, where native_thread_destroy (thread_pthread.c) is called;
# thread_free does not call it. In a chain of such children each has what all before it had.
THREADS = 200

def resident_kilobytes = File.read("/proc/self/status")[/^VmRSS:\s+(\d+)/, 1].to_i

def generation(left)
  GC.start
  puts "#{resident_kilobytes} kB with #{Thread.list.size} thread, #{left} generations before the last" if left % 10 == 0
  $stdout.flush
  return if left == 0
  THREADS.times { Thread.new { sleep } }
  Process.wait(fork { generation(left - 1) })
end

generation(30)
