# frozen_string_literal: true

# settings.rb - how one episode's ruby is started: flags and environment, drawn from the episode's
# seed. What is set from inside is in episode.rb.

require_relative "random"

module Torture
  class Settings
    INTERVALS = [1, 1, 1, 40, 100, 1000, 4096, 65_536, 524_288].freeze
    MALLOC_INTERVALS = [nil, nil, 0, *INTERVALS].freeze # nil: as the interval
    MALLOC = %i[ruby ruby all].freeze
    DEPTHS = [1, 2, 5, 64, 512, 65_535].freeze
    # From a budget that is used up at once to the default.
    MEMORY = [1 << 20, 1 << 20, 2 << 20, 8 << 20, 64 << 20].freeze

    # What asks for a file; where nobody takes it, nothing happens.
    SIGNAL = "URG"

    attr_reader :flags, :environment

    # supported: the flags among MODES that this ruby has.
    def initialize(seed, folder, supported)
      @random = Torture.random(seed, 0)
      @folder = folder
      @asked = pick([nil, :profile, :graph])
      @flags = ["--disable-gems", *mode(supported), *parser(supported)]
      @environment = { "RUBY_HEAPPROF" => heapprof, "RUBY_HEAPGRAPH" => heapgraph, "RUBYOPT" => nil, **gc, **threads }
      @environment["RUBY_FREE_AT_EXIT"] = "1" if one_in(6)
    end

    # Not --rjit: README.md, "What is kept apart".
    MODES = %w[--yjit --parser=parse.y].freeze

    def to_s
      set = @environment.reject { |name, value| value.nil? || name == "RUBYLIB" }
      [*set.map { |name, value| "#{name}=#{value}" }, *@flags].join(" ")
    end

    # Settings for ObjectSpace::HeapProfile.start.
    def self.start(random)
      { interval: INTERVALS.sample(random: random), malloc_interval: MALLOC_INTERVALS.sample(random: random),
        malloc: MALLOC.sample(random: random), depth: DEPTHS.sample(random: random),
        memory: MEMORY.sample(random: random), seed: random.rand(2) == 0 ? nil : random.rand(1 << 64) }
    end

    private

    def one_in(count)
      @random.rand(count) == 0
    end

    def pick(values)
      values.sample(random: @random)
    end

    def mode(supported)
      return [] unless supported.include?("--yjit") && one_in(3)
      ["--yjit", "--yjit-call-threshold=#{pick([1, 2, 10, 30])}"]
    end

    def parser(supported)
      one_in(4) ? %w[--parser=parse.y] & supported : []
    end

    def heapprof
      return if one_in(2)
      settings = Settings.start(@random).compact
      settings[:gc] = @random.rand(2)
      settings.update(while_it_runs)
      settings[:out] = "#{@folder}/%p-%n.pb.gz"
      settings.map { |key, value| "#{key}=#{value}" }.join(",")
    end

    # By the thread that Ruby knows nothing of. An actor sends the signal.
    def while_it_runs
      { every: pick([nil, nil, 0.1, 0.3]), signal: (SIGNAL if @asked == :profile), keep: pick([nil, 1, 3]) }.compact
    end

    def heapgraph
      "signal=#{SIGNAL},out=#{@folder}/%p-%n.rbgraph" if @asked == :graph
    end

    # A small heap is collected more often, a step at a time less predictably.
    def gc
      {
        "RUBY_GC_HEAP_0_INIT_SLOTS" => pick([nil, nil, "1000", "100000"]),
        "RUBY_GC_HEAP_GROWTH_FACTOR" => pick([nil, nil, "1.1", "3"]),
        "RUBY_GC_MALLOC_LIMIT" => pick([nil, nil, "100000"]),
        "RUBY_GC_MALLOC_LIMIT_MAX" => pick([nil, nil, "200000"]),
      }
    end

    def threads
      { "RUBY_THREAD_TIMESLICE" => pick([nil, "1", "10"]) }
    end
  end
end
