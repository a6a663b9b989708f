# frozen_string_literal: true

# fiber-profiler 0.7.1 on any Ruby:
#   RUBY_WBCHECK=1 ruby fiber-profiler-barriers.rb
#   write barrier missed: Fiber::Profiler::Capture (IO::Event::Profiler+0x68) -> Thread
# and heapprof barriers --extconf says it of the source. Capture#start keeps the thread, #initialize the output, and each recorded
# call a class, in a struct that says RUBY_TYPED_WB_PROTECTED, without a write barrier. If the Capture is old, a minor GC frees
# what it alone refers to, and the next mark finds another object there. fiber-profiler-barriers.patch takes the flag away: a
# barrier for each call would cost more than to mark the one Capture at each minor GC.

require "fiber/profiler"

capture = Fiber::Profiler::Capture.new(stall_threshold: 1)
4.times { GC.start }
Thread.new { capture.start }.join
