# frozen_string_literal: true
#
# failed.rb - what stock MRI has to run, so that compare.rb knows which tests may fail.
#
#   failed.rb DIRECTORY RUN...
#
# Prints a line for each suite with a failure: its name, then the files where they are, as the
# suite wants them; none for btest, whose tests are numbered through all files.

require_relative "results"

# A test may stand in a file that is none of test-all's own, but included by one beside it.
def argument(file)
  path = file.sub(%r{\A(?:test|spec/ruby)/}, "")
  path.match?(/\Atest_|\/test_|_(?:test|spec)\.rb\z/) ? path : File.dirname(path)
end

directory, *runs = ARGV
abort "usage: failed.rb DIRECTORY RUN..." if runs.empty?

runs.flat_map { |run| Results.suites("#{directory}/#{run}").map { |suite| [suite, run] } }
    .group_by(&:first).each do |suite, pairs|
  failures = pairs.flat_map { |_, run| Results.read("#{directory}/#{run}", suite).failed.values }
  next if failures.empty?

  files = suite == "btest" ? [] : failures.map { |failure| argument(failure.file) }.uniq.sort
  puts [suite, *files].join(" ")
end
