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
# [suppressions]     A file of leaks that are known, or a directory of such files by version of ruby (--suppressions).
# [gen_suppressions] Whether each leak comes with the line that would suppress it (--gen-suppressions).
# [report]      The file that has the report as JSON; nil: it is written to stderr, for people.
# [program]     heapprof; by default what is installed beside this ruby, else what is found by its name.
#
# What all tasks are to have can be set once, by the names above or by those of the gem ruby_memcheck:
#
#   Heapprof::Memcheck.config(binary_name: "nokogiri", valgrind_suppressions_dir: "suppressions")
#
# Of these valgrind_suppressions_dir is suppressions, whose lines are heapprof's own, and valgrind_generate_suppressions is
# gen_suppressions. What that gem needs to tell leaks from Ruby's own memory is taken and not needed: filter_all_errors, skipped_ruby_functions,
# temp_dir, use_only_ruby_free_at_exit. Others are an error.
#
# Of RSpec it is Heapprof::Memcheck::RSpec::RakeTask (heapprof/memcheck/rspec).

require "rbconfig"
require "shellwords"

module Heapprof
  module Memcheck
    SETTINGS = %i[binary_name engine core timeout suppressions gen_suppressions report program].freeze
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

    # What both tasks have to be set.
    module Settings
      attr_writer(*SETTINGS)
      (SETTINGS - [:program]).each { |name| define_method(name) { setting(name) } }

      def program
        setting(:program) || [File.join(RbConfig::CONFIG["bindir"], "heapprof")].find { |path| File.executable?(path) } || "heapprof"
      end

      private

      def setting(name)
        variable = :"@#{name}"
        instance_variable_defined?(variable) ? instance_variable_get(variable) : Memcheck.defaults[name]
      end

      # What stands in front of the tests' command, for a shell.
      def memcheck
        command = [program, "memcheck"]
        { "--only" => binary_name, "--engine" => engine, "--timeout" => timeout, "--suppressions" => suppressions }.each do |option, value|
          command << "#{option}=#{value}" if value
        end
        command << "--core" if core
        command << "--gen-suppressions" if gen_suppressions
        command << "--json" << "--out=#{report}" if report
        command.push("--").shelljoin
      end
    end

    # Loaded when it is asked for: it needs Rake.
    autoload :TestTask, "heapprof/memcheck/test_task"
  end
end
