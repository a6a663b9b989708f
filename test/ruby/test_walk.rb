# frozen_string_literal: true

# test_walk.rb - the stack may be walked at any allocation (doc/design/stacks.md): lib/walk_fixture.rb makes
# frames, code and environments in every way, with each object and each malloc a sample. And what a walk
# takes from the notes of frames is what is there: lib/notes_fixture.rb asks MRI at each step.

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

  # ---- notes ----

  NOTES = File.join(__dir__, "lib/notes_fixture.rb")

  # Runs the fixture, which ends with the first stack that is not MRI's. Where memory is short not every
  # object is sampled.
  def assert_notes_agree(seed, *settings, args: [], steps: 3000)
    ran = run_ruby("--disable-gems", "-W0", *args, NOTES, seed.to_s, steps.to_s, *settings)
    assert_clean ran
    assert_operator Integer(ran.out), :>, steps / 4
  end

  def test_notes_are_what_is_there
    3.times { |seed| assert_notes_agree(seed) }
  end

  def test_notes_are_what_is_there_where_stacks_are_cut
    assert_notes_agree(10, "depth=12")
    assert_notes_agree(11, "depth=3")
  end

  # Numbers of stacks are given to others.
  def test_notes_are_what_is_there_where_memory_is_short
    2.times { |seed| assert_notes_agree(20 + seed, "memory=1048576") }
    assert_notes_agree(22, "memory=1048576", "depth=20")
  end

  def test_notes_are_what_is_there_while_objects_move
    assert_notes_agree(30, args: ["-e", "GC.auto_compact = true; load ARGV.shift"], steps: 1500) if GC.respond_to?(:auto_compact=)
  end

  def test_notes_are_what_is_there_with_yjit
    omit "built without YJIT" unless RbConfig::CONFIG["YJIT_SUPPORT"] == "yes"
    assert_notes_agree(40, args: ["--yjit", "--yjit-call-threshold=2"])
    assert_notes_agree(41, "depth=20", "memory=1048576", args: ["--yjit", "--yjit-call-threshold=1"])
  end

  # Its compiler, which is Ruby, writes where its caller is.
  def test_notes_are_what_is_there_with_rjit
    omit "RJIT misses a write barrier: a debug build aborts, with the profiler off, too" if RbConfig::CONFIG["cppflags"].include?("HEAPPROF_CHECK")
    omit "built without RJIT" unless RbConfig::CONFIG["RJIT_SUPPORT"] == "yes"
    assert_notes_agree(50, args: ["--rjit", "--rjit-call-threshold=2"], steps: 1000)
  end

  # Deep in a recursion a sample costs what its innermost frames do: this is linear in the frames.
  def test_deep_recursion_is_walked_once
    in_child(<<~'RUBY', env: { "RUBY_THREAD_VM_STACK_SIZE" => (40 << 20).to_s })
      class Item; end
      def recurse(n) = [kept = Item.new, n == 0 ? kept : recurse(n - 1), Item.new][1]
      HeapProfile.start(interval: 1, malloc_interval: 0, depth: 65_535, memory: 256 << 20)
      kept = Thread.new { recurse(60_000) }.value
      assert_equal 60_003, HeapProfile.allocation_stack(kept).size
      assert_operator HeapProfile.stat(:total_samples), :>, 180_000
      assert_equal [0, 0], HeapProfile.stat.values_at(:truncated, :dropped)
    RUBY
  end
end
