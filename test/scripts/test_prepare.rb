# frozen_string_literal: true

require "test/unit"
require_relative "scratch_repository"

class TestScriptsPrepare < Test::Unit::TestCase
  TREE = "build/src/ruby-1.0"
  TRAILERS = "\nHook: toy.c:first\nHandler: gc/first.c\nTest: test/test_toy.rb\nForwarded: no\n"

  def test_tree_has_the_hooks_and_our_directories
    with_tree do |repository|
      assert_include repository.read("#{TREE}/toy.c"), "told(a)"
      repository.write("gc/late.c", "edited")
      assert_equal "edited", repository.read("#{TREE}/heapprof/gc/late.c")
    end
  end

  # MRI's make builds each extension that it finds, and a user needs none of these.
  def test_tree_has_no_tests_and_no_test_extensions
    with_tree do |repository|
      repository.write("test/ext/ours/extconf.rb", "")
      repository.run!("prepare")
      %w[test spec bootstraptest ext/-test-].each { |part| refute_path_exist repository.path("#{TREE}/#{part}") }
      assert_path_exist repository.path("#{TREE}/ext/toy/test/toy.c")
    end
  end

  def test_tests_are_added_on_request_and_stay
    with_tree do |repository|
      repository.write("test/ext/ours/extconf.rb", "")
      %w[exts.mk ext/configure-ext.mk].each { |made| repository.write("build/ruby/#{made}", "") }
      repository.run!("prepare", "--tests")
      %w[exts.mk ext/configure-ext.mk].each { |made| refute_path_exist repository.path("build/ruby/#{made}") }
      before = ages(repository)
      %w[test/test_toy.rb spec/toy_spec.rb bootstraptest/test_toy.rb ext/-test-/toy/extconf.rb
         ext/-test-/heapprof_ours/extconf.rb].each { |file| assert_include before, file }
      assert_empty repository.run!("prepare", "--tests") + repository.run!("prepare")
      assert_equal before, ages(repository)
      %w[exts.mk ext/configure-ext.mk].each { |made| repository.write("build/ruby/#{made}", "") }
      repository.write("test/ext/later/extconf.rb", "")
      repository.run!("prepare")
      %w[exts.mk ext/configure-ext.mk].each { |made| refute_path_exist repository.path("build/ruby/#{made}") }
    end
  end

  def test_an_extension_with_other_files_gets_another_makefile
    with_tree do |repository|
      %w[extconf.rb one.c].each { |file| repository.write("test/ext/ours/#{file}", "") }
      repository.run!("prepare", "--tests")
      made = "build/ruby/ext/-test-/heapprof_ours/Makefile"
      repository.write(made, "")
      repository.run!("prepare")
      assert_path_exist repository.path(made)
      repository.write("test/ext/ours/two.c", "")
      repository.run!("prepare")
      refute_path_exist repository.path(made)
      repository.write(made, "")
      File.delete(repository.path("test/ext/ours/one.c"))
      repository.run!("prepare")
      refute_path_exist repository.path(made)
    end
  end

  def test_nothing_is_written_when_nothing_changed
    with_tree do |repository|
      before = ages(repository)
      assert_empty repository.run!("prepare")
      assert_equal before, ages(repository)
    end
  end

  def test_changed_hook_writes_only_the_file_it_is_in
    with_tree do |repository|
      before = ages(repository)
      trailers = TRAILERS.sub("toy.c:first", "other.c:second")
      repository.hook("other.c", /b \+= 1/, "    told(b);\n", "other.c: another\n#{trailers}")
      repository.run!("patches", "export")
      assert_equal "patched other.c\n", repository.run!("prepare")
      changed = ages(repository).reject { |file, age| before[file] == age }.keys
      assert_equal %w[heapprof/.patched heapprof/.queue heapprof/.released/other.c other.c], changed.sort
    end
  end

  def test_file_that_is_no_longer_patched_goes_back
    with_tree do |repository|
      repository.edit_git("reset", "-q", "--hard", "base")
      repository.run!("patches", "export")
      repository.run!("prepare")
      assert_equal ScratchRepository::TOY, repository.read("#{TREE}/toy.c")
    end
  end

  def test_patch_that_does_not_apply_is_one_line_and_changes_nothing
    with_tree do |repository|
      before = repository.read("#{TREE}/toy.c")
      patch = "gc/patches/0001-first.patch"
      repository.write(patch, repository.read(patch).sub("     a += 2;", "     a += 3;"))
      _, err, ok = repository.run("prepare")
      refute ok
      assert_equal "prepare: MRI 1.0: gc/patches/0001-first.patch does not apply: toy.c, line 4, in \"first(int a)\": its lines are not there\n", err
      assert_equal before, repository.read("#{TREE}/toy.c")
    end
  end

  FIX = <<~PATCH
    Subject: [PATCH] toy: add more

    ---
    diff --git a/toy.c b/toy.c
    --- a/toy.c
    +++ b/toy.c
    @@ -5,2 +5,2 @@ first(int a)
    -    a += 2;
    +    a += 3;
         return a;
    diff --git a/other.c b/other.c
    --- a/other.c
    +++ b/other.c
    @@ -5,2 +5,2 @@ first(int a)
    -    a += 2;
    +    a += 3;
         return a;
  PATCH

  def test_upstream_fixes_are_applied_on_request_and_go_again
    with_tree do |repository|
      before = repository.read("#{TREE}/toy.c")
      repository.write("doc/upstream-bugs/toy.patch", FIX)
      assert_empty repository.run!("prepare")
      out, err, ok = repository.run("prepare", env: { "HEAPPROF_UPSTREAM_FIXES" => "yes" })
      assert_equal ["patched other.c\npatched toy.c\n", "", true], [out, err, ok]
      assert_equal before.sub("a += 2", "a += 3"), repository.read("#{TREE}/toy.c")
      repository.run!("prepare")
      assert_equal [before, ScratchRepository::TOY], [repository.read("#{TREE}/toy.c"), repository.read("#{TREE}/other.c")]
    end
  end

  private

  def with_tree
    ScratchRepository.open do |repository|
      repository.run!("patches", "edit")
      repository.hook("toy.c", /a \+= 1/, "    told(a);\n", "toy.c: tell us\n#{TRAILERS}")
      repository.run!("patches", "export")
      repository.run!("prepare")
      yield repository
    end
  end

  def ages(repository)
    tree = repository.path(TREE)
    Dir.chdir(tree) do
      files = Dir.glob("**/*", File::FNM_DOTMATCH).select { |file| File.file?(file) }
      files.to_h { |file| [file, File.mtime(file)] }
    end
  end
end
