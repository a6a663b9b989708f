# frozen_string_literal: true

# heapprof/memcheck - a Rake task that runs tests under heapprof memcheck: it fails when an extension has lost memory.
#
#   # Rakefile
#   require "rake/testtask"
#   require "heapprof/memcheck"
#
#   tests = lambda do |task|
#     task.libs << "test"
#     task.test_files = FileList["test/**/*_test.rb"]
#   end
#   Rake::TestTask.new(test: :compile, &tests)
#   namespace :test do
#     Heapprof::Memcheck::TestTask.new(memcheck: :compile, &tests)
#   end
#
#   $ rake test:memcheck
#
# The task is a Rake::TestTask with some settings more, to be set in its block:
#
# [binary_name] The extension alone that is looked at, as "nokogiri"; nil: all of them (--only).
# [engine]      "vm", or "valgrind", which sees errors, too, and is slow (--engine); nil: vm.
# [core]        Whether what Ruby itself loses counts, too (--core).
# [timeout]     Seconds after which the tests are ended; nil: never (--timeout).
# [report]      The file that has the report as JSON; nil: it is written to stderr, for people.
# [program]     heapprof; by default what is installed beside this ruby, else what is found by its name.
#
# Of RSpec it is Heapprof::Memcheck::RSpec::RakeTask (heapprof/memcheck/rspec).

require "rbconfig"
require "shellwords"

module Heapprof
  module Memcheck
    # What both tasks have to be set.
    module Settings
      attr_accessor :binary_name, :engine, :core, :timeout, :report
      attr_writer :program

      def program
        @program ||= [File.join(RbConfig::CONFIG["bindir"], "heapprof")].find { |path| File.executable?(path) } || "heapprof"
      end

      private

      # What stands in front of the tests' command, for a shell.
      def memcheck
        command = [program, "memcheck"]
        command << "--only=#{binary_name}" if binary_name
        command << "--engine=#{engine}" if engine
        command << "--core" if core
        command << "--timeout=#{timeout}" if timeout
        command << "--json" << "--out=#{report}" if report
        command.push("--").shelljoin
      end
    end

    # Loaded when it is asked for: it needs Rake.
    autoload :TestTask, "heapprof/memcheck/test_task"
  end
end
