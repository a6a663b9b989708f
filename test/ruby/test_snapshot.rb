# frozen_string_literal: true

# test_snapshot.rb - a snapshot (vm/api/api.c, profiler/snapshot.c): what it is of, that it never
# changes, and what can be read of it in Ruby.

require_relative "lib/heapprof_test"

class TestHeapProfSnapshot < Test::Unit::TestCase
  include HeapProfTest

  # ---- taking ----

  def test_snapshot_when_not_running_raises_runtime_error
    in_child(<<~'RUBY')
      [false, true].each do |gc|
        error = assert_raise(RuntimeError) { HeapProfile.snapshot(gc: gc) }
        assert_match(/not running; start it first/, error.message)
      end
    RUBY
  end

  def test_snapshot_with_gc_runs_a_full_gc_and_without_runs_none
    in_child(<<~'RUBY')
      HeapProfile.start(interval: 1)
      GC.disable
      major = GC.stat(:major_gc_count)
      count = GC.count
      HeapProfile.snapshot
      assert_equal count, GC.count
      HeapProfile.snapshot(gc: true)
      assert_equal major + 1, GC.stat(:major_gc_count)
    RUBY
  end

  def test_snapshot_stays_as_it_was
    in_child(<<~'RUBY')
      require "stringio"
      class Item; end
      HeapProfile.start(interval: 1)
      kept = [Item.new]
      profile = HeapProfile.snapshot
      before = profile.to_a
      kept.concat(Array.new(100) { Item.new })
      GC.compact
      assert_equal before, profile.to_a
      HeapProfile.stop
      kept.clear
      GC.start
      assert_equal before, profile.to_a
      assert_equal 1, total(profile, class_name: "Item")
      assert_operator profile.write(StringIO.new), :>, 0
    RUBY
  end

  def test_snapshots_are_collected
    in_child(<<~'RUBY')
      HeapProfile.start(interval: 1)
      50.times { HeapProfile.snapshot }
      GC.start
      assert_operator ObjectSpace.each_object(HeapProfile).count, :<, 5
      require "objspace"
      assert_operator ObjectSpace.memsize_of(HeapProfile.snapshot), :>, 10_000
    RUBY
  end

  # ---- in slices ----

  # So many samples are copied in many slices, between which other threads run.
  SLICES = <<~'RUBY'
    class Item; end
    HeapProfile.start(interval: 1, memory: 1 << 30)
    KEPT = Array.new(scaled(200_000)) { Item.new }

    # While the block runs, the program does in a thread, again and again.
    def while_others(*programs)
      done = false
      threads = programs.map { |program| Thread.new { program.call until done } }
      yield
    ensure
      done = true
      threads.each(&:join)
    end
  RUBY

  # Each First comes before its Second, of which no snapshot may have more, nor less by two.
  def test_it_is_as_of_one_moment_whatever_other_threads_do
    in_child(SLICES + <<~'RUBY')
      class First; end
      class Second; end
      pairs = []
      pair = lambda do
        500.times { pairs << First.new << Second.new }
        pairs.clear if pairs.size > 20_000
        Thread.pass
      end
      while_others(pair, -> { GC.start(full_mark: false); sleep 0.001 }, -> { GC.compact; sleep 0.01 }) do
        8.times do |round|
          profile = HeapProfile.snapshot(owners: round.odd?)
          first, second = %w[First Second].map { |name| total(profile, :alloc_objects, class_name: name) }
          assert_include 0..1, first - second
          assert_equal KEPT.size, total(profile, class_name: "Item")
          assert_operator total(profile, class_name: "First"), :<=, first
        end
      end
      assert_operator total(HeapProfile.snapshot, :alloc_objects, class_name: "First"), :>, 0
    RUBY
  end

  def test_several_threads_take_them_at_once
    in_child(SLICES + <<~'RUBY')
      threads = Array.new(4) { |i| Thread.new { Array.new(3) { HeapProfile.snapshot(owners: i == 0, rss: i == 1) } } }
      profiles = threads.flat_map(&:value)
      assert_equal [KEPT.size], profiles.map { |profile| total(profile, class_name: "Item") }.uniq
    RUBY
  end

  def test_it_is_whole_when_the_run_is_stopped_in_the_middle
    in_child(SLICES + <<~'RUBY')
      Thread.report_on_exception = false # of those that come too late
      taken = Array.new(10) do |i|
        thread = Thread.new { HeapProfile.snapshot }
        i == 9 ? thread.join : sleep(i * i * 0.001)
        HeapProfile.stop
        profile = begin
          thread.value
        rescue RuntimeError
          nil
        end
        assert_equal KEPT.size, total(profile, class_name: "Item") if profile
        HeapProfile.start(interval: 1, memory: 1 << 30)
        KEPT.map! { Item.new }
        profile
      end
      assert taken.last
    RUBY
  end

  def test_a_thread_that_is_killed_in_the_middle_leaves_nothing
    in_child(SLICES + <<~'RUBY')
      10.times do |i|
        thread = Thread.new { HeapProfile.snapshot(owners: i.odd?, rss: i > 5) }
        i.times { Thread.pass }
        thread.kill.join
        KEPT << Item.new
      end
      assert_equal KEPT.size, total(HeapProfile.snapshot, class_name: "Item")
    RUBY
  end

  def test_a_child_forked_in_the_middle_takes_its_own
    omit "no fork" unless Process.respond_to?(:fork)
    in_child(SLICES + <<~'RUBY')
      3.times do
        thread = Thread.new { HeapProfile.snapshot }
        2.times { Thread.pass }
        pid = fork do
          KEPT << Item.new
          exit!(total(HeapProfile.snapshot, class_name: "Item") == KEPT.size ? 0 : 1)
        end
        Process.wait(pid)
        assert_predicate $?, :success?
        assert_equal KEPT.size, total(thread.value, class_name: "Item")
      end
    RUBY
  end

  # A thread that forks while another holds the dynamic linker's lock has a child that waits for it for ever: whoever asks
  # the linker has the GVL.
  def test_names_are_searched_so_that_a_child_can_search_too
    in_directory do
      in_child(SLICES + <<~'RUBY', env: { "LD_PRELOAD" => $LOAD_PATH.resolve_feature_path("-test-/heapprof_beside")[1] })
        assert_operator HeapProfile.snapshot.map(&:caller).compact.uniq.size, :>, 3
        assert_equal [true, false], [File.exist?("asked"), File.exist?("forkable")]
      RUBY
    end
  end

  # What is thinned meanwhile is in the snapshot as it was.
  def test_the_budget_is_used_up_in_the_middle
    in_child(<<~'RUBY')
      class Item; end
      class Other; end
      HeapProfile.start(interval: 1, memory: 16 << 20, malloc_interval: 0)
      kept = Array.new(scaled(100_000)) { Item.new }
      GC.start
      others = []
      amid = done = false # others come only while a snapshot is taken
      thread = Thread.new do
        until done
          2000.times { others << Other.new } if amid
          Thread.pass
        end
      end
      until HeapProfile.stat(:doublings) > 2
        amid = true
        profile = HeapProfile.snapshot
        amid = false
        in_use, allocated = %i[inuse_objects alloc_objects].map { |value| total(profile, value, class_name: "Item") }
        assert_equal in_use, allocated
        assert_in_delta kept.size, in_use, Estimator.allowance(kept.size, SLOTS[0], HeapProfile.stat(:interval_bytes))
      end
      done = true
      thread.join
    RUBY
  end

  # ---- reading ----

  READ = <<~'RUBY'
    class Item; end
    HeapProfile.start(interval: 1)
    KEPT, LINE = Array.new(10) { Item.new }, __LINE__
    PROFILE = HeapProfile.snapshot
  RUBY

  def test_each_yields_samples_and_returns_the_profile
    in_child(READ + <<~'RUBY')
      seen = []
      assert_same PROFILE, PROFILE.each { |sample| seen << sample }
      assert seen.all?(HeapProfile::Sample)
      item = seen.find { |sample| sample.class_name == "Item" }
      assert_equal [10, 10 * SLOTS[0], 10, 10 * SLOTS[0], 0],
                   [item.inuse_objects, item.inuse_space, item.alloc_objects, item.alloc_space, item.gc_age]
      assert_equal %w[Class#new block\ in\ <main> Array#initialize Array.new <main>], item.frames.map(&:label)
      assert item.frames.all?(HeapProfile::Frame)
      assert_equal ["-", LINE], item.frames.last.then { |frame| [frame.path, frame.lineno] }
      assert_equal "-:#{LINE}:in '<main>'", item.frames.last.to_s
    RUBY
  end

  # Whatever a class is called.
  def test_the_kind_says_what_a_row_is_of
    in_child(<<~'RUBY')
      HeapProfile.start(interval: 1)
      klass = Class.new { set_temporary_name("[VM] slots (ruby)") }
      kept = [klass.new, "x" * 5000]
      rows = HeapProfile.snapshot(gc: true, owners: true, rss: true).group_by(&:kind)
      assert_equal %i[malloc objects rss], rows.keys.sort
      objects, malloc, rss = rows.values_at(:objects, :malloc, :rss)
      assert_equal 1, objects.sum { |row| row.class_name == "[VM] slots (ruby)" ? row.inuse_objects : 0 }
      assert objects.all? { |row| row.caller.nil? && row.alloc_malloc_space == 0 && row.alloc_slot_space > 0 }
      assert malloc.all? { |row| row.caller && row.class_name.empty? && row.alloc_slot_space == 0 }
      assert_operator malloc.sum(&:inuse_malloc_space), :>=, 5000
      assert rss.all? { |row| row.rss_space > 0 && row.inuse_space == 0 && row.caller.nil? }
      assert (objects + malloc).all? { |row| row.rss_space == 0 }
      assert_equal 2, kept.size
    RUBY
  end

  def test_without_a_block_each_is_an_enumerator_with_a_size
    in_child(READ + <<~'RUBY')
      enumerator = PROFILE.each
      assert_instance_of Enumerator, enumerator
      assert_equal PROFILE.count, enumerator.size
      assert_equal PROFILE.first, enumerator.next
      assert_equal PROFILE.to_a, enumerator.to_a
    RUBY
  end

  def test_profile_is_enumerable
    in_child(READ + <<~'RUBY')
      assert_include HeapProfile.ancestors, Enumerable
      assert_equal PROFILE.count, PROFILE.to_a.size
      assert_equal PROFILE.first(3), PROFILE.lazy.take(3).to_a
      assert_equal PROFILE.map(&:inuse_space).max, PROFILE.max_by(&:inuse_space).inuse_space
      assert_equal PROFILE.sum(&:inuse_objects), PROFILE.group_by(&:class_name).sum { |_, group| group.sum(&:inuse_objects) }
      assert_equal :left, PROFILE.each { break :left }
      assert_raise(IOError) { PROFILE.each { raise IOError } }
    RUBY
  end

  def test_samples_and_frames_are_frozen_and_shared
    in_child(READ + <<~'RUBY')
      samples = PROFILE.to_a
      assert samples.all? { |sample| Ractor.shareable?(sample) }
      frames = samples.flat_map(&:frames)
      assert_operator frames.uniq(&:object_id).size, :<=, frames.uniq.size * 2
      assert_equal samples, PROFILE.to_a
      assert_raise(NoMethodError) { samples.first.inuse_space = 1 }
    RUBY
  end

  def test_reading_while_the_profiler_runs_and_collects_is_safe
    in_child(READ + <<~'RUBY')
      GC.stress = true
      names = PROFILE.first(200).map { |sample| [sample.class_name, sample.frames.map(&:to_s)] }
      GC.stress = false
      assert_equal PROFILE.first(200).map { |sample| [sample.class_name, sample.frames.map(&:to_s)] }, names
    RUBY
  end

  def test_profiles_cannot_be_made_or_copied_by_hand
    in_child(READ + <<~'RUBY')
      assert_raise(TypeError) { HeapProfile.new }
      assert_raise(TypeError) { HeapProfile.allocate }
      assert_raise(TypeError) { Class.new(HeapProfile).allocate }
      assert_raise(TypeError) { PROFILE.dup }
      assert_raise(TypeError) { PROFILE.clone }
      assert_raise(TypeError) { Marshal.dump(PROFILE) }
      assert_raise(TypeError) { HeapProfile.instance_method(:each).bind_call(Object.new) }
    RUBY
  end
end
