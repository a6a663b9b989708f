# PUMA_WORKERS forked processes of 4 threads, or one process.
workers Integer(ENV.fetch("PUMA_WORKERS", 0))
threads 4, 4
preload_app!
environment "production"
bind "tcp://127.0.0.1:0"
worker_shutdown_timeout 120
worker_timeout 300
silence_single_worker_warning

# MRI 3.4: IO#close waits for ever when a signal handler writes to the same IO, as puma's handlers do
# to the pipe that its server thread then closes (doc/upstream-bugs.md). A thread of its own may write.
Puma::Server.prepend(Module.new do
  private def notify_safely(message) = Thread.new { super(message) }
end)
