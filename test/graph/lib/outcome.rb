# frozen_string_literal: true

# outcome.rb - the table of cases: each question of a case is right, wrong, or wrong for a reason that is written down.

require_relative "answers"

# One case and what came of its questions: { "report" => nil (right) or what is wrong }.
class Outcome
  attr_reader :name, :columns
  attr_accessor :broken # why there are no answers: the case itself is wrong

  def initialize(name)
    @name = name
    @columns = {}
  end

  # The block returns what is wrong, or nil.
  def ask(column)
    @columns[column] = yield
  rescue Answers::Wrong => error
    @columns[column] = error.message
  end
end

# Prints a part's table, and counts.
class Table
  attr_reader :failed, :asked

  # except: { name of a case => { column => reason } }
  def initialize(part, columns, except: {})
    @part, @columns, @except = part, columns, except
    @asked = @failed = 0
    @width = 34
    puts "", "#{part}", format("%-#{@width}s  %s", "case", columns.map { |column| column.ljust(8) }.join("  ").rstrip)
  end

  def add(outcome)
    return add_broken(outcome) if outcome.broken
    notes = []
    marks = @columns.map { |column| mark(outcome, column, notes) }
    puts format("%-#{@width}s  %s", outcome.name, marks.map { |text| text.ljust(8) }.join("  ").rstrip), notes
    $stdout.flush
  end

  # The line that scripts/run-checks counts.
  def close
    puts "graph-answers, #{@part}: #{@asked} tests, #{@failed} failed"
  end

  private

  def add_broken(outcome)
    @asked += 1
    @failed += 1
    puts format("%-#{@width}s  BROKEN", outcome.name), outcome.broken.gsub(/^/, "    ")
  end

  def mark(outcome, column, notes)
    return "-" unless outcome.columns.key?(column)
    @asked += 1
    wrong, reason = outcome.columns[column], @except.dig(outcome.name, column)
    return "ok" if !wrong && !reason
    return "except" if wrong && reason
    @failed += 1
    notes << "    #{column}: #{wrong || "right, but listed as an exception: #{reason}"}"
    wrong ? "WRONG" : "RIGHT"
  end
end

# Two cases at a time, each in a process of its own, which makes an Outcome of it, or several. They come to the table in the order
# of the cases.
def each_outcome(table, cases, jobs: 2, &block)
  waiting, running, done = cases.each_index.to_a, {}, {}
  cases.each_index do |next_one|
    until done.key?(next_one)
      while running.size < jobs && (index = waiting.shift)
        running.update(start(index, cases[index], &block))
      end
      pipe, = IO.select(running.keys)[0]
      done[running.delete(pipe)] = pipe.read
      pipe.close
    end
    raise "case #{next_one + 1} of #{cases.size} ended without an outcome" if done[next_one].empty?
    Array(Marshal.load(done.delete(next_one))).each { |outcome| table.add(outcome) }
  end
end

# { the pipe that its outcome comes through => which case }
def start(index, one)
  from, to = IO.pipe(binmode: true)
  Process.detach(fork do
    from.close
    outcome = begin
      yield one
    rescue StandardError => error
      Outcome.new(one.name).tap { |broken| broken.broken = error.full_message(highlight: false) }
    end
    to.write(Marshal.dump(outcome))
    to.close
    exit!(0)
  end)
  to.close
  { from => index }
end
