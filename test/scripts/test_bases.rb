# frozen_string_literal: true

# test_bases.rb - our patches on releases of MRI that are not tested, made of the tested one's sources: what does not apply
# exactly is told in one line. Only the patches are applied; nothing is built.

require "test/unit"
require_relative "scratch_repository"

class TestScriptsBases < Test::Unit::TestCase
  TOP = File.expand_path("../..", __dir__)
  SOURCES = Dir["#{TOP}/build/src/ruby-[0-9]*"].fetch(0)
  RELEASED = "#{SOURCES}/heapprof/.released"
  PATCHED = File.readlines("#{SOURCES}/heapprof/.patched", chomp: true)
  COLLECTOR = "gc/default/default.c"
  TREE = "build/src/ruby-3.4.99"

  def test_on_a_later_patch_level_with_the_same_lines_nothing_is_told_and_the_result_is_the_same
    on_base do |repository, out, err|
      assert_equal ["", PATCHED.map { |file| "patched #{file}\n" }.join], [err, out]
      PATCHED.each { |file| assert_equal File.binread("#{SOURCES}/#{file}"), File.binread(repository.path("#{TREE}/#{file}")), file }
    end
  end

  def test_lines_that_have_moved_are_told_and_the_hooks_are_in_the_same_functions
    shift = "/* a\n * longer\n * beginning */\n"
    on_base(->(file, text) { file == COLLECTOR ? shift + text : text }) do |repository, out, err|
      assert_empty err
      told = out.lines.grep_v(/\Apatched /)
      assert_equal(patches_of(COLLECTOR).map { |patch| "#{patch}: lines have moved: #{COLLECTOR}: #{places(patch)}\n" }, told)
      assert_equal shift + File.binread("#{SOURCES}/#{COLLECTOR}"), File.binread(repository.path("#{TREE}/#{COLLECTOR}"))
    end
  end

  def test_a_context_line_that_has_changed_stops_it_with_the_patch_and_the_place
    refused(/bool unlock_vm = false;/, "bool unlock_it = false;",
            /\Aprepare: MRI 3\.4\.99: gc\/patches\/0003-newobj\.patch does not apply: gc\/default\/default\.c, line \d+, in "newobj_cache_miss\(.*": its lines are not there\n\z/)
  end

  # The lines around the hook are there, in a function of another name: nobody knows whether it is called as the other was.
  def test_a_function_that_is_gone_stops_it_although_its_lines_are_elsewhere
    refused(/^ractor_cache_set_page\(/, "ractor_cache_take_page(",
            /\Aprepare: MRI 3\.4\.99: gc\/patches\/0003-newobj\.patch does not apply: gc\/default\/default\.c, line \d+, in "ractor_cache_set_page\(.*": its lines are not there\n\z/)
  end

  def test_lines_that_are_there_twice_elsewhere_stop_it
    block = "    bool unlock_vm = false;\n\n"
    refused(/^#{block}/, "    bool before;\n#{block}    ;\n#{block}",
            /in "newobj_cache_miss\(.*": its lines are there 2 times\n\z/)
  end

  def test_a_file_that_is_gone_is_one_line
    _, err, ok = on_base(->(file, text) { text unless file == "proc.c" })
    refute ok
    assert_equal "prepare: the patch queue touches proc.c, which MRI does not have\n", err
  end

  private

  # A base of the patched files as released, as a block changes them (nil: gone), prepared with our patches.
  def on_base(change = ->(_, text) { text })
    ScratchRepository.open do |repository|
      %w[gc vm].each do |room|
        FileUtils.rm_rf(repository.path("#{room}/patches"))
        FileUtils.cp_r("#{TOP}/#{room}/patches", repository.path(room))
      end
      files = PATCHED.to_h { |file| [file, File.binread("#{RELEASED}/#{file}")] }
      %w[version.h include/ruby/version.h lib/English.rb].each { |file| files[file] = File.binread("#{SOURCES}/#{file}") }
      files["version.h"].sub!(/TEENY \d+/, "TEENY 99") or flunk
      repository.pack("later.tar.gz", files.filter_map { |file, text| (text = change.call(file, text)) && ["ruby-later/#{file}", text] }.to_h)
      repository.choose("distfiles/later.tar.gz")
      result = repository.run("prepare", env: { "HEAPPROF_UPDATED_GEMS" => "no" })
      yield repository, *result if block_given?
      result
    end
  end

  def refused(pattern, text, message)
    _, err, ok = on_base(->(file, old) { file == COLLECTOR ? old.sub(pattern, text).tap { |new| refute_equal old, new } : old })
    refute ok
    assert_equal 1, err.lines.size, err
    assert_match message, err
  end

  def patches_of(file)
    Dir["#{TOP}/{gc,vm}/patches/*.patch"].select { |patch| File.read(patch).include?("\n+++ b/#{file}\n") }
                                         .sort_by { |patch| File.basename(patch) }.map { |patch| patch.delete_prefix("#{TOP}/") }
  end

  # Of the hunks in the collector.
  def places(patch)
    hunks = File.read("#{TOP}/#{patch}")[%r{^\+\+\+ b/#{Regexp.escape(COLLECTOR)}\n.*?(?=^diff --git|\z)}m]
    hunks.scan(/^@@ -(\d+)/).map { |line,| "#{line} by 3" }.join(", ")
  end
end
