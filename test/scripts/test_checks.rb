# frozen_string_literal: true
#
# test_checks.rb - test/checks.table: whoever runs, lists or documents a check has it from there.

require "test/unit"
require_relative "scratch_repository"

class TestScriptsChecks < Test::Unit::TestCase
  TOP = File.expand_path("../..", __dir__)

  def test_each_list_has_its_rows_in_order
    table = "# c\n\none | check full | 1 | a | b\ntwo X=1 | full | - | a | b\nthree | check | 2.5 | a | b\n"
    assert_equal ["one\nthree\n", "", true], checks(table, "list", "check")
    assert_equal ["one\ntwo X=1\n", "", true], checks(table, "list", "check-full")
  end

  def test_a_row_that_lacks_a_cell_or_has_no_list_is_named
    ["one | check | 1 | a\n", "one | sometimes | 1 | a | b\n"].each do |row|
      _, err, ok = checks("two | full | 1 | a | b\n#{row}", "list", "check")
      refute ok
      assert_equal "checks: test/checks.table:2: expected name | check, full or both | minutes | subject | proves\n", err
    end
  end

  def test_each_row_is_a_target_of_make
    rules = File.read("#{TOP}/Makefile.in") + File.read("#{TOP}/test/checks.mk") + File.read("#{TOP}/bench/bench.mk")
    targets = rules.scan(/^([a-z][a-z0-9 -]*):/).flatten.flat_map(&:split)
    names = %w[check check-full].flat_map { |list| `#{TOP}/scripts/checks list #{list}`.lines.map { |line| line.split.first } }
    assert_operator names.size, :>, 50
    assert_empty names.uniq - targets
  end

  def test_readme_has_the_table
    assert_includes File.read("#{TOP}/test/README.md"), `#{TOP}/scripts/checks markdown`
  end

  private

  def checks(table, *arguments)
    ScratchRepository.open do |repository|
      repository.write("test/checks.table", table)
      repository.run("checks", *arguments)
    end
  end
end
