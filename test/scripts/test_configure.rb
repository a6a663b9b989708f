# frozen_string_literal: true

require "test/unit"
require_relative "scratch_repository"

class TestScriptsConfigure < Test::Unit::TestCase
  CONFIGURE = File.expand_path("../../configure", __dir__)
  PACKAGES = {
    "protoc" => "protobuf-compiler", "objcopy" => "binutils", "git" => "git", "xz" => "xz-utils"
  }

  PACKAGES.each do |tool, package|
    define_method("test_without_#{tool}_one_line_names_the_package") do
      assert_configure_fails(/#{tool} not found: install the Debian package #{package}/,
                             without: [tool])
    end
  end

  def test_ruby_too_old_to_build_with_is_one_line
    assert_configure_fails(/.* is older than 3\.0 or has no ripper: .* package ruby/,
                           "BASERUBY=#{`which false`.chomp}")
  end

  def test_distfiles_that_is_no_directory_is_one_line
    assert_configure_fails(/--with-distfiles=nowhere is not a directory: .*/,
                           "--with-distfiles=nowhere")
  end

  def test_mri_that_is_no_release_and_no_archive_is_one_line
    assert_configure_fails(/--with-mri: no release nowhere of MRI in pins, and no such file: expected an archive, or 1\.0/,
                           "--with-mri=nowhere")
  end

  private

  # The ruby to build with; the first in PATH may be the one that runs these tests.
  BASERUBY = "BASERUBY=#{ENV.fetch('BASERUBY', 'ruby').split.first}"

  # Nothing but PATH: what make exports would answer for a tool that is not there.
  def assert_configure_fails(message, *arguments, without: [])
    ScratchRepository.open do |repository|
      env = { "PATH" => repository.path_without(*without) }
      configure = repository.path("configure")
      FileUtils.cp(CONFIGURE, configure)
      _, err, status = Open3.capture3(env, configure, BASERUBY, *arguments,
                                      chdir: repository.top, unsetenv_others: true)
      refute_predicate status, :success?
      assert_match(/\Aconfigure: error: #{message}\n\z/, err)
      refute_path_exist repository.path("Makefile")
    end
  end
end
