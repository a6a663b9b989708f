# Stock MRI 3.4.5: hangs: for i in $(seq 10); do timeout -s KILL 60 ruby --disable-gems ractor-wakeup-barrier-deadlock.rb || echo hangs; done
# Three parties: Ractor A collects and waits in rb_ractor_sched_barrier_start until all running Ractors have joined;
# a thread of the main Ractor takes the turn (thread_sched_add_running_thread) and waits for the end of that barrier in
# ractor_sched_barrier_join_wait_locked, holding the main Ractor's thread_sched lock; Ractor B, still counted as running, has a value for the main
# Ractor and waits for that lock (rb_ractor_sched_wakeup, thread_sched_lock), so it never joins. Nobody goes on.
Warning[:experimental] = false
4.times { Thread.new { loop { File.open("/dev/null").close } } }
collectors = Array.new(2) { Ractor.new { loop { GC.start(full_mark: false) } } }
3000.times { Ractor.new { 1 }.take }
puts :ok
exit!
