# frozen_string_literal: true
#
# compare.rb - which of MRI's tests failed that stock MRI passes.
#
#   compare.rb DIRECTORY STOCK RUN...
#
# DIRECTORY/RUN has what each suite left (results.rb). STOCK is the run of stock MRI on the same
# machine, of everything or only of what failed elsewhere: a test may fail if it failed there.
# What ran in any RUN must have run in all that have its suite; STOCK may be one of them.
#
# Exit status 1 when a test failed that may not, when one did not run, or when a run proves nothing:
# it was cut short, had fewer tests than the suite has, or more failures than one test in a hundred,
# which says more of the machine than of us.

require_relative "results"

MOST_FAILURES = 0.01

# One suite of one run, held against stock and against what all runs ran.
class Verdict
  def initialize(title, results, stock, names)
    @title, @results, @stock, @names = title, results, stock, names
  end

  def problems
    failed, ran = @results.failed.size, @results.ran.size
    many = "#{failed} of #{ran} tests failed: too many" if failed > ran * MOST_FAILURES
    [*@results.problems, *many]
  end

  def unexpected = @results.failed.reject { |name, _| @stock.failed.key?(name) }
  def missing = @names - @results.ran.keys
  def passed? = [problems, unexpected, missing].all?(&:empty?)

  def report
    puts "#{@title}: #{@results.ran.size} tests, #{@results.failed.size} failed"
    problems.each { |text| puts "  #{text}" }
    missing.each { |name| puts "  did not run: #{name}" }
    @results.failed.each do |name, failure|
      puts @stock.failed.key?(name) ? "  failed, in stock MRI, too: #{name}"
                                    : "  failed: #{name}: #{failure.text}"
    end
  end
end

abort "usage: compare.rb DIRECTORY STOCK RUN..." if ARGV.size < 3
directory, stock, *runs = ARGV

verdicts = Results::EXPECTED.keys.flat_map do |suite|
  with_suite = runs.select { |run| Results.suites("#{directory}/#{run}").include?(suite) }
  results = with_suite.to_h { |run| [run, Results.read("#{directory}/#{run}", suite)] }
  reference = Results.read("#{directory}/#{stock}", suite)
  names = results.values.flat_map { |result| result.ran.keys }.uniq
  results.map { |run, result| Verdict.new("#{run}, #{suite}", result, reference, names) }
end
abort "compare.rb: no suite has run in #{directory}" if verdicts.empty?
verdicts.each(&:report)
exit verdicts.all?(&:passed?)
