# frozen_string_literal: true

# large_table.rb - runs large_program.rb with seeds, each in a process of its own, judges what it
# found and makes the table.

require "open3"
require_relative "large_program"

module Accuracy
  class LargeTable
    HEAD = ["| kept | truly | sigma | found in | largest error | in sigma |",
            "| --- | ---: | ---: | ---: | ---: | ---: |"].freeze

    def initialize(ruby)
      @ruby = ruby
      @runs = []
    end

    def run(seed)
      script = "require #{File.join(__dir__, "large_program").dump}; p Accuracy::Large.keep(#{seed})"
      env = { "RUBY_HEAPPROF" => nil, "RUBYOPT" => nil }
      out, status = Open3.capture2(env, @ruby, "--disable-gems", "-e", script)
      raise "seed #{seed}: #{status}" unless status.success?
      @runs << out.scan(/\d+/).map(&:to_i).each_slice(2).to_a
    end

    # [whether it fits, the line] of each.
    def lines
      Large::KINDS.zip(@runs.transpose).map do |kind, pairs|
        errors = pairs.map { |truth, estimate| (estimate - truth).abs }
        allowed = Estimator::SIGMAS * kind.sigma + Estimator::ROUNDING
        found = pairs.count { |_, estimate| estimate > 0 }
        [errors.max <= allowed && found == pairs.size, line(kind, pairs[0][0], found, errors.max)]
      end
    end

    private

    def line(kind, truth, found, error)
      format("| %s | %d %s | %s | %d of %d | %s | %.2f |", kind.name, truth, kind.unit, rounded(kind.sigma),
             found, @runs.size, rounded(error), error / [kind.sigma, 0.5].max)
    end

    def rounded(number) = number < 10 ? format("%.1f", number) : number.round.to_s
  end
end
