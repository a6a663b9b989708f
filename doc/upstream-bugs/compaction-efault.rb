# Stock MRI 3.4.5: Errno::EFAULT (Bad address) from a system call, while another thread's GC moves objects; 4 of 5 within seconds:
#   ruby --disable-gems compaction-efault.rb
# While a GC compacts, the pages objects have left are protected (mprotect), and a SIGSEGV handler brings back what is touched
# (read_barrier_signal). A thread that is inside write(2), without the GVL, with the bytes of an embedded string on such a
# page gets no SIGSEGV from the kernel but EFAULT. Without auto_compact (and GC.compact) it does not happen.
GC.auto_compact = true
path = File.expand_path("efault-#{$$}")
at_exit { File.unlink(path) }
writers = Array.new(4) do |k|
  Thread.new do
    file = File.open(path, File::WRONLY | File::CREAT | File::APPEND)
    5000.times { |i| file.syswrite("#{i.fdiv(7)} #{$$} thread #{k} some text\n"); GC.start if i % 20 == 0 }
  end
end
writers << Thread.new { 300.times { Array.new(3000) { |i| [i] }; GC.start } }
writers.each(&:join)
puts :ok
