# frozen_string_literal: true

workers 2
threads 4, 4
preload_app!
environment "production"
bind "tcp://127.0.0.1:0"

# As in ../rails/config/puma.rb: IO#close waits for ever in MRI 3.4 when a signal handler writes to the same IO.
require "puma/server"
Puma::Server.prepend(Module.new do
  private def notify_safely(message) = Thread.new { super(message) }
end)
