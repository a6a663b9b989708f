# PUMA_WORKERS forked processes of 4 threads, or one process.
workers Integer(ENV.fetch("PUMA_WORKERS", 0))
threads 4, 4
preload_app!
environment "production"
bind "tcp://127.0.0.1:0"
worker_shutdown_timeout 120
worker_timeout 300
silence_single_worker_warning
