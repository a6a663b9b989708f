# frozen_string_literal: true

bind "tcp://127.0.0.1:0"
workers 2
threads 3, 3
environment "production"
preload_app!
silence_single_worker_warning
before_fork { ActiveRecord::Base.connection_handler.clear_all_connections!(:all) }
