# frozen_string_literal: true

# answers.rb - what `heapprof graph` says, by its JSON, so that no test here depends on how a sentence is put.

require "json"
require "open3"

class Answers
  Said = Struct.new(:out, :err, :status) do
    def json = JSON.parse(out)
    def first_line = (err.empty? ? out : err).lines.first.to_s.chomp
  end

  ENVIRONMENT = { "LC_ALL" => "C.UTF-8", "COLUMNS" => nil, "PAGER" => nil, "NO_COLOR" => nil }.freeze
  LONGEST_WAY = 600 # characters: a person reads it in one go, and a list is folded

  def initialize(heapprof, directory)
    @heapprof, @directory = heapprof, directory
  end

  def run(command, *arguments)
    out, err, status = Open3.capture3(ENVIRONMENT, @heapprof, "graph", command, *arguments.map(&:to_s), chdir: @directory, binmode: true)
    Said.new(out.force_encoding("UTF-8"), err.force_encoding("UTF-8"), status.exitstatus)
  end

  # A Hash or an Array; what went wrong is raised as Wrong.
  def json(command, *arguments)
    said = run(command, *arguments, "--json")
    raise Wrong, "#{command} ended with #{said.status}: #{said.first_line}" unless said.status == 0
    said.json
  rescue JSON::ParserError
    raise Wrong, "#{command} --json is no JSON: #{said.first_line}"
  end

  def suspects(dump) = json("report", dump)["suspects"] || raise(Wrong, "report --json has no \"suspects\"")

  def diff(*dumps)
    json("diff", *dumps, "-n", 0).tap { |diff| raise Wrong, "diff --json has no \"rows\"" unless diff["rows"] }
  end

  # Each way of `why`, the first one first.
  def ways(dump, what) = Answers.values(json("why", dump, what), "way")

  # All values of a key, at any depth.
  def self.values(json, key)
    case json
    when Hash then json.flat_map { |name, value| name == key ? [value] : values(value, key) }
    when Array then json.flat_map { |value| values(value, key) }
    else []
    end
  end

  # All that a suspect or a row says in words, except where it was allocated.
  def self.words(json)
    case json
    when Hash then json.except("stack").values.map { |value| words(value) }.reject(&:empty?).join(" | ")
    when Array then json.map { |value| words(value) }.reject(&:empty?).join(" | ")
    when String then json
    else ""
    end
  end

  # What is wrong with a way that has to match; nil if nothing is.
  def self.fault_of_way(way, expected)
    if way.nil? then "no way at all"
    elsif !way.match?(expected) then "the way #{shorten(way)}"
    elsif way.size > LONGEST_WAY then "a way of #{way.size} characters: #{shorten(way)}"
    elsif way.match?(/->\s*(?:->|\z)/) then "a step without a name: #{shorten(way)}"
    end
  end

  def self.shorten(text, most = 160) = text.size > most ? "#{text[0, most]}..." : text

  # An answer that is not the right one.
  class Wrong < StandardError; end
end
