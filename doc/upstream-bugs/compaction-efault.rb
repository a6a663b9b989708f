# Stock MRI 3.4.5: Errno::EFAULT (Bad address) from a system call, while another thread's GC moves objects; 3 of 4 within seconds:
#   ruby --disable-gems compaction-efault.rb
# While a GC compacts, the pages objects have left are protected (mprotect), and a SIGSEGV handler brings back what is touched
# (read_barrier_signal). A thread that is inside write(2), without the GVL, with the bytes of an embedded string on such a
# page gets no SIGSEGV from the kernel but EFAULT. Without auto_compact (and GC.compact) it does not happen.
GC.auto_compact = true
reader, writer = IO.pipe
fork do # so slow that writers wait inside write(2)
  writer.close
  sleep 0.0005 while reader.read(4096)
end
reader.close
writers = Array.new(16) do |k|
  Thread.new { 5000.times { |i| writer.syswrite("#{i.fdiv(7)} #{$$} thread #{k} some text\n"); GC.start if i % 20 == 0 } }
end
kept = nil # one in three, so that there are holes to move objects into
writers << Thread.new { 300.times { kept = Array.new(9000) { |i| [i] }.each_slice(3).map(&:first); GC.start } }
writers.each(&:join)
puts :ok
