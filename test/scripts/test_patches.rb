# frozen_string_literal: true

require "test/unit"
require_relative "scratch_repository"

class TestScriptsPatches < Test::Unit::TestCase
  MESSAGE = <<~TEXT
    toy.c: tell us about the first

    Because a test wants to know.

    Hook: toy.c:first
    Handler: gc/first.c
    Test: test/test_toy.rb
    Forwarded: no
  TEXT
  SECOND = MESSAGE.gsub("first", "second").sub("gc/", "vm/")
  PATCH = "gc/patches/0001-first.patch"

  def test_commits_export_under_the_names_of_their_handlers
    with_queue do |repository|
      repository.hook("toy.c", /b \+= 1/, "    told(b);\n", SECOND)
      assert_equal "#{PATCH}\nvm/patches/0002-second.patch\n", repository.run!("patches", "export")
    end
  end

  def test_exported_queue_passes_the_check
    with_queue do |repository|
      out, err, ok = repository.run("patches", "check")
      assert ok, err
      assert_match(/\A1 patches: /, out)
    end
  end

  def test_import_and_export_give_the_same_bytes
    with_queue do |repository|
      exported = repository.read(PATCH)
      repository.run!("patches", "edit")
      repository.run!("patches", "export")
      assert_equal exported, repository.read(PATCH)
    end
  end

  def test_dropped_commit_leaves_no_patch
    with_queue do |repository|
      repository.edit_git("reset", "-q", "--hard", "base")
      repository.run!("patches", "export")
      refute_path_exist repository.path(PATCH)
    end
  end

  def test_edit_refuses_to_lose_work_that_is_not_exported
    with_queue do |repository|
      repository.hook("toy.c", /b \+= 1/, "    told(b);\n", SECOND)
      _, err, ok = repository.run("patches", "edit")
      refute ok
      assert_match(/\Apatches: build\/patch-edit has work that is not exported: .*\n\z/, err)
    end
  end

  def test_export_without_a_handler_changes_nothing
    with_queue do |repository|
      exported = repository.read(PATCH)
      repository.hook("toy.c", /b \+= 1/, "    told(b);\n", "toy.c: a hook of nobody's\n")
      _, err, ok = repository.run("patches", "export")
      refute ok
      assert_match(/no trailer 'Handler: /, err)
      assert_equal [PATCH], Dir.glob("{gc,vm}/patches/*", base: repository.top)
      assert_equal exported, repository.read(PATCH)
    end
  end

  def test_check_finds_an_edit_by_hand
    check_fails(/exports differently/) { |patch| patch.sub("    told(a);", "    told(a, 1);") }
  end

  def test_check_finds_an_offset
    check_fails(/exports differently/) do |patch|
      patch.sub(/@@ -(\d+),(\d+) \+(\d+),/) { "@@ -#{$1.to_i + 1},#{$2} +#{$3.to_i + 1}," }
    end
  end

  def test_check_refuses_another_base
    check_fails(/does not apply to ruby-1\.0/) { |patch| patch.sub("     a += 2;", "     a += 3;") }
  end

  def test_check_finds_a_hook_that_names_another_function
    rewritten_check_fails(/Hook: toy\.c:second: no hunk shows that name/) do |message|
      message.sub("toy.c:first", "toy.c:second")
    end
  end

  def test_check_finds_a_missing_trailer
    rewritten_check_fails(/no Forwarded trailer/) { |message| message.sub(/^Forwarded.*\n/, "") }
  end

  def test_check_finds_a_handler_that_is_not_there
    rewritten_check_fails(/Handler: gc\/nobody\.c: no such file/) do |message|
      message.sub("gc/first.c", "gc/nobody.c")
    end
  end

  def test_check_refuses_a_removed_line
    with_queue do |repository|
      rewrite_toy(repository) { |toy| toy.sub("    a += 2;\n", "") }
      assert_check_fails repository, /removes 1 lines/
    end
  end

  def test_check_refuses_more_than_a_hook
    with_queue do |repository|
      rewrite_toy(repository) { |toy| toy.sub("    told(a);\n", "    told(a);\n" * 4) }
      assert_check_fails repository, /adds 4 lines: at most 3 in a hunk/
    end
  end

  def test_series_has_the_usual_context
    with_queue do |repository|
      repository.run!("patches", "series")
      series = Dir.glob(repository.path("build/upstream-series/*.patch"))
      assert_equal 1, series.size
      hunk = File.read(series.first)[/^@@.*/m]
      assert_equal 6, hunk.lines.count { |line| line.start_with?(" ") }
    end
  end

  private

  def with_queue
    ScratchRepository.open do |repository|
      repository.run!("patches", "edit")
      repository.hook("toy.c", /a \+= 1/, "    told(a);\n", MESSAGE)
      repository.run!("patches", "export")
      yield repository
    end
  end

  def amend(repository, message)
    repository.edit_git("commit", "-q", "-a", "--amend", "-m", message)
    repository.run!("patches", "export")
  end

  def rewrite_toy(repository)
    toy = "build/patch-edit/toy.c"
    repository.write(toy, yield(repository.read(toy)))
    amend(repository, MESSAGE)
  end

  def check_fails(pattern)
    with_queue do |repository|
      changed = yield repository.read(PATCH)
      refute_equal repository.read(PATCH), changed
      repository.write(PATCH, changed)
      assert_check_fails repository, pattern
    end
  end

  def rewritten_check_fails(pattern)
    with_queue do |repository|
      amend(repository, yield(MESSAGE))
      assert_check_fails repository, pattern
    end
  end

  def assert_check_fails(repository, pattern)
    _, err, ok = repository.run("patches", "check")
    refute ok
    assert_match pattern, err
  end
end
