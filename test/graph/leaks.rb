# frozen_string_literal: true

# leaks.rb - patterns of leaks that people report, each as a program that leaks between three dumps. Asked is who keeps it, how much,
# and by which way.

require_relative "lib/answers"
require_relative "lib/kept"
require_relative "lib/outcome"
require_relative "lib/program"

# name     the pattern
# holder   what a person names as the holder: matches the words of a suspect, and of a row
# path     matches the way to what has leaked
# holds    the objects that the figure is of, for the oracle: a chain of labels, or a lambda on a Kept
# of       the class of what has leaked, or a lambda on a Kept; an object in the middle of them is asked for. :holder: the holder itself
# on       :main: leaks in the main thread; else in others, which are gone when it dumps
# once     bytes of one string that comes between the second and the third dump, more than what leaks by then
# program  defines leak(n), which leaks n objects; the line with "# here" allocates them
Leak = Struct.new(:name, :holder, :path, :holds, :of, :count, :once, :on, :program) do
  def text = <<~RUBY
    class Leaked; def initialize = @body = "b" * 400; end
    #{program}
    #{leaks}; dump
    #{leaks}; dump
    $once = "o" * #{once}
    #{leaks}; dump
    exit!(true)
  RUBY

  def leaks = on == :main ? "leak(#{count})" : "apart { leak(#{count}) }"
end

class Leaks
  COLUMNS = %w[report figure line diff growth kept why].freeze
  COUNT, ONCE = 2000, 5_000_000 # as a Leak has them, if it does not say
  FIRST = 3 # suspects, or rows, among which the holder has to be

  # What cannot be right, and why: { name => { column => reason } }.
  EXCEPT = {}.freeze

  ALL = []
  def self.leak(name, program, holder:, path:, holds:, of: "Leaked", count: COUNT, once: ONCE, on: nil)
    ALL << Leak.new(name, holder, path, holds, of, count, once, on, program)
  end

  def self.check(heapprof, word)
    table = Table.new("leaks", COLUMNS, except: EXCEPT)
    cases = ALL.select { |leak| word.nil? || leak.name.include?(word) }
    each_outcome(table, cases) { |leak| new(leak, heapprof).outcome }
    table
  end

  def initialize(leak, heapprof)
    @leak, @heapprof = leak, heapprof
  end

  def outcome
    outcome = Outcome.new(@leak.name)
    in_program(@leak.text) do |directory|
      @answers = Answers.new(@heapprof, directory)
      @line = File.readlines(File.join(directory, "program.rb")).index { |text| text.include?("# here") }&.succ
      @kept = (1..2).map { |number| Kept.read(File.join(directory, "#{number}.graph")) }
      @bounds = @kept.map { |kept| bounds(kept) }
      ask_report(outcome)
      ask_diff(outcome)
      outcome.ask("kept") { wrong_with_three }
      outcome.ask("why") { wrong_with_ways }
    end
    outcome
  end

  private

  # The figure has to be between these. The lower one leaves out the stacks of threads and fibers; a tenth less and more is for who
  # counts the holder, or what it is gathered in: one object above or below.
  def bounds(kept)
    holders = holders(kept)
    least, most = kept.holds(holders)
    most += kept.sum(kept.of_type(Kept::STACKS)) if @leak.holds.is_a?(Proc)
    [least, most]
  end

  def holders(kept) = @leak.holds.is_a?(Proc) ? @leak.holds.call(kept) : [kept.at(*@leak.holds)]

  def wrong_figure(figure, least, most)
    "expected #{least} to #{most}, found #{figure.inspect}" unless figure && figure.between?(least * 0.9, most * 1.1 + 4096)
  end

  # Which of these names the holder; its number, from 0 on.
  def index_of_holder(answers) = answers.index { |answer| Answers.words(answer).match?(@leak.holder) }

  def wrong_place(answers)
    said = answers.first(FIRST).map { |answer| Answers.shorten(Answers.words(answer), 120) }
    "expected #{@leak.holder.inspect} in the first #{FIRST}, found #{said}"
  end

  def ask_report(outcome)
    suspect = nil
    outcome.ask("report") do
      suspects = @answers.suspects("2.graph").first(FIRST)
      suspect = suspects[index_of_holder(suspects) || FIRST]
      suspect ? nil : wrong_place(suspects)
    end
    outcome.ask("figure") { suspect ? wrong_figure(suspect["retained"], *@bounds[1]) : "the report does not name the holder" }
    outcome.ask("line") { wrong_line(suspect) } if @line
  end

  def wrong_line(suspect)
    return "the report does not name the holder" unless suspect
    frames = Answers.values(suspect, "stack").flatten
    return if frames.any? { |frame| frame["file"].to_s.end_with?("program.rb") && frame["line"] == @line }
    return if Answers.words(suspect).match?(/program\.rb:#{@line}\b/)
    "expected program.rb:#{@line}, found #{frames.map { |frame| "#{File.basename(frame['file'].to_s)}:#{frame['line']}" }.first(4)}"
  end

  def ask_diff(outcome)
    row = nil
    outcome.ask("diff") do
      rows = @answers.diff("1.graph", "2.graph")["rows"].first(FIRST)
      row = rows[index_of_holder(rows) || FIRST]
      row ? nil : wrong_place(rows)
    end
    (old_least, old_most), (least, most) = @bounds
    outcome.ask("growth") { row ? wrong_figure(row["growth"], least - old_least, most - old_most) : "the diff does not name the holder" }
  end

  # What has grown each time comes before what has grown once.
  def wrong_with_three
    rows = @answers.diff("1.graph", "2.graph", "3.graph")["rows"]
    index = index_of_holder(rows.first(FIRST)) or return wrong_place(rows)
    once = rows.index { |row| Answers.words(row).include?("$once") }
    "the holder is row #{index + 1}, and $once row #{once.succ}" if once && once < index
  end

  def leaked(kept)
    return @leak.of.call(kept) if @leak.of.is_a?(Proc)
    of_class = @leak.of == :holder ? [] : kept.of_class(@leak.of)
    of_class.empty? ? holders(kept) : of_class
  end

  def wrong_with_ways
    leaked = leaked(@kept[1])
    asked = [format("%#x", leaked[leaked.size / 2])]
    asked << @leak.of if @leak.of.is_a?(String) && @kept[1].of_class(@leak.of).any?
    asked.each do |what|
      fault = Answers.fault_of_way(@answers.ways("2.graph", what)[0], @leak.path)
      return "#{what}: expected #{@leak.path.inspect}, found #{fault}" if fault
    end
    nil
  end
end

# What the figure is of where there is no holder among the objects: what has leaked; with the procs that have it.
LEAKED = ->(kept) { kept.of_class("Leaked") }
LEAKED_BY_PROCS = ->(kept) { kept.of_class("Leaked") + kept.of_class("Proc") }

require_relative "leaks/variables"
require_relative "leaks/collections"
require_relative "leaks/code"
require_relative "leaks/threads"
require_relative "leaks/things"
