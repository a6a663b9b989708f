# frozen_string_literal: true

require "test/unit"
require_relative "scratch_repository"

class TestScriptsFetch < Test::Unit::TestCase
  def test_archive_in_distfiles_is_used_where_it_lies
    ScratchRepository.open do |repository|
      out, err, ok = repository.run("fetch", "mri")
      assert ok, err
      assert_equal repository.path("distfiles/mri.tar.gz"), out.chomp
      assert_empty Dir.children(repository.path("cache"))
    end
  end

  def test_archive_in_the_cache_is_used_when_distfiles_has_none
    ScratchRepository.open do |repository|
      FileUtils.mkdir_p(repository.path("cache/ruby-heapprof"))
      FileUtils.mv(repository.path("distfiles/mri.tar.gz"), repository.path("cache/ruby-heapprof"))
      out, err, ok = repository.run("fetch", "mri")
      assert ok, err
      assert_equal repository.path("cache/ruby-heapprof/mri.tar.gz"), out.chomp
    end
  end

  # Copies what a file: address names.
  CURL = <<~'SH'
    #!/bin/sh
    for address; do :; done
    while [ "$1" != -o ]; do shift; done
    cp "${address#file://}" "$2"
  SH

  def test_wrong_sha256_is_one_line_that_names_the_archive_and_the_flag
    ScratchRepository.open do |repository|
      repository.write("distfiles/mri.tar.gz", "not an archive")
      out, err, ok = repository.run("fetch", "mri")
      refute ok
      assert_empty out
      assert_one_line err, /archive mri: .*mri\.tar\.gz has a wrong sha256.*--with-distfiles=DIR/
    end
  end

  def test_missing_archive_is_one_line_that_says_what_was_tried
    ScratchRepository.open do |repository|
      File.unlink(repository.path("distfiles/mri.tar.gz"))
      commands = repository.path_without("curl", "wget", "apt-get")
      out, err, ok = repository.run("fetch", "mri", env: { "PATH" => commands })
      refute ok
      assert_empty out
      progress, message = err.lines
      assert_equal "fetching mri 1.0\n", progress
      places = /distfiles.*cache.*mri\.tar\.gz.*Debian source package mri/
      assert_one_line message, /archive mri 1\.0 not found.*#{places}.*--with-distfiles=DIR/
      assert_equal 2, err.lines.size
      assert_no_leftovers repository
    end
  end

  def test_download_with_a_wrong_sha256_is_thrown_away
    ScratchRepository.open do |repository|
      address = "file://#{repository.path('served.tar.gz')}"
      repository.write("served.tar.gz", "a page of the network's own")
      repository.write("pins", repository.read("pins").gsub("file:///nowhere/mri.tar.gz", address))
      File.unlink(repository.path("distfiles/mri.tar.gz"))
      repository.path_without("curl", "wget", "apt-get")
      repository.write("commands/curl", CURL)
      File.chmod(0o755, repository.path("commands/curl"))
      out, err, ok = repository.run("fetch", "mri", env: { "PATH" => repository.path("commands") })
      refute ok
      assert_empty out
      assert_match(/served\.tar\.gz \(wrong sha256\)/, err)
      assert_no_leftovers repository
    end
  end

  private

  def assert_one_line(text, pattern)
    assert_equal 1, text.lines.size, text
    assert_match pattern, text
  end

  # Except the line that bootstrap repeats at its end.
  def assert_no_leftovers(repository)
    files = Dir.glob("{build,cache}/**/*", File::FNM_DOTMATCH, base: repository.top) - ["build/failed"]
    assert_empty(files.select { |file| File.file?(repository.path(file)) })
  end
end
