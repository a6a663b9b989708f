# frozen_string_literal: true

# test_version.rb - which build is this? Whatever names the product says the same number, that of base/version.h, and what
# MRI, RubyGems and Bundler go by stays MRI's own.

require_relative "lib/heapprof_test"

class TestHeapProfVersion < Test::Unit::TestCase
  include HeapProfTest

  VERSION = File.read(File.expand_path("../../base/version.h", __dir__))[/^#define HEAPPROF_VERSION "(\d+\.\d+\.\d+)"$/, 1]
  BASE, TESTED = File.read(File.expand_path("../../base/mri.h", __dir__)).match(/_VERSION "(.+)"\n.*_TESTED ([01])$/m).captures
  API = BASE.sub(/\d+\z/, "0") # of all releases of a line
  SAID = TESTED == "1" ? VERSION : "#{VERSION} (untested base)"
  NAMED = / \+heapprof #{Regexp.escape(SAID)} (?:\+YJIT(?: \w+)? )?(?:\+PRISM )?\[#{Regexp.escape(RUBY_PLATFORM)}\]\z/

  def test_ruby_description_names_the_profiler_behind_what_mri_says
    [%w[--disable-gems -v], %w[--disable-gems -e] << "puts RUBY_DESCRIPTION", %w[--parser=parse.y -v]].each do |arguments|
      said = run_ruby(*arguments).out.chomp
      assert_match(/\Aruby #{Regexp.escape(RUBY_VERSION)} \(#{RUBY_RELEASE_DATE}[^)]*\)#{NAMED}/, said)
    end
  end

  def test_ruby_description_has_both_the_profiler_and_the_jit
    omit "no YJIT in this build" unless defined?(RubyVM::YJIT.enable)
    assert_match(/\) \+heapprof #{Regexp.escape(SAID)} \+YJIT/, run_ruby("--disable-gems", "--yjit", "-v").out)
    assert_match(/\) \+heapprof #{Regexp.escape(SAID)} \+YJIT/,
                 run_ruby("--disable-gems", "-e", "RubyVM::YJIT.enable; puts RUBY_DESCRIPTION").out)
  end

  def test_the_constant_is_the_version
    in_child("assert_equal [#{VERSION.dump}, true], [HeapProfile::VERSION, HeapProfile::VERSION.frozen?]")
  end

  # Extensions are built for, and looked for by, what MRI calls its own: those of a stock Ruby 3.4 go on working.
  def test_what_extensions_and_gems_go_by_is_mris_own
    said = run_ruby("-e", <<~'RUBY').out.lines(chomp: true)
      puts RUBY_VERSION, RUBY_ENGINE, RUBY_ENGINE_VERSION, RbConfig::CONFIG["ruby_version"], RbConfig::CONFIG["RUBY_PROGRAM_VERSION"]
      puts Gem.ruby_api_version, Gem.extension_api_version.delete_suffix("-static"), Gem.ruby_version
      puts RUBY_REVISION, RUBY_COPYRIGHT
    RUBY
    *versions, revision, copyright = said
    assert_equal [BASE, "ruby", BASE, API, BASE, API, API, BASE], versions
    assert_match(/\A\h{10,40}\z/, revision)
    refute_match(/heapprof/i, copyright)
  end

  def test_a_profile_says_by_which_version_and_which_ruby_it_was_written
    profile_script("$kept = Array.new(10) { Object.new }") do |out,|
      comments = read_profile(out).comments
      assert_equal ["heapprof: #{VERSION}"], comments.grep(/\Aheapprof: /)
      build, *others = comments.grep(/\Abuild: /)
      assert_match(/\Abuild: ruby #{Regexp.escape(RUBY_VERSION)} .*\+heapprof #{Regexp.escape(VERSION)} /, build)
      assert_empty others
    end
  end
end
