# Stock MRI 3.4.5: IO#close hangs for ever when a signal handler is writing to the same IO. Each run:
#   ruby --disable-gems close-write-in-trap.rb          # "the closer hangs", and the program would, too
#
# Seen as: puma in cluster mode, a worker does not end after SIGTERM until the master kills it after worker_shutdown_timeout (the
# handler calls Server#stop, which writes to the pipe that the server thread then closes).
#
# Cause (thread.c): the handler's write is in rb_thread_io_blocking_call with its struct waiting_fd, on the C stack, in
# vm->waiting_fds. Another thread closes the IO: rb_notify_fd_close moves the entry to the closer's list, and waits in
# rb_notify_fd_close_wait until that is empty. The writer comes back to thread_io_wake_pending_closer, which calls
# rb_mutex_lock(busy->wakeup_mutex) BEFORE it unlinks the entry. In a trap handler rb_mutex_lock raises ThreadError ("can't be called
# from trap context"; rb_mutex_new's mutex has no allow_trap): so the entry is never unlinked (it dangles into a dead C frame, which
# later waits overwrite) and the closer is never woken. close-write-in-trap.patch mends it.
require "io/nonblock"

r, w = IO.pipe
w.nonblock = false
closer = Thread.new do
  Thread.pass until Thread.main.stop? # in write(2)
  w.close
end
trap(:TERM) do
  w.syswrite("x" * 1_000_000) # more than the pipe takes
rescue IOError
  # stream closed in another thread
end
Process.kill(:TERM, $$)
puts closer.join(10) ? "ok" : "the closer hangs"
$stdout.flush
exit!
