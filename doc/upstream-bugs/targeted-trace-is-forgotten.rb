# Stock MRI 3.4.5: miniruby --disable-gems targeted-trace-is-forgotten.rb (Linux)
#
# Always: a TracePoint that is enabled for one method, and still is when the method's code is collected, leaves 80 bytes for each of its
# code objects behind. rb_hook_list_free (vm_trace.c), which rb_iseq_free calls, frees a list without events alone, and this one has
# the TracePoint's.
def resident_kilobytes = File.read("/proc/self/status")[/^VmRSS:\s+(\d+)/, 1].to_i

def trace_often
  20_000.times do
    object = Object.new
    eval("def object.traced = 1")
    TracePoint.new(:call) {}.enable(target: object.method(:traced))
  end
  GC.start
end

3.times { trace_often }
before = resident_kilobytes
10.times { trace_often }
puts "#{resident_kilobytes - before} kB more after 200,000 methods"
