# frozen_string_literal: true

# heapprof/memprof/signal - a process that runs dumps its heap when it is asked by SIGURG, which nothing else uses as a rule.
#
#   require "heapprof/memprof/signal"   # then: kill -URG PID
#
# A copy of the process (fork) collects garbage and calls Memprof.dump_all. The program only waits for the fork. The file is
# in Dir.tmpdir, and has the process's PID and the time in its name: memprof-4711-20250131T120000.123456.json. What is
# special about a copy:
#
# * It has no thread but the main one, so only that has frames; ps is of the copy.
# * Finalizers of what is dead run there, as they will in the program.
# * The program sees the end of one child, which is waited for here: a SIGCHLD.
#
# The signal is trapped: what the program traps later takes its place. RUBY_HEAPPROF=signal=URG is given up, as for any
# trap of a program. What goes wrong is one line on stderr.

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

      # The copy of a copy: its parent ends at once, so that the program has no child that it does not know.
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
