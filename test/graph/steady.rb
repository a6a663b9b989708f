# frozen_string_literal: true

# steady.rb - programs that do not grow, at work between two dumps: no row of `heapprof graph diff` may say that they do.
#
# Several share a process, one after the other, each with two dumps of its own.

require_relative "lib/answers"
require_relative "lib/kept"
require_relative "lib/outcome"
require_relative "lib/program"

# name    what the program does
# setup   before the first dump; what it defines stays
# work    between the two
# alone   in a process of its own
SteadyProgram = Struct.new(:name, :setup, :work, :alone) do
  def text = "#{setup}\ndump\n#{work}\ndump\n"
end

# Some that share a process.
Together = Struct.new(:name, :cases)

class Steady
  COLUMNS = %w[rows sum].freeze
  # Bytes of a row, up or down, that is one too many; besides what the stacks of threads and fibers differ by: how much of them is in
  # memory is up to the kernel.
  LEAST = 10_240

  EXCEPT = {}.freeze
  TOGETHER = 6 # programs of a process

  ALL = []
  def self.steady(name, setup, work, alone: false) = ALL << SteadyProgram.new(name, setup, work, alone)

  def self.check(heapprof, word)
    table = Table.new("steady", COLUMNS, except: EXCEPT)
    cases = ALL.select { |steady| word.nil? || steady.name.include?(word) }
    alone, others = cases.partition(&:alone)
    together = [*others.each_slice(TOGETHER), *alone.each_slice(1)].map { |some| Together.new(some.first.name, some) }
    each_outcome(table, together) { |some| outcomes(some.cases, heapprof) }
    table
  end

  def self.outcomes(cases, heapprof)
    in_program("#{cases.map(&:text).join}exit!(true)\n") do |directory|
      cases.each_with_index.map { |steady, i| new(steady, Answers.new(heapprof, directory), directory, 2 * i + 1).outcome }
    end
  end

  def initialize(steady, answers, directory, first)
    @steady, @answers = steady, answers
    @dumps = [first, first + 1].map { |number| "#{number}.graph" }
    @kept = @dumps.map { |dump| Kept.read(File.join(directory, dump)) }
    @stacks = @kept.map { |kept| kept.sum(kept.of_type(Kept::STACKS)) }.then { |before, after| after - before }
  end

  def outcome
    grown = @kept[1].bytes - @kept[0].bytes
    Outcome.new(@steady.name).tap do |outcome|
      if (grown - @stacks).abs >= LEAST then outcome.broken = "the program grows by itself, by #{grown} bytes: #{what_grew}"
      else
        outcome.ask("rows") { wrong_rows }
        outcome.ask("sum") { wrong_sum(grown) }
      end
    end
  end

  private

  def wrong_rows
    least = LEAST + @stacks.abs
    rows = @answers.diff(*@dumps)["rows"].select { |row| row["growth"].abs >= least }
    said = rows.first(3).map { |row| "#{row['growth']} bytes #{Answers.shorten(Answers.words(row), 100)}" }
    "expected no row above #{least} bytes, found #{rows.size}: #{said}" unless rows.empty?
  end

  def wrong_sum(grown)
    diff = @answers.diff(*@dumps)
    told = diff["rows"].sum { |row| row["growth"] } + diff["rest"].to_i
    "expected #{grown}, found #{told}" if told != grown
  end

  def what_grew
    old, new = @kept.map(&:histogram)
    (old.keys | new.keys).map { |name| [name, new[name][1] - old[name][1]] }.max_by(4) { |_, bytes| bytes.abs }.inspect
  end
end

require_relative "steady/objects"
require_relative "steady/running"
require_relative "steady/applications"
require_relative "steady/rails"
