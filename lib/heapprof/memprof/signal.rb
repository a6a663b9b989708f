# frozen_string_literal: true

# heapprof/memprof/signal - a running process dumps its heap when it gets SIGURG. As a rule nothing else uses that signal.
#
#   require "heapprof/memprof/signal"   # then: kill -URG PID
#
# A copy of the process (fork) collects garbage and calls Memprof.dump_all. The program only waits for the fork. The file is
# in Dir.tmpdir, and has the process's PID and the time in its name: memprof-4711-20250131T120000.123456.json. The dump
# differs from one of the program itself:
#
# * The copy has only the main thread, so only that thread has frames. The output of ps is about the copy.
# * Finalizers of dead objects run in the copy. They will run in the program, too.
# * The program gets one SIGCHLD, for the child that this file waits for.
#
# This file traps the signal. As with any trap of a program, RUBY_HEAPPROF=signal=URG then has no effect. If the program traps
# the signal later, that trap replaces this one. If the dump fails, one line on stderr says why.

require "tmpdir"
require_relative "dump_all"

module Memprof
  module Signal # :nodoc:
    NAME = "URG"

    class << self
      def install
        directory = Dir.tmpdir
        trap(NAME) { in_copy(path(directory)) }
      end

      private

      def path(directory)
        File.join(directory, "memprof-#{Process.pid}-#{Time.now.strftime("%Y%m%dT%H%M%S.%6N")}.json")
      end

      # Forks twice. The first child ends at once, so that the program has no child that it does not know.
      def in_copy(path)
        child = fork do
          fork { dump(path) }
        ensure
          exit!
        end
        Process.wait(child)
      rescue Errno::ECHILD # the program has waited for all children
        nil
      rescue StandardError => error
        complain(error)
      end

      def dump(path)
        Memprof.dump_all(path)
      rescue StandardError => error
        complain(error)
      ensure
        exit!
      end

      def complain(error)
        $stderr.write("heapprof/memprof/signal: #{Heapprof::Plain.text(error.message)}\n")
      end
    end
  end
end

Memprof::Signal.install
