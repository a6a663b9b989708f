# frozen_string_literal: true

# test_walk.rb - the stack may be walked at any allocation (vm/README.md): lib/walk_fixture.rb makes
# frames, code and environments in every way, with each object and each malloc a sample.

require_relative "lib/heapprof_test"

class TestHeapProfWalk < Test::Unit::TestCase
  include HeapProfTest

  FIXTURE = File.join(__dir__, "lib/walk_fixture.rb")
  ALL = %w[binaries hooked required compiled environments fibers threads]
  EVERYTHING = "interval=1,malloc_interval=1,memory=256m,rss=0"
  MALLOC = RUBY_PLATFORM.match?(/linux/) ? "all" : "ruby"

  # Yields the rows of the profile.
  def walk(*what, args: [], malloc: MALLOC)
    in_directory do |directory|
      ran = run_ruby("--disable-gems", *args, FIXTURE, directory, *what,
                     heapprof: "#{EVERYTHING},malloc=#{malloc},out=#{directory}/p.pb.gz")
      assert_clean ran, out: "#{what.size}\n"
      yield read_profile("p.pb.gz").samples if block_given?
    end
  end

  # Samples with these frames, the innermost first, and anything above and below.
  def assert_walked(samples, *labels)
    found = samples.any? { |sample| sample.frames.map(&:label).each_cons(labels.size).include?(labels) }
    assert found, "no sample below #{labels.reverse.join(', ')}"
  end

  def test_at_each_allocation
    walk(*ALL) do |samples|
      load = ["RubyVM::InstructionSequence.load_from_binary", "Walk.load"]
      assert_walked samples, *load, "block in Walk.binaries", "Array#map", "Walk.binaries"
      assert_walked samples, *load, "block in RubyVM::InstructionSequence.hooked", "Kernel.load", "block in Walk.required"
      assert_walked samples, "Kernel#eval", "block in Walk.compiled"
      assert_walked samples, "Kernel#proc", "block (2 levels) in Walk.environments", "Array#map", "block in Walk.environments"
      assert_walked samples, "Enumerator#next", "block in Walk.fibers"
    end
  end

  def test_at_each_allocation_by_the_other_parser
    walk(*ALL, args: ["--parser=parse.y"])
  end

  def test_at_each_allocation_of_mris_own_allocator
    walk(*ALL, malloc: "ruby")
  end

  def test_at_each_allocation_with_yjit
    omit "built without YJIT" unless RbConfig::CONFIG["YJIT_SUPPORT"] == "yes"
    walk(*ALL, *ALL, args: ["--yjit", "--yjit-call-threshold=1"])
  end

  def test_at_each_allocation_amid_collections
    walk("stressed")
  end

  def test_at_each_allocation_of_ractors
    omit "Ractors may crash by themselves" if ENV["RACTORS"] == "0"
    walk("ractors")
  end
end
