# Stock MRI 3.4.5: IO#close hangs for ever when a signal handler is writing to the same IO.
#
# Symptom: "hung in round N" (each round is a process of its own; a few in 1000 on an idle machine,
# more under load). Seen as: puma in cluster mode, a worker does not end after SIGTERM until the master
# kills it after worker_shutdown_timeout (the handler calls Server#stop, which writes to the pipe
# that the server thread then closes). It was met with the profiler at interval=1, which changes
# the timing only; this script needs no profiler.
#
# Diagnosis (thread.c): the handler's write is in rb_thread_io_blocking_call with its struct waiting_fd,
# on the C stack, in vm->waiting_fds. Another thread closes the IO: rb_notify_fd_close moves the
# entry to the closer's list, and waits in rb_notify_fd_close_wait until that is empty. The writer
# comes back to thread_io_wake_pending_closer, which calls rb_mutex_lock(busy->wakeup_mutex) BEFORE it
# unlinks the entry. In a trap handler rb_mutex_lock raises ThreadError ("can't be called from trap
# context"; rb_mutex_new's mutex has no allow_trap): so the entry is never unlinked (it dangles into
# a dead C frame, which later waits overwrite) and the closer is never woken.
# Remedy: rb_mutex_allow_trap(wakeup_mutex, 1) in rb_notify_fd_close. 
#
#   ruby close-write-in-trap.rb [ROUNDS]

rounds = (ARGV[0] || 1000).to_i
errors = Hash.new(0)
rounds.times do |round|
  out, child_out = IO.pipe
  pid = fork do
    out.close
    r, w = IO.pipe
    server = Thread.new { r.read(1); w.close }
    trap(:TERM) do
      w << "x"
    rescue Exception => e
      child_out.syswrite("#{e.class}: #{e.message}\n")
    end
    Thread.pass until server.stop?
    Process.kill(:TERM, $$)
    server.join
    exit!
  end
  child_out.close
  done = Thread.new { Process.wait(pid) }
  unless done.join(10)
    Process.kill(:KILL, pid)
    puts "hung in round #{round}; in the handler: #{out.read}"
    exit 1
  end
  done.join
  out.read.each_line { |line| errors[line.chomp] += 1 }
end
puts "no hang in #{rounds} rounds; in the handlers: #{errors}"
