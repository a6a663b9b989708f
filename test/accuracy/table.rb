# frozen_string_literal: true

# table.rb - the table of all scenarios, and what it says as a whole.

module Accuracy
  class Table
    HEAD = [["scenario", "interval", "site", "slot or block", "objects or bytes"] +
            ["allocated: mean z", "sd z", "in use: mean z", "sd z", "fits"],
            ["---"] * 3 + ["---:"] * 6 + ["---"]].freeze
    TITLE = <<~MARKDOWN.freeze
      # Accuracy: every scenario

      Written by `make check-accuracy ACCURACYOPTS=--write`; what it means is in [accuracy.md](accuracy.md).

    MARKDOWN

    # A bias that all rows share and none shows: their means are independent, each with a
    # variance of 1/runs. Chance breaks this once in 10^5 tables.
    SIGMAS_OF_ALL = 4.5

    def initialize(runs)
      @runs = runs
      @rows = []
      @lines = []
    end

    def head = HEAD.map { |cells| line(cells) }

    # Takes a scenario's rows, returns their lines: allocated and in use side by side.
    def add(rows)
      @rows.concat(rows)
      lines = rows.chunk_while { |one, other| other.value == :inuse && one.site == other.site }.map { |pair| row_line(*pair) }
      @lines.concat(lines)
      lines
    end

    def fits? = @rows.all?(&:fits?) && %i[alloc inuse].all? { |value| together_fit?(value) }

    def summary
      again = @rows.count { |row| row.batch > 1 }
      ["#{@rows.size} means and standard deviations of #{@runs} runs each; #{again} by the second batch (marked *), " \
       "#{@rows.count { |row| !row.fits? }} do not fit.",
       *%i[alloc inuse].map { |value| together_line(value) }]
    end

    def write(path)
      about = "Measured #{Time.now.strftime("%Y-%m-%d")} by #{RUBY_DESCRIPTION}."
      File.write(path, TITLE + [about, "", *head, *@lines, "", *summary].join("\n") + "\n")
    end

    private

    def line(cells) = "| #{cells.join(" | ")} |"

    def row_line(alloc, inuse = nil)
      scenario = alloc.scenario
      fits = [alloc, inuse].compact.all?(&:fits?) ? "yes" : "**no**"
      line([scenario.name, scenario.intervals.join(", "), alloc.site, alloc.size, truth(alloc), *numbers(alloc),
            *numbers(inuse), fits])
    end

    def truth(row) = row.scenario.blocks ? "#{row.truth} B" : row.truth

    def numbers(row)
      return ["", ""] unless row
      mark = " *" if row.batch > 1
      [format("%+.3f%s", row.mean, mark), format("%.3f%s", row.sd, mark)]
    end

    # Rows without a size are sums of others.
    def means(value) = @rows.select { |row| row.value == value && row.size }.map(&:mean)

    def together(value)
      means = means(value)
      [means.sum / means.size, SIGMAS_OF_ALL / Math.sqrt(means.size * @runs)]
    end

    def together_fit?(value)
      means(value).empty? || together(value).then { |mean, bound| mean.abs <= bound }
    end

    def together_line(value)
      return if means(value).empty?
      mean, bound = together(value)
      format("All rows together, %s: mean z %+.4f, at most %.4f %s.", value, mean, bound,
             together_fit?(value) ? "allowed" : "ALLOWED: a bias")
    end
  end
end
