# frozen_string_literal: true

# tables.rb - what bench/peers measured, as the tables of doc/performance.md.

module Tables
  module_function

  OURS = ["default", "1 %", "10 %", "all"].freeze

  def machine
    model = File.foreach("/proc/cpuinfo").grep(/model name/).first.to_s.split(": ").last.to_s.strip
    "#{model}, #{File.foreach('/proc/cpuinfo').grep(/\Aprocessor/).size} cores"
  end

  def row(cells) = "| #{cells.join(' | ')} |"

  def table(header, rows) = [row(header), row(header.map { "---" }), *rows.map { |cells| row(cells) }].join("\n")

  def ratio(value) = value && format("%.*f", value < 1.095 ? 3 : value < 10 ? 2 : 1, value)

  def result(workload, setting) = workload[:results].find { |result| result[:setting] == setting }

  def cell(result, goal = nil)
    return "failed" if result[:failed]

    text = [ratio(result[:instructions]), "(#{ratio(result[:ratio])})"].compact.join(" ")
    text += "; goal #{goal}" if goal
    text += ", then #{result[:end_seconds].round(1)} s" if result[:end_seconds] >= 0.05
    text
  end

  def ours(facts)
    rows = facts[:workloads].map do |workload|
      goals = workload[:goals].transform_keys(&:to_s) # symbols, where they were read from a file
      [workload[:title], *OURS.map { |setting| cell(result(workload, setting), goals[setting]) }]
    end
    table(["over off", *OURS], rows)
  end

  def peers(facts)
    titles = facts[:workloads].first[:results].map { |result| result[:setting] } - ["off", *OURS]
    rows = facts[:workloads].map do |workload|
      [workload[:title], *titles.map { |setting| cell(result(workload, setting)) }]
    end
    table(["over off", *titles], rows)
  end

  def markdown(facts)
    <<~MARKDOWN
      #{facts[:ruby]}; #{facts[:machine]}; #{facts[:time]}. Instructions over those with the profiler off and, in brackets,
      CPU time, the least of up to #{facts[:workloads].first[:rounds]} interleaved rounds. "then": CPU seconds at the profiler's end, until what it
      found can be written.

      #{ours(facts)}

      #{peers(facts)}
    MARKDOWN
  end
end
