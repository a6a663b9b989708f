# frozen_string_literal: true

# test_difference.rb - profile - earlier: what grew, what shrank, and nothing else.

require_relative "lib/heapprof_test"

class TestHeapProfDifference < Test::Unit::TestCase
  include HeapProfTest

  SETUP = <<~RUBY
    def few = Array.new(10) { "x" * 5000 }
    def many = Array.new(30) { "x" * 5000 }
    def snapshot = HeapProfile.snapshot(gc: true)
    def values(profile, label)
      [:inuse_objects, :inuse_space, :alloc_objects].map { |value| total(profile, value, label: "Object#\#{label}") }
    end
  RUBY

  def test_what_grew_and_what_shrank
    in_child(SETUP + <<~'RUBY')
      HeapProfile.start(interval: 1)
      $few = few
      before = snapshot
      $few = nil
      $many = many
      after = snapshot
      difference = after - before
      assert_equal HeapProfile, difference.class
      %i[few many].each do |label|
        assert_equal values(after, label).zip(values(before, label)).map { |a, b| a - b }, values(difference, label)
      end
      assert_operator total(difference, :inuse_space, label: "Object#few"), :<, -40_000
      assert_operator total(difference, :inuse_space, label: "Object#many"), :>, 150_000
      assert_equal [nil], difference.map(&:gc_age).uniq
    RUBY
  end

  def test_of_a_profile_with_itself_nothing
    in_child(SETUP + <<~'RUBY')
      HeapProfile.start(interval: 1)
      kept = many
      profile = snapshot
      assert_empty (profile - profile).to_a
      assert_equal 30, kept.size
    RUBY
  end

  def test_profiles_of_two_runs
    in_child(SETUP + <<~'RUBY')
      HeapProfile.profile(interval: 1) { few } # the VM fills its caches
      one = HeapProfile.profile(interval: 1) { $one = few }
      two = HeapProfile.profile(interval: 1) { $two = few }
      difference = two - one
      changed = %i[inuse_objects inuse_slot_space alloc_objects].map { |value| total(difference, value, label: "Object#few") }
      assert_equal [0, 0, 0], changed
      # A block has a word or two more than was asked for where it fills a hole of that size.
      assert_in_delta 0, total(difference, :inuse_malloc_space, label: "Object#few"), 10 * 16
      assert_equal values(two, :few).zip(values(one, :few)).map { |a, b| a - b }, values(difference, :few)
      assert_equal two.sum(&:inuse_space) - one.sum(&:inuse_space), difference.sum(&:inuse_space)
    RUBY
  end

  # The documented recipe, in a program that does nothing.
  def test_nothing_grew_where_nothing_happened
    [1, 524_288].each do |interval|
      in_child(<<~RUBY)
        HeapProfile.start(interval: #{interval})
        $kept = Array.new(2000) { |i| [+"x" * 100, { i => i }] }
        grown = nil
        3.times do # the first time the VM fills the line's caches: a constcache, a callcache
          before = HeapProfile.snapshot(gc: true)
          after = HeapProfile.snapshot(gc: true, owners: true, rss: true)
          grown = after - before
        end
        assert_empty grown.reject { |row| row.inuse_space.zero? }.map { |row| [row.class_name, row.caller, row.inuse_space, row.frames.map(&:to_s)] }
        assert_equal 2000, $kept.size
      RUBY
    end
  end

  def test_other_threads_run_while_it_is_made
    in_child(SETUP + <<~'RUBY')
      HeapProfile.start(interval: 1)
      make = -> { Array.new(scaled(20_000)) { |i| eval("[Object.new, '#{i}']", nil, "/file_#{i}.rb", i + 1) } }
      kept = [make.call]
      earlier = HeapProfile.snapshot
      kept << make.call
      later = HeapProfile.snapshot
      HeapProfile.stop
      difference = nil
      assert others_run? { difference = later - earlier }
      assert_operator difference.sum(&:inuse_objects), :>, 0
    RUBY
  end

  def test_what_is_no_profile_is_refused
    in_child(SETUP + <<~'RUBY')
      profile = HeapProfile.profile(interval: 1) { few }
      assert_raise_with_message(TypeError, /heap_profile/) { profile - 1 }
      assert_raise_with_message(TypeError, /heap_profile/) { profile - nil }
    RUBY
  end

  def test_go_tool_pprof_reads_it
    in_directory do |directory|
      path = File.join(directory, "difference.pb.gz")
      ran = run_ruby("--disable-gems", "-e", <<~RUBY)
        HeapProfile = ObjectSpace::HeapProfile
        HeapProfile.start(interval: 1)
        def few = Array.new(10) { "x" * 5000 }
        $few = few
        before = HeapProfile.snapshot(gc: true)
        $few = nil
        (HeapProfile.snapshot(gc: true) - before).write(#{path.dump})
      RUBY
      assert_clean ran
      profile = read_profile(path)
      assert_operator profile.total(:inuse_space, label: "Object#few"), :<=, -50_000
      assert_operator profile.total(:inuse_objects, label: "Object#few"), :<=, -10
    end
  end
end
