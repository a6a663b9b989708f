# frozen_string_literal: true
#
# test_checks.rb - test/checks.table: whoever runs, lists or documents a check has it from there.

require "test/unit"
require_relative "scratch_repository"

class TestScriptsChecks < Test::Unit::TestCase
  TOP = File.expand_path("../..", __dir__)

  def test_each_list_has_its_rows_in_order
    table = "# c\n\none | check full | 1 | a | b | c\ntwo X=1 | full | - | a | b | c\nthree | check | 2.5 | a | b | c\n"
    assert_equal ["one\nthree\n", "", true], checks(table, "list", "check")
    assert_equal ["one\ntwo X=1\n", "", true], checks(table, "list", "check-full")
  end

  def test_a_row_that_lacks_a_cell_or_has_no_list_is_named
    ["one | check | 1 | a | b\n", "one | sometimes | 1 | a | b | c\n"].each do |row|
      _, err, ok = checks("two | full | 1 | a | b | c\n#{row}", "list", "check")
      refute ok
      assert_equal "checks: test/checks.table:2: expected name | check, full or both | minutes | subject | proves | sources\n", err
    end
  end

  def test_each_row_is_a_target_of_make
    rules = %w[Makefile.in test/checks.mk bench/bench.mk proposal/proposal.mk].map { File.read("#{TOP}/#{_1}") }.join
    targets = rules.scan(/^([a-z][a-z0-9 -]*):/).flatten.flat_map(&:split)
    names = %w[check check-full].flat_map { |list| `#{TOP}/scripts/checks list #{list}`.lines.map { |line| line.split.first } }
    assert_operator names.size, :>, 50
    assert_empty names.uniq - targets
  end

  def test_sources_are_paths_that_are_there
    names = %w[check check-full].flat_map { |list| `#{TOP}/scripts/checks list #{list}`.lines(chomp: true) }
    paths = names.flat_map { |name| IO.popen(["#{TOP}/scripts/checks", "sources", name], &:read).split }.uniq
    assert_operator paths.size, :>, 40
    assert_empty paths.reject { |path| File.exist?("#{TOP}/#{path}") }
  end

  def test_a_group_stands_for_its_paths_and_a_check_without_a_row_for_all
    table = "@c = base os\n\none X=1 | full | 1 | a | b | @c test/a\n"
    assert_equal [%w[base os test/a], ["."]], ["one X=1", "one"].map { |name| checks(table, "sources", name).first.split }
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
