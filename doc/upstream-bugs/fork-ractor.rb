# MRI 3.4.5 as released: the child of a fork may hang while another Ractor is alive.
#
#   ruby fork-ractor.rb [FORKS] [RACTORS]    (defaults: 50, 2)
#
# Ractors that allocate start GCs, and each GC stops all ractors at a barrier. The child of a fork
# inherits vm->ractor.sched as it was at that moment. thread_sched_atfork makes its lock, its
# conditions and its lists anew, but not barrier_waiting (nor barrier_waiting_cnt and
# barrier_serial). When another ractor had asked for a barrier just then, the child's only
# thread joins it, and waits for a ractor that the child does not have:
#
#   rb_thread_atfork -> thread_sched_atfork -> thread_sched_setup_running_threads
#     -> ractor_sched_barrier_join_wait_locked -> pthread_cond_wait
#
# The child does nothing but exit!. One that has not ended after 5 seconds is counted as hung; gdb,
# if it is there, tells where the first one waits.

forks = Integer(ARGV[0] || 50)
count = Integer(ARGV[1] || 2)
PATIENCE = 5

$stdout.sync = true

Warning[:experimental] = false
ractors = Array.new(count) { Ractor.new { loop { Array.new(1000) { |i| "#{i} text" * 10 } } } }

def ended?(pid, seconds)
  give_up = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
  until (ended = Process.wait(pid, Process::WNOHANG))
    return false if Process.clock_gettime(Process::CLOCK_MONOTONIC) > give_up

    sleep 0.001
  end
  ended
end

hung = 0
forks.times do
  pid = fork { exit!(0) }
  next if ended?(pid, PATIENCE)

  hung += 1
  if hung == 1
    puts IO.popen(["gdb", "-p", pid.to_s, "-batch", "-ex", "thread apply all bt 16"], err: File::NULL, &:read) rescue nil
  end
  Process.kill(:KILL, pid)
  Process.wait(pid)
end
puts "#{RUBY_DESCRIPTION}: #{hung} of #{forks} children hung, with #{count} other ractors"
exit!(hung == 0 ? 0 : 1)
