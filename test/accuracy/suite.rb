# frozen_string_literal: true

# suite.rb - runs scenarios in child processes, judges what they read, and prints the table.
#
# For each row of the table and each of `runs` seeds z = (estimate - truth)/sigma. Asked is that
#
#     |mean z| <= 3.5/sqrt(runs)         |sd z - 1| <= 3/sqrt(2 runs)
#
# (200 runs: 0.25, and 0.85 to 1.15). Chance breaks one of the two about once in 300 times, and a
# table has some hundred rows; so a row that breaks is run again with as many other seeds, which
# decide: a false alarm in 10^5 rows, while what is biased fails again. Each scenario has seeds of
# its own, so that one unlucky seed does not show in many rows. They are counted from `seed` on.

require "open3"
require "tmpdir"
require_relative "../ruby/lib/estimator"
require_relative "scenarios"

module Accuracy
  # As subject.rb writes it.
  Reading = Struct.new(:site, :size, :value, :truth, :sigma, :estimate, :stale, :stackless) do
    def z = (estimate - truth) / sigma
  end

  # One line of the table.
  Row = Struct.new(:scenario, :site, :size, :value, :truth, :mean, :sd, :runs, :batch) do
    def fits?
      mean.abs <= 3.5 / Math.sqrt(runs) && (sd - 1).abs <= 3 / Math.sqrt(2.0 * runs)
    end

    def to_s
      format("%s, %s %s: mean z %+.3f, sd %.3f of %d runs", scenario.key, site, value, mean, sd, runs)
    end
  end

  class Failed < StandardError; end

  class Suite
    # env: of the children, which run `ruby`.
    def initialize(ruby, runs, env = {}, seed: 0)
      @ruby = ruby
      @runs = runs
      @seed = seed
      @env = { "RUBY_HEAPPROF" => nil, "RUBYOPT" => nil, "RUBY" => ruby }.merge(env)
    end

    # The rows of a scenario; those that broke as the second batch of runs has them.
    def rows(scenario)
      first = batch(scenario, 1)
      return first if first.all?(&:fits?)
      first.zip(batch(scenario, 2)).map { |one, other| one.fits? ? one : other }
    end

    private

    def subject = ["#{__dir__}/subject.rb"]

    def batch(scenario, number)
      seed = @seed + (2 * SCENARIOS.index(scenario) + number) * 10_000
      readings(scenario, seed).transpose.map do |of_row|
        one = of_row.first
        Row.new(scenario, one.site, one.size, one.value, one.truth, *mean_and_sd(of_row.map(&:z)), @runs, number)
      end
    end

    def readings(scenario, seed)
      command = [@ruby, "--disable-gems", *scenario.ruby, *subject, scenario.key, seed.to_s, @runs.to_s]
      Dir.mktmpdir do |directory|
        out, err, status = Open3.capture3(@env, *command, binmode: true, chdir: directory)
        raise Failed, "#{scenario.key}: #{status}\n#{err}" unless status.success?
        Marshal.load(out)
      end
    end

    def mean_and_sd(values)
      mean = values.sum / values.size
      [mean, Math.sqrt(values.sum { |value| (value - mean)**2 } / (values.size - 1))]
    end
  end
end
