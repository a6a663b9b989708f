# frozen_string_literal: true
#
# test_upstream_profiles.rb - test/upstream/profiles.rb lets no profile pass that is not as it must
# be. The profiles are the built ruby's own.

require "test/unit"
require "zlib"
require_relative "../ruby/lib/heapprof_test"

class TestUpstreamProfiles < Test::Unit::TestCase
  include HeapProfTest

  PROFILES = File.expand_path("../upstream/profiles.rb", __dir__)

  def test_whole_and_exact_profiles_are_looked_at_and_removed
    look(expected: 2) do |directory|
      2.times { |number| profile("#{directory}/#{number}.pb.gz") }
      File.write("#{directory}/.heapprof-abcd1234", "not complete yet")
    end => [out, content, left]
    assert content, out
    assert_match(/\A2 profiles, 0 MiB, 0 not as they must be\n\z/, out)
    assert_equal %w[.heapprof-abcd1234], left
  end

  def test_truncated_profile_is_told_and_stays
    assert_fault(/1\.pb\.gz: damaged: /) do |path|
      profile(path)
      File.truncate(path, File.size(path) - 5)
    end
  end

  def test_profile_that_sampled_less_than_every_object_is_told_and_stays
    ["interval=12", "interval=12,malloc_interval=1", "interval=1,malloc_interval=12", "malloc_interval=1"].each do |settings|
      assert_fault(/1\.pb\.gz: not every object and block was sampled/) { |path| profile(path, settings) }
    end
  end

  def test_another_malloc_interval_may_be_what_it_must_be
    settings = "interval=1,malloc_interval=4096"
    out, content, = look(4096, expected: 1) { |directory| profile("#{directory}/1.pb.gz", settings) }
    assert content, out
    out, content, = look(4096, expected: 1) { |directory| profile("#{directory}/1.pb.gz") }
    refute content
    assert_match(/1\.pb\.gz: not every object and block was sampled/, out)
  end

  def test_profile_that_was_thinned_for_want_of_memory_is_told_and_stays
    assert_fault(/1\.pb\.gz: not every object and block was sampled/) do |path|
      profile(path, "interval=1,memory=1m", script: "KEPT = Array.new(100_000) { Object.new }",
              err: /\A.* fewer samples than were asked for.*\n\z/)
    end
  end

  # By refused memory: those are rare now.
  def test_profile_that_dropped_samples_is_told_and_stays
    assert_fault(/1\.pb\.gz: 7 samples dropped/) do |path|
      profile(path)
      text = Zlib.gunzip(File.binread(path)).sub("dropped samples: 0".b, "dropped samples: 7".b)
      File.binwrite(path, Zlib.gzip(text))
    end
  end

  def test_fewer_profiles_than_expected_are_told
    out, content, = look(expected: 2) { |directory| profile("#{directory}/1.pb.gz") }
    refute content
    assert_match(/^expected 2 profiles or more$/, out)
  end

  private

  def profile(path, settings = "interval=1", script: "", err: /\A\z/)
    ran = run_ruby("--disable=gems", "-e", script, heapprof: "#{settings},out=#{path}")
    assert_match err, ran.err
    assert_predicate ran.status, :success?
  end

  def assert_fault(pattern)
    out, content, left = look(expected: 1) { |directory| yield "#{directory}/1.pb.gz" }
    refute content
    assert_match pattern, out
    assert_match(/^1 profiles, 0 MiB, 1 not as they must be$/, out)
    assert_equal %w[1.pb.gz], left
  end

  # What profiles.rb prints of a directory, whether it is content, and which files it leaves.
  def look(*malloc_interval, expected:)
    in_directory do |directory|
      yield directory
      ran = run_ruby(PROFILES, directory, expected.to_s, *malloc_interval.map(&:to_s))
      assert_empty ran.err
      [ran.out, ran.status.success?, Dir.children(directory)]
    end
  end
end
