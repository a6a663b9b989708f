# frozen_string_literal: true

# kinds.rb - one object for each way in which Ruby can keep one. All of them are in one process, and in one dump; each is the only one
# of its class, which is how it is found. `heapprof graph why ADDRESS` has to tell the way.

require_relative "lib/answers"
require_relative "lib/kept"
require_relative "lib/outcome"
require_relative "lib/program"

# name     how it is kept
# code     makes THING, an object of the class CLASS; nothing else keeps it
# ways     each matches another one of the ways that are told, the first one the first; none: nothing keeps it, and it has to be gone
# ordered  false: which comes first is free
# never    matches none of the ways
# base     what CLASS inherits from
Kind = Struct.new(:name, :ways, :ordered, :never, :base, :code, :number) do
  def class_name = "Thing#{number}"

  # Runs where no stack stays. What `code` defines is global, as in any block.
  def text
    code = self.code.gsub(/\bTHING\b/, "#{class_name}.new").gsub(/\bCLASS\b/, class_name)
    "class #{class_name}#{" < #{base}" if base}; end\napart do\n#{code}\nnil\nend\n"
  end
end

class Kinds
  COLUMNS = %w[why].freeze

  # What cannot be right, and why: { name => { column => reason } }.
  EXCEPT = {}.freeze

  ALL = []
  def self.kind(name, code, *ways, ordered: true, never: nil, base: nil)
    ALL << Kind.new(name, ways, ordered, never, base, code, ALL.size + 1)
  end

  def self.check(heapprof, word)
    table = Table.new("kinds", COLUMNS, except: EXCEPT)
    in_program("#{ALL.map(&:text).join}\nsettle\ndump\nexit!(true)\n", interval: "512k") do |directory|
      answers, kept = Answers.new(heapprof, directory), Kept.read(File.join(directory, "1.graph"))
      cases = ALL.select { |kind| word.nil? || kind.name.include?(word) }
      each_outcome(table, cases) { |kind| new(kind, answers, kept).outcome }
    end
    table
  end

  def initialize(kind, answers, kept)
    @kind, @answers, @kept = kind, answers, kept
  end

  def outcome
    found = @kept.of_class(@kind.class_name)
    Outcome.new(@kind.name).tap do |outcome|
      outcome.ask("why") { @kind.ways.empty? ? wrong_if_alive(found) : wrong_ways(found) }
    end
  end

  private

  def wrong_if_alive(found)
    return "expected it to be gone, found #{@answers.ways('1.graph', format('%#x', found[0]))}" unless found.empty?
    "expected that why refuses its class" if @answers.run("why", "1.graph", @kind.class_name).status != 1
  end

  def wrong_ways(found)
    raise "#{found.size} objects of #{@kind.class_name} are alive: expected one" unless found.size == 1
    ways = @answers.ways("1.graph", format("%#x", found[0]))
    said = ways.map { |way| Answers.shorten(way, 120) }.inspect
    at = @kind.ways.map { |expected| ways.index { |way| way.match?(expected) } }
    right = at.all? && at.uniq == at && (!@kind.ordered || at[0] == 0)
    return "expected #{@kind.ways.map(&:inspect).join(' and ')}, found #{said}" unless right
    return "the same way twice: #{said}" unless ways.uniq == ways
    return "expected no #{@kind.never.inspect}, found #{said}" if @kind.never && ways.any? { |way| way.match?(@kind.never) }
    at.zip(@kind.ways).filter_map { |index, expected| Answers.fault_of_way(ways[index], expected) }.first
  end
end

require_relative "kinds/variables"
require_relative "kinds/collections"
require_relative "kinds/code"
require_relative "kinds/running"
require_relative "kinds/things"
