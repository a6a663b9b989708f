# frozen_string_literal: true

# episode.rb - one process of the stress driver: rounds of actors beside each other, and after each
# round, with nobody else about, a look at everything. Run by lib/child.rb: episode.rb SEED FOLDER

require_relative "lib/stub"
require_relative "lib/held"
require_relative "lib/poke"
require_relative "lib/known"
require_relative "lib/kinds"
require_relative "lib/round"

module Torture
  class Episode
    def initialize(seed, folder)
      @seed, @folder = seed, folder.freeze
      @random = Torture.random(seed, 1)
      @log = Log.new(folder)
    end

    def run
      Warning[:experimental] = false
      Thread.report_on_exception = false # who joins it is told
      "".encode("UTF-16LE") # no Ractor but this one can load an encoding
      settle
      Signals.install(@seed)
      rand(1..4).times do |index|
        Round.new(Torture.seed(@seed, 2 + index), @folder, @full).run
        @log.line("main", "done", "round #{index}")
      end
      Signals.ignore
    end

    private

    def rand(range) = @random.rand(range)

    # What is the same for all rounds, besides flags and environment (settings.rb).
    def settle
      GC.auto_compact = true if rand(4) == 0
      GC.measure_total_time = false if rand(8) == 0
      @full = rand(6) != 0
      ObjectSpace.trace_object_allocations_start if rand(10) == 0
    end
  end
end

Torture::Episode.new(Integer(ARGV[0]), ARGV[1]).run
