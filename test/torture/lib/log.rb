# frozen_string_literal: true

# log.rb - what each actor begins and has done, a line each, written at once: a crash leaves it whole.
# Each actor opens it for itself, since Ractors share no files; lines are appended, never torn.

module Torture
  class Log
    def self.now
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end

    # A system call fails while another thread compacts: README.md, "What is kept apart".
    def self.patiently
      yield
    rescue Errno::EFAULT
      retry
    end

    def initialize(folder)
      @file = File.open(File.join(folder, "log"), File::WRONLY | File::CREAT | File::APPEND)
    end

    def line(name, verb, what)
      Log.patiently { @file.syswrite("#{Log.now.round(4)} #{Process.pid} #{name} #{verb} #{what}\n") }
    end
  end
end
