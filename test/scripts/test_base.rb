# frozen_string_literal: true

# test_base.rb - which release of MRI all is built on (scripts/base), and that what belongs to another release goes.

require "test/unit"
require_relative "scratch_repository"

class TestScriptsBase < Test::Unit::TestCase
  TOP = File.expand_path("../..", __dir__)
  TOY = ScratchRepository::MRI

  def test_without_a_choice_it_is_the_first_of_pins_before_and_after_configure
    with_releases do |repository|
      2.times do
        assert_equal repository.path("distfiles/mri.tar.gz"), repository.run!("fetch", "mri").chomp
        repository.choose(nil)
      end
      assert_equal %w[1.0 yes], base(repository).values_at("VERSION", "TESTED")
    end
  end

  def test_a_release_of_pins_is_chosen_by_its_version
    with_releases do |repository|
      repository.choose("1.1")
      assert_equal repository.path("distfiles/later.tar.gz"), repository.run!("fetch", "mri").chomp
      assert_equal ["1.1", ""], base(repository, "1.1").values_at("VERSION", "TESTED")
    end
  end

  def test_an_archive_is_known_by_its_checksum_whatever_its_name
    with_releases do |repository|
      FileUtils.mv(repository.path("distfiles/mri.tar.gz"), repository.path("distfiles/downloaded file"))
      repository.choose("distfiles/downloaded file")
      assert_equal repository.path("distfiles/downloaded file"), repository.run!("fetch", "mri").chomp
      assert_equal %w[1.0 yes], base(repository, "distfiles/downloaded file").values_at("VERSION", "TESTED")
    end
  end

  # Its bytes are not those that were tested, even if it says that it is the same version.
  def test_an_archive_of_ones_own_has_the_version_that_its_sources_say_and_is_not_tested
    with_releases do |repository|
      repository.pack("own.tar.gz", sources("mine", "ruby-1.0/other.c" => "mine", "ruby-1.0/version.h" => "#define RUBY_VERSION_TEENY 7\n"))
      assert_equal ["1.0.7", ""], base(repository, "distfiles/own.tar.gz").values_at("VERSION", "TESTED")
      repository.choose("distfiles/own.tar.gz")
      prepare(repository)
      assert_equal "mine", repository.read("build/src/ruby-1.0.7/other.c")
    end
  end

  def test_what_is_neither_a_release_nor_an_archive_is_one_line
    with_releases do |repository|
      repository.write("page", "a page of the network's own")
      { "2.0" => /no release 2\.0 of MRI in pins.*: expected an archive, or 1\.0 1\.1$/,
        "page" => /page is no archive of MRI's sources/,
        "distfiles/upb.tar.gz" => /upb\.tar\.gz is no archive of MRI's sources/,
        "." => /no release \. of MRI in pins/ }.each do |choice, message|
        out, err, ok = repository.run("base", choice)
        assert_equal ["", 1, false], [out, err.lines.size, ok], err
        assert_match(/\Abase: .*#{message}/, err)
      end
    end
  end

  def test_an_archive_that_has_changed_since_configure_is_one_line
    with_releases do |repository|
      repository.pack("own.tar.gz", sources("mine"))
      repository.choose("distfiles/own.tar.gz")
      repository.pack("own.tar.gz", sources("mine", "ruby-1.0/other.c" => "changed"))
      _, err, ok = repository.run("fetch", "mri")
      refute ok
      assert_match(/\Afetch: archive mri: .*own\.tar\.gz is not there, or has changed: run .*\n\z/, err)
    end
  end

  def test_another_base_takes_the_place_of_the_sources
    with_releases do |repository|
      prepare(repository)
      repository.choose("1.1")
      prepare(repository)
      assert_equal %w[build/src/ruby-1.1], Dir.glob("build/src/ruby-*", base: repository.top)
      assert_equal "later", repository.read("build/src/ruby-1.1/other.c")
      assert_empty prepare(repository)
    end
  end

  # They are younger than the sources of any release, so make would keep them.
  def test_another_base_removes_objects_and_the_same_keeps_them
    with_releases do |repository|
      repository.write("build/src/toy/configure", "#!/bin/sh\n")
      File.chmod(0o755, repository.path("build/src/toy/configure"))
      made = lambda do |*arguments|
        repository.run!("configure-ruby", "build/ruby", "build/src/toy", *arguments)
        File.exist?(repository.path("build/ruby/array.o")).tap { repository.write("build/ruby/array.o", "") }
      end
      assert_equal [false, true, true], [made.call, made.call, made.call("--other")]
      repository.choose("1.1")
      assert_equal [false, true], [made.call("--other"), made.call("--other")]
    end
  end

  def test_a_gem_that_the_base_has_in_this_version_or_a_later_one_stays
    with_releases do |repository|
      files = { "guest.rb" => "pinned\n" }
      repository.gem("guest", "0.9.0", "0.1.0", files, "mends nothing\n")
      { "0.9.0" => "old\n", "0.10.0" => "old\n", "0.8.0" => "pinned\n" }.each do |version, text|
        name = "gems-#{version}.tar.gz"
        repository.pack(name, sources(name, "ruby-1.0/gems/bundled_gems" => "guest  #{version}  https://example.org/guest\n",
                                            "ruby-1.0/.bundle/gems/guest-#{version}/guest.rb" => "old\n"))
        repository.choose("distfiles/#{name}")
        repository.run!("prepare")
        kept = text == "old\n" ? version : "0.9.0"
        assert_equal text, repository.read("build/src/ruby-1.0.0/.bundle/gems/guest-#{kept}/guest.rb")
        home = "prefix/lib/ruby/gems/1.0.0"
        repository.write("#{home}/gems/guest-#{kept}/guest.rb", "")
        repository.run!("stale-gems", repository.path("prefix"), env: { "HEAPPROF_UPDATED_GEMS" => "no" })
        assert_path_exist repository.path("#{home}/gems/guest-#{kept}/guest.rb")
      end
    end
  end

  MEND = "Subject: b\n\n---\n#{<<~PATCH}"
    diff --git a/other.c b/other.c
    --- a/other.c
    +++ b/other.c
    @@ -5,2 +5,2 @@ first(int a)
    -    a += 7;
    +    a += 3;
         return a;
  PATCH

  def test_a_patch_of_doc_security_that_has_no_place_stops_a_tested_base_and_is_told_of_another
    with_releases do |repository|
      repository.write("doc/security/other.patch", MEND)
      _, err, ok = repository.run("prepare")
      refute ok
      assert_match(/\Aunpack-gems: doc\/security\/other\.patch does not apply to MRI's sources: .*\n\z/, err)
      repository.choose("1.1")
      _, err, ok = repository.run("prepare")
      assert ok, err
      assert_match(/\Aunpack-gems: doc\/security\/other\.patch does not apply to MRI 1\.1: .*\n\z/, err)
      assert_equal err, repository.run("without")[1]
    end
  end

  # A check in doc/design/bases.md is in the file that it names; each check of an assumption about MRI is in that document.
  def test_the_document_of_assumptions_names_each_check_and_its_file
    named = File.read("#{TOP}/doc/design/bases.md").scan(/(?:`\w+`, )*`\w+` in `[\w\/]+\.[ch]`/).flat_map do |text|
      *names, file = text.scan(/`([^`]+)`/).flatten
      names.map { |name| [file, name] }
    end
    checks = Dir.glob("{gc,vm}/**/*.[ch]", base: TOP).flat_map do |file|
      text = File.read("#{TOP}/#{file}")
      (text.scan(/\bSTATIC_ASSERT\((\w+)/) + text.scan(/^#define (DESCRIBE_FIRST)\b/)).map { |name,| [file, name] }
    end
    ours = ["vm/wbcheck/wbcheck.c", "place_is_no_wider_than_a_page"] # nothing of MRI's
    assert_equal((checks - [ours]).sort, named.sort.uniq & checks)
    assert_operator checks.size, :>, 10
    assert_empty named.map(&:last).grep(/_/) - checks.map(&:last)
  end

  private

  # Two releases in pins: the toy, and a later one that is not tested.
  def with_releases
    ScratchRepository.open do |repository|
      sum = repository.pack("later.tar.gz", sources("ruby-1.1", "ruby-1.0/other.c" => "later"))
      later = "archive mri\nversion 1.1\nupstream file:///nowhere/later.tar.gz later.tar.gz #{sum}\n"
      repository.write("pins", repository.read("pins").sub(/(?=^archive upb)/, "#{later}\n"))
      yield repository
    end
  end

  # The toy's sources in a directory of that name, some of them others.
  def sources(directory, others = {})
    TOY.merge(others).transform_keys { |name| name.sub("ruby-1.0", directory) }
  end

  def base(repository, *choice)
    repository.run!("base", *choice).scan(/^MRI_(\w+) = (.*)$/).to_h
  end

  def prepare(repository)
    repository.run!("prepare", env: { "HEAPPROF_UPDATED_GEMS" => "no" })
  end
end
