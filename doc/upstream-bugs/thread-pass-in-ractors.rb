# Stock MRI 3.4.5: hangs, 4 of 4: for i in 1 2 3 4; do timeout -s KILL 40 ruby --disable-gems thread-pass-in-ractors.rb || echo hangs; done
# Two Ractors with two threads each. The wakeup of an M:N thread is lost: the process is idle, all native threads wait in
# ractor_sched_deq, the main thread in ractor_wait_take. With Thread.pass instead of sleep it is 4 of 6; with nothing but the
# timer's switches (RUBY_THREAD_TIMESLICE=1) about half. One such Ractor alone comes to its end.
Warning[:experimental] = false
Array.new(2) { Ractor.new { 300.times { Thread.new { 200.times { sleep 0.0001 } }.join } } }.each(&:take)
puts :ok
