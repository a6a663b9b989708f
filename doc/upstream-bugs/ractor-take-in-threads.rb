# Stock MRI 3.4.5: hangs, nearly always (here 10 of 10 within 20 s), with and without RUBY_MN_THREADS=1:
#   for i in $(seq 10); do timeout -s KILL 20 ruby --disable-gems ractor-take-in-threads.rb || echo hangs; done
# Several threads of one Ractor wait in Ractor#take. A Ractor has one wait state for all its threads (struct rb_ractor_struct,
# sync.wait in ractor_core.h: wait.status, wait.wakeup_status), so a wakeup that was for one thread is taken away by another.
# Backtrace: every thread in native_cond_wait <- ractor_sleep (with M:N threads: thread_sched_wait_running_turn).
# Harmless when only one thread at a time waits for Ractors.
Warning[:experimental] = false
3.times.map { Thread.new { 200.times { Ractor.new { 1 }.take } } }.each(&:join)
puts :ok
