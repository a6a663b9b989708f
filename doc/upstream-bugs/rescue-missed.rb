# Stock MRI 3.4.5: a SystemStackError by recursion through Array#inspect (rb_exec_recursive) in a thread or a
# fiber, where the machine stack ends first, is not rescued: `rescue SystemStackError` (or Exception) is passed over and
# the thread dies. Each run. Expected: [:rescued, ...] twice, as in the main thread and as by_block recursion gives.
class Deep
  def by_inspect = (@last = {}; [self].inspect)
  def inspect = by_inspect
end
def try
  Deep.new.by_inspect
rescue SystemStackError => e
  p [:rescued, e.message, e.backtrace.size]
end
Thread.new { try }.join rescue p :missed
Fiber.new { try }.resume rescue p :missed
