# frozen_string_literal: true

# test_stop.rb - the life of a run (vm/capi.c): what stop leaves behind, that the next start begins
# with nothing, and that neither gets in the way of allocations that are under way.

require_relative "lib/heapprof_test"

class TestHeapProfStop < Test::Unit::TestCase
  include HeapProfTest

  def test_runs_follow_each_other_with_nothing_left_of_the_last
    in_child(<<~'RUBY')
      10.times do
        HeapProfile.start(interval: 1)
        assert_operator HeapProfile.stat(:live_samples), :<, 100
        kept = Array.new(300) { Class.new.new } << eval("proc {}") << [1].each_slice(1) {}
        GC.start
        assert_operator HeapProfile.stat(:live_samples), :>=, kept.size
        HeapProfile.snapshot
        HeapProfile.stop
      end
    RUBY
  end

  def test_finalizers_stop_and_start_in_a_snapshots_gc
    in_child(<<~'RUBY')
      restart = proc { HeapProfile.stop; HeapProfile.start(interval: 1) }
      HeapProfile.start(interval: 1)
      20.times { ObjectSpace.define_finalizer(Object.new, restart) }
      assert_kind_of HeapProfile, HeapProfile.snapshot(gc: true)
      assert HeapProfile.running?
    RUBY
  end

  def test_ractors_allocate_while_another_starts_and_stops
    in_child(<<~'RUBY')
      Warning[:experimental] = false
      ractors = Array.new(3) do
        Ractor.new { kept = []; 60_000.times { |i| kept[i % 500] = +"r#{i}" }; kept.size }
      end
      60.times do
        HeapProfile.start(interval: 200)
        100.times { Object.new }
        HeapProfile.stop
      end
      assert_equal [500] * 3, ractors.map(&:take)
      GC.start
    RUBY
  end

  def test_names_of_dead_classes_are_not_read_again
    in_child(<<~'RUBY')
      HeapProfile.start(interval: 1)
      10.times do |round|
        500.times { |i| Class.new { set_temporary_name("temporary_#{round}_#{i}") }.new }
        GC.start(immediate_sweep: false)
        10.times { |i| 400.times { |n| (+"GARBAGE#{i}") * (n % 10 + 1) }; HeapProfile.snapshot }
      end
      names = HeapProfile.snapshot.map(&:class_name).uniq
      assert_empty names.grep(/GARBAGE/)
      assert_include names, "temporary_0_0"
    RUBY
  end

  def test_a_profile_whose_snapshot_failed_says_so
    in_child(<<~'RUBY')
      assert_raise(RuntimeError) { HeapProfile.snapshot }
      ObjectSpace.each_object(HeapProfile) do |profile|
        assert_raise_with_message(ArgumentError, /uninitialized/) { profile.to_a }
        assert_raise_with_message(ArgumentError, /uninitialized/) { profile.write(IO::NULL) }
      end
    RUBY
  end

  def test_depth_asks_for_no_more_memory_than_stacks_need
    in_child(<<~'RUBY')
      HeapProfile.start(interval: 1, depth: 65_535, memory: 1 << 20)
      kept = Array.new(100) { Object.new }
      assert_operator HeapProfile.stat(:live_samples), :>=, kept.size
      assert_equal 0, HeapProfile.stat(:dropped)
    RUBY
  end

  def test_write_goes_through_an_open_file_and_through_a_link
    in_child(<<~'RUBY')
      require "tempfile"
      profile = HeapProfile.profile(interval: 1) { $kept = Object.new }
      Tempfile.create do |file|
        file.binmode
        size = profile.write(file)
        file.rewind
        assert_equal size, file.read.bytesize
      end
      Dir.mktmpdir do |directory|
        File.write("#{directory}/target", "")
        File.symlink("target", "#{directory}/link")
        size = profile.write("#{directory}/link")
        assert File.symlink?("#{directory}/link")
        assert_equal size, File.size("#{directory}/target")
      end
    RUBY
  end
end
