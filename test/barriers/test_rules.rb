# frozen_string_literal: true
#
# test_rules.rb - each rule. In rules/ the expected message stands behind each line. No other line may be reported.

require_relative "lib/barriers_command"

class TestBarriersRules < Test::Unit::TestCase
  include BarriersCommand

  SETS = Dir["#{RULES}/*.{c,cpp}"].sort.group_by { |path| File.basename(path)[/\A[a-z]+(?:_files)?/] }

  SETS.each do |name, paths|
    define_method(:"test_#{name}") do
      result = barriers("--all", "--flags=#{HEADERS}", *paths)
      assert_empty(result.err.lines.grep_v(/WB_PROTECTED$/))
      told = result.told.flat_map { |each| each.fields.map { |field| [each.file, each.line, each.sure, field] } }
      wanted = paths.flat_map { |path| wanted_in(path) }
      assert_equal(wanted.sort, told.sort)
      assert_equal(wanted.any? { |_, _, sure| sure != "note" } ? 1 : 0, result.status)
    end
  end

  def test_harmless_stores_and_unprotected_types_are_reported_only_with_all
    result = barriers("--flags=#{HEADERS}", "#{RULES}/types.c", "#{RULES}/exempt.c")
    assert_equal(["error"], result.told.map(&:sure).uniq)
  end

  def test_a_store_in_a_macro_is_reported_where_the_macro_is_used_and_defined
    result = barriers("--flags=#{HEADERS}", "#{RULES}/macros.c")
    assert_equal(["macros.c:3: note: in the macro STORE, defined here"], result.out.lines.grep(/STORE/).map { |line| File.basename(line.chomp) })
  end

  private

  def wanted_in(path)
    name = File.basename(path)
    shift = 0
    File.readlines(path).each_with_index.flat_map do |line, index|
      if (match = /\A#line (\d+) "(.*)"/.match(line))
        shift = match[1].to_i - (index + 2)
        name = match[2]
      end
      text = line[%r{// ((?:error|warning|note) .*)}, 1] or next []
      text.split("; ").flat_map do |each|
        sure, *fields = each.split
        fields.map { |field| [name, index + 1 + shift, sure, field] }
      end
    end
  end
end
