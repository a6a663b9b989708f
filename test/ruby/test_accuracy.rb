# frozen_string_literal: true

# test_accuracy.rb - whether estimates are right on average and as scattered as they should be.
#
# One run within 5.7 sigma (test_newobj.rb, test_pprof.rb) says that nothing is grossly wrong. A
# small bias shows only in the mean of many runs, and a wrong scatter (samples that come in bunches,
# or too evenly) only in their standard deviation. ../accuracy has the scenarios and the judgement,
# and doc/accuracy.md the maths; `make check-accuracy` runs all of them 200 times. Here are those
# with cut, 30 times: a bias of one sigma is found nineteen times in twenty.

require_relative "lib/heapprof_test"
require_relative "../accuracy/suite"
require_relative "../accuracy/large_table"

class TestHeapProfAccuracy < Test::Unit::TestCase
  include HeapProfTest

  # A debug build checks each GC.
  RUNS = DEBUG_BUILD ? 8 : 30
  SCENARIOS = Accuracy::SCENARIOS.select { |scenario| scenario.cut && !(DEBUG_BUILD && scenario.program == :stressed) }

  SCENARIOS.group_by(&:name).each do |name, scenarios|
    define_method("test_estimates_are_unbiased: #{name}") do
      omit "this ruby was built without YJIT" if scenarios.any?(&:yjit?) && !defined?(RubyVM::YJIT)
      suite = Accuracy::Suite.new(EnvUtil.rubybin, RUNS)
      scenarios.each do |scenario|
        suite.rows(scenario).each { |row| assert row.fits?, row.to_s }
      end
    end
  end

  # Of `make check-large` three runs.
  def test_large_and_small_things_are_found_at_the_default_interval
    omit "makes a million objects" if DEBUG_BUILD
    table = Accuracy::LargeTable.new(EnvUtil.rubybin)
    3.times { |seed| table.run(seed) }
    table.lines.each { |fits, line| assert fits, line }
  end
end
