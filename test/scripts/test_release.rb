# frozen_string_literal: true

# test_release.rb - scripts/release: what is missing for a release is named, item by item.

require "test/unit"
require_relative "scratch_repository"

class TestScriptsRelease < Test::Unit::TestCase
  CHANGES = "# Changes\n\n## 1.2.3 - 2026-11-20\n\nAll is new.\n"
  TABLE = <<~MARKDOWN
    Looked up on 2026-11-19.

    | advisory | component | has | mended in | here | known from |
    |---|---|---|---|---|---|
    | CVE-1 | whole | 0.1.0 | 0.2.0 | shipped fixed: 0.2.0 | a list |
    | CVE-2 | core | 1.0 | 1.1 | patched: `security/it.patch` | a list |
    | CVE-3 | core | 1.0 | 1.1 | open: nothing can be done before the next release | a list |
  MARKDOWN

  def test_with_everything_there_each_item_is_ok
    with_release do |repository|
      out, err, ok = repository.run("release", "good")
      assert ok, out + err
      assert_equal %w[tree version changelog pins patches advisories looked-up good], out.scan(/^ok +(\S+)/).flatten
      assert_equal "ruby-heapprof 1.2.3 may be released: git tag v1.2.3\n", out.lines.last
    end
  end

  def test_what_is_not_committed_is_named
    assert_missing("tree", /commit or remove first: gc\/first\.c$/, commit: false) { |repository| repository.write("gc/first.c", "edited") }
  end

  def test_another_version_somewhere_is_named
    assert_missing("version", %r{doc/install\.md says 1\.2\.2; base/version\.h says 1\.2\.3$}) do |repository|
      repository.write("doc/install.md", "ruby-1.0-heapprof-1.2.2.tar.gz\n")
    end
    assert_missing("version", %r{README\.md says 1\.2\.2; base/version\.h says 1\.2\.3$}) do |repository|
      repository.write("README.md", "Version 1.2.2, under\n")
    end
    assert_missing("version", /base\/version\.h: '1\.2' is no MAJOR\.MINOR\.PATCH$/) do |repository|
      repository.write("base/version.h", %(#define HEAPPROF_VERSION "1.2"\n))
      repository.write("doc/install.md", "ruby-1.0-heapprof-1.2.tar.gz\n")
      repository.write("README.md", "Version 1.2, under\n")
      repository.write("CHANGELOG.md", CHANGES.sub("1.2.3", "1.2"))
    end
    assert_missing("version", /build\/bin\/heapprof says 'ruby-heapprof 1\.0\.0, for ruby 1\.0'; base\/version\.h says 1\.2\.3: make heapprof$/) do |repository|
      repository.write("build/bin/heapprof", "#!/bin/sh\necho ruby-heapprof 1.0.0, for ruby 1.0\n")
      File.chmod(0o755, repository.path("build/bin/heapprof"))
    end
  end

  def test_a_changelog_without_this_version_or_its_date_is_named
    { "## 1.2.2 - 2026-11-20" => /CHANGELOG\.md has no entry '## 1\.2\.3 - DATE'$/,
      "## 1.2.3 - unreleased" => /CHANGELOG\.md: 1\.2\.3 has no date: .*unreleased'; expected '## 1\.2\.3 - YYYY-MM-DD'$/,
      "## 1.2.30 - 2026-11-20" => /has no entry/ }.each do |line, message|
      assert_missing("changelog", message) { |repository| repository.write("CHANGELOG.md", "#{line}\n") }
    end
  end

  def test_a_pin_that_is_not_what_is_there_is_named
    assert_missing("pins", /gem whole: .*wrong sha256/) { |repository| File.write(repository.path("distfiles/whole-0.2.0.gem"), "another") }
  end

  def test_a_patch_that_breaks_the_rules_is_named
    assert_missing("patches", /does not apply/) { |repository| repository.write("gc/patches/0001-first.patch", "Subject: nothing\n") }
  end

  def test_a_row_without_a_reason_and_a_pin_or_patch_without_a_row_are_named
    { ["open: nothing can be done before the next release", "open"] => /CVE-3 has no state with a reason: 'open'/,
      ["open: nothing can be done before the next release", "open:"] => /CVE-3 has no state with a reason/,
      ["shipped fixed: 0.2.0", "shipped fixed: 0.1.9"] => /CVE-1 is not 'shipped fixed: 0\.2\.0', which is what pins has of whole$/,
      ["CVE-1", "CVE-9"] => /CVE-1 is not 'shipped fixed: 0\.2\.0'/,
      ["security/it.patch", "security/other.patch"] => /no row names security\/it\.patch$/ }.each do |(from, to), message|
      assert_missing("advisories", message) { |repository| repository.write("doc/security.md", TABLE.sub(from, to)) }
    end
  end

  def test_a_table_that_was_looked_up_long_ago_is_named
    assert_missing("looked-up", /looked up on 2026-10-01, more than 30 days before 2026-11-20: make advisories/) do |repository|
      repository.write("doc/security.md", TABLE.sub("2026-11-19", "2026-10-01"))
    end
  end

  def test_a_check_that_has_not_passed_or_on_other_sources_is_named
    with_release do |repository|
      out, = repository.run("release", "good", "other check")
      assert_match(/^missing +other check +has not passed here: make check-full$/, out)
    end
    assert_missing("good", /has passed at \h{7,}, not on these sources: make check-full$/) { |repository| repository.write("gc/first.c", "edited") }
  end

  private

  # What is not as it has to be, after a change that is committed, is that item alone; a check's sources are others, then.
  def assert_missing(item, message, commit: true)
    with_release do |repository|
      yield repository
      git(repository, "add", "-A") if commit
      git(repository, "commit", "-qm", "a change") if commit && !git_clean?(repository)
      out, _, ok = repository.run("release", "good")
      refute ok
      lines = out.scan(/^missing +(\S+) +(.*)$/).reject { |name,| name == "good" && item != "good" }
      assert_equal [item], lines.map(&:first), out
      assert_match message, lines.first.last
      assert_match(/^ruby-heapprof \S+: [12] missing$/, out.lines.last)
    end
  end

  def with_release
    ScratchRepository.open do |repository|
      repository.gem("whole", "0.2.0", "0.1.0", { "lib/whole.rb" => "new\n" }, "mends CVE-1\ninto lib lib\n")
      { "base/version.h" => %(#define HEAPPROF_VERSION "1.2.3"\n), "CHANGELOG.md" => CHANGES, "doc/security.md" => TABLE,
        "doc/install.md" => "ruby-1.0-heapprof-1.2.3.tar.gz\n", "doc/security/it.patch" => "", ".gitignore" => "/build/\n/distfiles/\n/cache/\n",
        "README.md" => "Version 1.2.3, under\n", "Makefile" => "good:\n\t@true\n" }.each { |file, text| repository.write(file, text) }
      git(repository, "init", "-q", "-b", "main")
      git(repository, "config", "user.name", "nobody")
      git(repository, "config", "user.email", "nobody@localhost")
      git(repository, "add", "-A")
      git(repository, "commit", "-qm", "all")
      repository.run!("run-checks", "toy", "good")
      yield repository
    end
  end

  def git(repository, *arguments) = system("git", "-C", repository.top, *arguments, exception: true)
  def git_clean?(repository) = IO.popen(["git", "-C", repository.top, "status", "--porcelain"], &:read).empty?
end
