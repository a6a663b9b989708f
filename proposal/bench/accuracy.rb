# frozen_string_literal: true

require_relative "../../test/accuracy/suite"
require_relative "loops"

# accuracy.rb - the programs of the accuracy suite, and how right estimates of what is alive are: of the built-in profiler, and of
# heapprof-gem.
module AccuracyPrograms
  BUILD = File.join(Loops::TOP, "build/ruby")

  # Those that neither change the interval nor write files. Not in Ractors: while the main one waits, the gem keeps what is
  # sampled in others alive (gem.md).
  KINDS = %i[mutator scattered threads fibers forked].freeze
  WRITERS = %i[flush everything].freeze
  ONLY = Regexp.new(ENV.fetch("ONLY", ""))
  SCENARIOS = Accuracy::SCENARIOS.select do |scenario|
    scenario.cut && scenario.intervals.one? && !scenario.blocks && !scenario.labels && !scenario.memory &&
      KINDS.include?(scenario.program) && !WRITERS.include?(scenario.during) && ONLY.match?(scenario.key)
  end

  # The suite, with another program as its subject.
  class GemSuite < Accuracy::Suite
    private def subject = [*Loops.libraries, "#{__dir__}/gem_subject.rb"]
  end

  class << self
    # Yields each scenario with the rows of both about what is alive.
    def each(runs)
      built_in = Accuracy::Suite.new(File.join(BUILD, "ruby"), runs, { "RUBYLIB" => libraries.join(":") })
      gem = GemSuite.new(Loops::PATCHED, runs, { "RUBYLIB" => nil })
      SCENARIOS.each do |scenario|
        yield scenario, *[built_in, gem].map { |suite| suite.rows(scenario).select { |row| row.value == :inuse } }
      end
    end

    private

    # As MRI's make gives them to what it has built.
    def libraries = [BUILD, *Dir[File.join(BUILD, ".ext/{common,*-linux}")], *Dir[File.join(Loops::TOP, "build/src/ruby-*/lib")]]
  end
end
