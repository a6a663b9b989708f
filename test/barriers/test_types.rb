# frozen_string_literal: true
#
# test_types.rb - remarks about types: references that their functions forget, and types that could be WB_PROTECTED.

require_relative "lib/barriers_command"

class TestBarriersTypes < Test::Unit::TestCase
  include BarriersCommand

  SUBJECT = "#{__dir__}/types/types.c"
  SURE = "moved-reference"

  def test_each_rule
    assert_equal(wanted, json["remarks"].map { |each| [each["line"], each["rule"], each["field"]] }.sort_by(&:to_s))
  end

  def test_errors_are_reported_and_the_rest_with_all
    sure, rest = wanted.partition { |_, rule, _| rule == SURE }
    result = barriers("--flags=#{HEADERS}", SUBJECT)
    assert_equal(sure.map { |line, _, field| [line, "error", field] }.sort, told(result).sort)
    assert_equal(1, result.status)
    all = told(barriers("--all", "--flags=#{HEADERS}", SUBJECT))
    assert_equal(rest.map { |line, _, field| [line, "note", field] }.sort_by(&:to_s), (all - told(result)).sort_by(&:to_s))
  end

  def test_what_types_lack
    texts = json["remarks"].select { |each| each["rule"] == "could-be-protected" }.to_h { |each| each.values_at("type", "text") }
    assert_equal({ "bare_type" => "'bare_type' could be WB_PROTECTED: it marks nothing",
                   "full_type" => "'full_type' could be WB_PROTECTED: each store that is seen has its barrier",
                   "pair_type" => "'pair_type' could be WB_PROTECTED if 2 stores had a barrier",
                   "other_type" => "'other_type' could be WB_PROTECTED if 2 stores had a barrier",
                   "part_type" => "'part_type' could be WB_PROTECTED: each store that is seen has its barrier",
                   "whole_type" => "'whole_type' could be WB_PROTECTED: each store that is seen has its barrier" }, texts)
  end

  def test_sarif
    results = JSON.parse(barriers("--sarif", "--flags=#{HEADERS}", SUBJECT).out)["runs"][0]["results"]
    assert_equal(wanted.select { |_, rule, _| rule == SURE }.map(&:first).sort,
                 results.select { |each| each["ruleId"] == SURE }.map { |each| each["locations"][0]["physicalLocation"]["region"]["startLine"] })
  end

  # A VALUE in a global or static variable, or in memory that only such a variable leads to, which no GC is told of.
  def test_globals
    %w[globals.c classes.c statics.cpp].each do |name|
      path = "#{__dir__}/types/#{name}"
      wanted = File.readlines(path).each_with_index.filter_map { |line, index| line[%r{// unregistered-global (\w+)}, 1]&.then { |variable| [index + 1, variable] } }
      result = barriers("--flags=#{HEADERS}", path)
      assert_equal(wanted, result.out.scan(/#{name}:(\d+):\d+: error: global variable '(\w+)'/).map { |line, variable| [line.to_i, variable] }.sort)
      assert_equal(1, result.status)
    end
  end

  # A VALUE in memory of malloc that a global variable, an object or a library keeps, and that nothing marks or registers. What the
  # source keeps right is not told.
  def test_memory_of_malloc
    path = "#{__dir__}/types/blocks.c"
    wanted = File.readlines(path).each_with_index.filter_map { |line, index| [index + 1, *$1.split] if line =~ %r{// ((?:error|warning) un.*)} }
    result = JSON.parse(barriers("--json", "--flags=#{HEADERS} -D_GNU_SOURCE", path).out)["extensions"][0]
    assert_empty(result["findings"].reject { |each| each["certainty"] == "harmless" || each["severity"] == "note" })
    remarks = result["remarks"].select { |each| each["severity"] != "note" }.sort_by { |each| each["line"] }
    assert_equal(wanted, remarks.map { |each| [each["line"], each["severity"], each["rule"], *each["field"]] })
    assert_equal({ 30 => "global variable 'list'", 91 => "an object ('whole_type')", 148 => "an object", 199 => "perhaps on_exit()" },
                 remarks.to_h { |each| [each["line"], each["text"][/and (.*) leads to it/, 1]] }.slice(30, 91, 148, 199))
  end

  # Such warnings are shown and fail, as errors do.
  def test_warnings_of_memory
    path = "#{__dir__}/types/blocks.c"
    result = barriers("--sarif", "--flags=#{HEADERS} -D_GNU_SOURCE", path)
    levels = JSON.parse(result.out)["runs"][0]["results"].to_h { |each| [each["locations"][0]["physicalLocation"]["region"]["startLine"], each.values_at("ruleId", "level")] }
    assert_equal({ 30 => %w[unmarked-memory error], 199 => %w[unmarked-memory warning] }, levels.slice(30, 199))
    assert_equal(1, result.status)
    assert_match(/type="unregistered-global"|type="unmarked-memory"/, barriers("--junit", "--flags=#{HEADERS} -D_GNU_SOURCE", path).out)
  end

  # MRI's own extensions forget none.
  def test_mri
    %w[date json/generator json/parser stringio monitor strscan socket zlib].each do |name|
      document = JSON.parse(barriers("--json", "#{BUILD}/ext/#{name}").out)
      assert_empty(document["extensions"].flat_map { |each| each["remarks"] }.select { |each| each["severity"] == "error" }, name)
    end
  end

  private

  def json = JSON.parse(barriers("--json", "--flags=#{HEADERS}", SUBJECT).out)["extensions"][0]

  # Line, severity and field of remarks.
  def told(result)
    result.out.scan(/types\.c:(\d+):\d+: (error|note): (?!no write)(?:'([^']*)' \(\w+\))?/).map { |line, sure, field| [line.to_i, sure, field] }
  end

  def wanted
    lines = File.readlines(SUBJECT).each_with_index.flat_map do |line, index|
      (line[%r{// (.*)}, 1] || "").split("; ").map { |each| [index + 1, *each.split.values_at(0, 1)] }
    end
    lines.sort_by(&:to_s)
  end
end
