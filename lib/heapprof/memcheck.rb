# frozen_string_literal: true

# heapprof/memcheck - a Rake task that runs tests under heapprof memcheck. It fails if an extension has lost memory.
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
# The task is a Rake::TestTask with more settings, which are set in its block:
#
# [binary_name] The only extension that is checked, as "nokogiri", with the libraries that it calls; nil: all of them (--only).
# [engine]      "vm", or "valgrind", which also finds errors but is slow (--engine); nil: vm.
# [core]        Whether memory that Ruby itself loses counts, too (--ruby).
# [timeout]     Seconds after which the tests are ended; nil: never (--timeout).
# [suppressions]     A file of known leaks, or a directory of such files by version of ruby (--suppressions).
# [baseline]    A file that heapprof memcheck --write-baseline has written: what it has is not shown (--baseline).
# [gen_suppressions] Whether each leak comes with the line that would suppress it (--gen-suppressions).
# [report]      The file for the report as JSON; nil: the report goes to stderr, for people.
# [program]     The program heapprof. By default it is Heapprof::Program.path: the one beside this ruby, or else the one in PATH.
#
# Settings of all tasks can be set once, by the names above or by those of the gem ruby_memcheck:
#
#   Heapprof::Memcheck.config(binary_name: "nokogiri", valgrind_suppressions_dir: "suppressions")
#
# Of that gem's names, valgrind_suppressions_dir is suppressions; the lines of the files are heapprof's. The name
# valgrind_generate_suppressions is gen_suppressions. filter_all_errors, skipped_ruby_functions, temp_dir and
# use_only_ruby_free_at_exit have no effect: that gem needs them to tell leaks from Ruby's own memory, and heapprof does not.
# Any other name is an error.
#
# The task for RSpec is Heapprof::Memcheck::RSpec::RakeTask (heapprof/memcheck/rspec).

require "shellwords"
require_relative "program"

module Heapprof
  module Memcheck
    SETTINGS = %i[binary_name engine core timeout suppressions baseline gen_suppressions report program].freeze
    THEIR_NAMES = { valgrind_suppressions_dir: :suppressions, valgrind_generate_suppressions: :gen_suppressions }.freeze
    NOT_NEEDED = %i[filter_all_errors skipped_ruby_functions temp_dir use_only_ruby_free_at_exit].freeze
    private_constant :SETTINGS, :THEIR_NAMES, :NOT_NEEDED

    @defaults = {}

    class << self
      attr_reader :defaults

      def config(**settings)
        settings.each do |name, value|
          name = THEIR_NAMES.fetch(name, name)
          next if NOT_NEEDED.include?(name)
          raise ArgumentError, "unknown setting: #{name}" unless SETTINGS.include?(name)
          defaults[name] = value
        end
      end
    end

    # The settings of both tasks.
    module Settings
      attr_writer(*SETTINGS)
      (SETTINGS - [:program]).each { |name| define_method(name) { setting(name) } }

      def program
        setting(:program) || Program.path
      end

      private

      def setting(name)
        variable = :"@#{name}"
        instance_variable_defined?(variable) ? instance_variable_get(variable) : Memcheck.defaults[name]
      end

      # Returns the words before the tests' command, for a shell.
      def memcheck
        command = [program, "memcheck"]
        { "--only" => binary_name, "--engine" => engine, "--timeout" => timeout, "--suppressions" => suppressions,
          "--baseline" => baseline }.each { |option, value| command << "#{option}=#{value}" if value }
        command << "--ruby" if core
        command << "--gen-suppressions" if gen_suppressions
        command << "--json" << "--output=#{report}" if report
        command.push("--").shelljoin
      end
    end

    # Loads the task when its name is first used, because the task needs Rake.
    autoload :TestTask, "heapprof/memcheck/test_task"
  end
end
