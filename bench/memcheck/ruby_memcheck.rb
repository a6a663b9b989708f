# frozen_string_literal: true

# ruby_memcheck.rb - runs a ruby under the gem ruby_memcheck, as its task for Rake does it, and prints what it reports as JSON: for each
# error the text.
#
#   ruby_memcheck.rb EXTENSION RUBY ARGUMENT...

require "json"
require "rake/testtask"
require "ruby_memcheck"
require "shellwords"
require "stringio"

extension, ruby, *arguments = ARGV
config = RubyMemcheck::Configuration.new(binary_name: File.basename(extension, ".so"), ruby: ruby.shellescape, output_io: StringIO.new)
task = RubyMemcheck::TestTask.new(config)
begin
  task.ruby(*arguments.map(&:shellescape), verbose: false)
rescue RuntimeError => e
  raise unless e.message == RubyMemcheck::TestTaskReporter::VALGRIND_REPORT_MSG
end
puts task.reporter.errors.map(&:to_s).to_json
