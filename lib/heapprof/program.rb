# frozen_string_literal: true

# heapprof/program - runs the program heapprof for this process, and returns what it prints.
#
# What reads a whole heap, or makes a page, runs in a process of its own: its memory is not the application's, and no fault of it
# ends the application. There is no shell between the two. The program gets its words one by one.

require "rbconfig"
require_relative "plain"

module Heapprof
  # Finds and runs the program heapprof.
  #
  #   Heapprof::Program.path = "/opt/ruby/bin/heapprof"   # where it is neither beside ruby nor in PATH
  module Program
    BESIDE_RUBY = File.join(RbConfig::CONFIG["bindir"], "heapprof").freeze
    private_constant :BESIDE_RUBY

    @path = nil

    class << self
      # call-seq:
      #   path = string
      #
      # Sets which program is run; +nil+: the one that path finds.
      def path=(path)
        @path = path && File.path(path).dup.freeze
      end

      # call-seq:
      #   path -> string
      #
      # Returns the program that is run: the one that was set, or the one beside this ruby. Otherwise it is the bare name, which is
      # looked for in PATH.
      def path
        @path || (File.executable?(BESIDE_RUBY) ? BESIDE_RUBY : "heapprof")
      end

      # Returns what the program prints, as a binary String. +input+ is an open file that becomes its standard input. Yields what it
      # says on stderr, if it says something.
      #
      # Raises ArgumentError with what the program says if it refuses. Raises RuntimeError if it cannot be run, or if a signal ends
      # it. If this thread is interrupted, the program is ended.
      def run(*words, input: File::NULL) # :nodoc:
        out, out_end = IO.pipe(binmode: true)
        err, err_end = IO.pipe(binmode: true)
        child = start(words, in: input, out: out_end, err: err_end)
        [out_end, err_end].each(&:close)
        reader = Thread.new { err.read }
        reader.report_on_exception = false
        text = out.read
        check(status_of(child), said = lines(reader.value))
        child = nil
        yield said if block_given? && !said.empty?
        text
      ensure
        finish(child) if child
        [out, out_end, err, err_end].each { |io| io&.close }
      end

      private

      def start(words, **streams)
        Process.spawn([path, "heapprof"], *words, **streams)
      rescue SystemCallError => error
        raise "cannot run the program heapprof: #{error.message}. It is looked for at #{BESIDE_RUBY} and in PATH. " \
              "If it is elsewhere, set Heapprof::Program.path"
      end

      # Returns nil if other code of this process has waited for the child. Ruby's status is of no process then.
      def status_of(child)
        status = Process::Status.wait(child)
        status if status&.pid == child
      end

      def lines(said) = said.lines(chomp: true).map { |line| Plain.text(line) }.join("\n")

      def check(status, said)
        return if status ? status.success? : said.empty?
        raise "the program heapprof was ended: #{status}" if status&.signaled?
        raise ArgumentError, said.empty? ? "the program heapprof has failed: #{status}" : said
      end

      def finish(child)
        Process.kill(:KILL, child)
        status_of(child)
      rescue Errno::ESRCH
        nil
      end
    end
  end
end
