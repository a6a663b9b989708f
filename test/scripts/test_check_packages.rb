# frozen_string_literal: true
#
# test_check_packages.rb - that scripts/packages cannot lose a row, or keep one too many, unseen.

require "test/unit"
require "open3"
require "tempfile"

class TestScriptsCheckPackages < Test::Unit::TestCase
  TOP = File.expand_path("../..", __dir__)
  LIST = File.read("#{TOP}/scripts/packages")
  BASERUBY = ENV.fetch("BASERUBY", "ruby").split.first

  def setup
    omit "compares with dpkg's packages" unless system("command -v dpkg-query >/dev/null")
  end

  def test_list_is_what_the_sources_use
    out, err, status = check(LIST)
    assert_empty err
    assert_predicate status, :success?
    assert_match(/\Acheck-packages: \d+ uses in \d+ steps, \d+ of them found here\n\z/, out)
  end

  # A compiler, a header, a program of tests, a library that tests preload, what a message tells to install.
  { "g++" => /uses the program g\+\+/, "libgtest-dev" => %r{uses the header gtest/gtest\.h},
    "zsh" => /uses the program zsh/, "libjemalloc2" => /uses the library libjemalloc\.so\.2/,
    "npm" => /uses the package npm/, "ruby-rspec" => /uses the file .*rspec/ }.each do |package, use|
    define_method("test_without_#{package.tr('^a-z0-9', '_')}_it_fails_and_names_it") do
      _, err, status = check(LIST.sub(/^#{Regexp.escape(package)} .*\n/, ""))
      refute_predicate status, :success?
      assert_match(use, err)
      assert_match(/scripts\/packages does not list #{Regexp.escape(package)}(-core)? for it$/, err)
    end
  end

  def test_step_that_a_package_is_not_listed_for_is_named
    _, err, status = check(LIST.sub(/^(clang +)check,fuzz/, "\\1check"))
    refute_predicate status, :success?
    assert_match(/\Acheck-packages: fuzz uses the program clang .*: scripts\/packages does not list clang for it$/, err)
  end

  def test_package_that_nothing_uses_is_named
    _, err, status = check("#{LIST}fortunes  check  fortune  says something\n")
    refute_predicate status, :success?
    assert_equal "check-packages: scripts/packages lists fortunes for check, and nothing of ours uses it there\n", err
  end

  private

  def check(list)
    Tempfile.create("packages") do |file|
      file.write(list)
      file.close
      Open3.capture3({ "RUBYOPT" => nil, "RUBYLIB" => nil }, BASERUBY, "#{TOP}/scripts/check-packages", file.path)
    end
  end
end
