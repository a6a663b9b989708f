# frozen_string_literal: true

# subject.rb - the child process: ruby subject.rb SCENARIO FIRST_SEED RUNS
#
# Writes, marshalled, the readings of all runs. Before them comes a try at interval 1, where each
# estimate has to be the truth, or the program does not make what it says.

require_relative "scenarios"
require_relative "programs"

module Accuracy
  # Those of the scenario alone are loaded: others may need extensions that the ruby lacks (proposal/bench/gem_subject.rb).
  autoload :BlockPrograms, "#{__dir__}/block_programs"
  %i[LabelPrograms LabelBlockPrograms].each { autoload _1, "#{__dir__}/label_programs" }
  %i[PastPrograms PastBlockPrograms].each { autoload _1, "#{__dir__}/past_programs" }

  # The first time round the code here makes its own inline caches.
  def self.try(programs, scenario)
    readings = Array.new(2) { programs.run(0, scenario.intervals.map { 1 }) }
    readings.last.each do |reading|
      raise "#{scenario.key}, every object sampled: #{reading}" unless reading.exact?
    end
  end

  def self.subject(key, first, runs)
    Warning[:experimental] = false
    scenario = SCENARIOS.find { |one| one.key == key }
    programs = scenario.programs
    try(programs, scenario)
    readings = Array.new(runs) { |i| programs.run(first + i) }
    raise "YJIT compiled nothing" if scenario.yjit? && RubyVM::YJIT.runtime_stats[:compiled_iseq_count] == 0
    readings
  end
end

key, first, runs = ARGV
$stdout.binmode
if key == "booted"
  scenario = Accuracy::SCENARIOS.find { |one| one.key == first }
  $stdout.write(Marshal.dump(scenario.programs.in_booted_process))
else
  $stdout.write(Marshal.dump(Accuracy.subject(key, Integer(first), Integer(runs))))
end
