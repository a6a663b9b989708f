# frozen_string_literal: true

# test_unpack_gems.rb - newer gems in the place of MRI's (scripts/unpack-gems, prepare, stale-gems), of a toy MRI.

require "test/unit"
require_relative "scratch_repository"

class TestScriptsUnpackGems < Test::Unit::TestCase
  TREE = "build/src/ruby-1.0"

  def test_a_default_gem_takes_the_place_of_mris_files_and_nothing_else
    with_gems do |repository|
      assert_equal ["new\n", "new\n"], [repository.read("#{TREE}/ext/part/part.c"), repository.read("#{TREE}/lib/whole.rb")]
      assert_equal ScratchRepository::TOY, repository.read("#{TREE}/other.c")
    end
  end

  def test_a_bundled_gem_is_there_in_the_new_version_alone
    with_gems do |repository|
      assert_equal ["guest-0.1.1"], Dir.children(repository.path("#{TREE}/.bundle/gems"))
      assert_equal ["guest-0.1.1.gemspec"], Dir.children(repository.path("#{TREE}/.bundle/specifications"))
      assert_match(/^guest +0\.1\.1 +https/, repository.read("#{TREE}/gems/bundled_gems"))
    end
  end

  def test_without_updated_gems_the_tree_is_mris_own_and_what_changes_is_young
    with_gems do |repository|
      repository.run!("prepare", env: { "HEAPPROF_UPDATED_GEMS" => "no" })
      assert_equal "old\n", repository.read("#{TREE}/lib/whole.rb")
      assert_equal ["guest-0.1.0"], Dir.children(repository.path("#{TREE}/.bundle/gems"))
      ages = %w[lib/whole.rb other.c].map { |file| File.mtime(repository.path("#{TREE}/#{file}")) == ScratchRepository::LONG_AGO }
      assert_equal [false, true], ages, "make builds again what is younger than its object"
      repository.run!("prepare")
      assert_equal "new\n", repository.read("#{TREE}/lib/whole.rb")
    end
  end

  def test_the_tree_for_comparisons_has_mris_own_gems_whatever_the_product_has
    with_gems do |repository|
      repository.run!("prepare", "released")
      assert_equal "old\n", repository.read("build/src/released/lib/whole.rb")
      assert_equal "new\n", repository.read("#{TREE}/lib/whole.rb")
    end
  end

  def test_nothing_is_written_when_nothing_changed
    with_gems do |repository|
      files = Dir.glob("#{TREE}/**/*", File::FNM_DOTMATCH, base: repository.top)
      before = files.to_h { |file| [file, File.lstat(repository.path(file)).mtime] }
      assert_empty repository.run!("prepare")
      assert_equal(before, files.to_h { |file| [file, File.lstat(repository.path(file)).mtime] })
    end
  end

  def test_a_gem_with_a_wrong_sha256_is_one_line_and_nothing_is_built_of_it
    in_repository do |repository|
      File.write(repository.path("distfiles/whole-0.2.0.gem"), "not a gem")
      _, err, ok = repository.run("prepare")
      refute ok
      assert_match(/\Afetch: gem whole: .*whole-0\.2\.0\.gem has a wrong sha256 .*--with-distfiles=DIR/, err)
      refute_path_exist repository.path(TREE)
    end
  end

  def test_a_gem_that_cannot_be_fetched_is_one_line_that_says_what_was_tried
    in_repository do |repository|
      File.unlink(repository.path("distfiles/whole-0.2.0.gem"))
      _, err, ok = repository.run("fetch", "whole", env: { "BASERUBY" => "false" })
      refute ok
      assert_equal "fetching whole 0.2.0\n", err.lines.first
      assert_match(/\Afetch: gem whole 0\.2\.0 not found; tried .*distfiles.*cache.*RubyGems.*ca-certificates.*--with-distfiles=DIR.*--without-updated-gems.*\n\z/,
                   err.lines.drop(1).join)
    end
  end

  def test_a_patch_of_doc_security_changes_mris_file
    in_repository do |repository|
      repository.write("doc/security/other.patch", "Subject: b\n\n---\n#{<<~PATCH}")
        diff --git a/other.c b/other.c
        --- a/other.c
        +++ b/other.c
        @@ -5,2 +5,2 @@ first(int a)
        -    a += 2;
        +    a += 3;
             return a;
      PATCH
      repository.run!("prepare")
      assert_includes repository.read("#{TREE}/other.c"), "a += 3"
      repository.run!("prepare", env: { "HEAPPROF_UPDATED_GEMS" => "no" })
      assert_equal ScratchRepository::TOY, repository.read("#{TREE}/other.c")
    end
  end

  def test_what_an_older_installation_left_goes_and_what_a_user_installed_stays
    in_repository do |repository|
      home = "prefix/lib/ruby/gems/3.4.0"
      left = %w[specifications/default/whole-0.1.0.gemspec gems/whole-0.1.0/libexec/whole specifications/guest-0.1.0.gemspec
                gems/guest-0.1.0/guest.rb]
      stays = %w[specifications/default/whole-0.2.0.gemspec specifications/whole-0.1.5.gemspec gems/guest-0.1.1/guest.rb cache/part-0.1.0.gem
                 specifications/part-0.1.0.gemspec gems/part-0.1.0/part.rb]
      (left + stays).each { |file| repository.write("#{home}/#{file}", "") }
      repository.run!("stale-gems", repository.path("prefix"))
      files = Dir.glob("**/*", base: repository.path(home)).select { |file| File.file?(repository.path("#{home}/#{file}")) }
      assert_equal stays.sort, files.sort
    end
  end

  private

  def in_repository
    ScratchRepository.open do |repository|
      repository.gem("whole", "0.2.0", "0.1.0", { "lib/whole.rb" => "new\n" }, "mends nothing\ninto lib lib\n")
      repository.gem("part", "0.2.0", "0.1.0", { "ext/part/part.c" => "new\n" }, "mends nothing\ninto ext ext\n")
      repository.gem("guest", "0.1.1", "0.1.0", { "guest.rb" => "new\n" }, "mends nothing\n")
      yield repository
    end
  end

  def with_gems
    in_repository do |repository|
      repository.run!("prepare")
      yield repository
    end
  end
end
