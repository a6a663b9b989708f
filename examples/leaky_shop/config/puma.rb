workers 2
threads 3, 3
preload_app!
environment "production"
bind "tcp://127.0.0.1:#{ENV.fetch('PORT', 9292)}"
