# frozen_string_literal: true

# test_stop.rb - the life of a run (vm/run/run.c): that stop leaves nothing behind, no flag bit in the
# heap and no function of ours that still runs; that the next start begins with nothing; and that
# neither gets in the way of allocations that are under way.

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
      names = []
      10.times do |round|
        500.times { |i| Class.new { set_temporary_name("temporary_#{round}_#{i}") }.new }
        GC.start(immediate_sweep: false)
        10.times do |i|
          400.times { |n| (+"GARBAGE#{i}") * (n % 10 + 1) }
          names |= HeapProfile.snapshot.map(&:class_name)
        end
      end
      assert_empty names.grep(/GARBAGE/)
      assert_operator names.grep(/\Atemporary_\d_\d+\z/).size, :>, 100 # the others are [dead class]
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

  # ---- what stop leaves in the heap ----

  # HeapProfHeap shows slots as they are, without ending a GC that is under way.
  HEAP = <<~'RUBY'
    require "-test-/heapprof_heap"

    ZOMBIE = 0x1d

    # Objects of every kind that the profiler has to do with; some of them are garbage.
    def variety(count)
      Array.new(count) do |i|
        klass = Class.new { class_eval("def made(n) = [n.to_s, { n => n.to_f / 3 }, proc { n }]") }
        mod = Module.new
        klass.include(mod)
        object = klass.new
        object.define_singleton_method(:own) { "own" * 20 }
        [object, object.made(i), object.own, Struct.new(:a).new(1), binding, i.odd? ? nil : 2**70]
      end.select.with_index { |_, i| i % 3 == 0 }
    end

    def flagged(pages) = HeapProfHeap.slots(pages)[1].sum

    # Takes stock before the block, which stops the profiler; pages that are new then are looked at last.
    def assert_stop_clears_flags(count = 300)
      $kept = variety(count)
      HeapProfile.snapshot
      $pages = HeapProfHeap.pages
      assert_operator flagged($pages), :>, count
      yield
      assert_equal false, HeapProfile.running?
      assert_equal 0, flagged($pages)
      assert_equal 0, flagged(HeapProfHeap.pages)
    end
  RUBY

  def test_stop_leaves_no_flag_whatever_the_collector_is_doing
    in_child(HEAP + <<~'RUBY')
      # Allocates nothing from the moment the state is reached: that would lead out of it.
      def stop_in_state(settings)
        GC.start(**settings)
        before = GC.latest_gc_info(:state)
        HeapProfile.stop
        [before, GC.latest_gc_info(:state)]
      end

      states = {
        none: {},
        marking: { immediate_mark: false, immediate_sweep: false },
        sweeping: { immediate_sweep: false },
      }
      states.each_value { |settings| stop_in_state(settings) } # what is allocated once
      states.to_a.product([false, true], [false, true]) do |(state, settings), compact, disabled|
        HeapProfile.start(interval: 1)
        assert_stop_clears_flags do
          Array.new(50_000) { [] }.clear # enough for a sweep to take more than a step
          GC.auto_compact = compact
          GC.disable if disabled
          reached = stop_in_state(settings)
          assert_equal [state, state], reached
          GC.enable
        end
      end
    RUBY
  end

  def test_stop_leaves_no_flag_from_wherever_it_is_called
    in_child(HEAP + <<~'RUBY')
      Warning[:experimental] = false
      stop = proc { HeapProfile.stop }
      {
        thread: -> { Thread.new(&stop).join },
        fiber: -> { Fiber.new(&stop).resume },
        ractor: -> { Ractor.new { ObjectSpace::HeapProfile.stop }.take },
        signal: -> { trap(:USR1) { stop.call }; Process.kill(:USR1, $$); sleep 0.001 while HeapProfile.running? },
        trace: -> { TracePoint.new(:c_call, &stop).enable { $$.to_s } },
        walk: -> { ObjectSpace.each_object(Module) { stop.call } },
        ensure: -> { catch(:out) { begin; throw :out; ensure; stop.call; end } },
      }.each_value do |caller|
        HeapProfile.start(interval: 1)
        assert_stop_clears_flags(&caller)
      end
    RUBY
  end

  def test_stop_in_a_finalizer_leaves_no_flag_while_other_objects_are_zombies
    in_child(HEAP + <<~'RUBY')
      zombies = 0
      reaper = proc do
        zombies = [zombies, HeapProfHeap.slots($pages)[0][ZOMBIE]].max
        HeapProfile.stop
      end
      HeapProfile.start(interval: 1)
      GC.disable
      Array.new(100) { ObjectSpace.define_finalizer(Object.new, reaper) }.clear
      assert_stop_clears_flags { GC.start }
      assert_operator zombies, :>, 0
    RUBY
  end

  def test_stop_in_a_forked_child_leaves_no_flag_there_and_all_here
    in_child(HEAP + <<~'RUBY')
      HeapProfile.start(interval: 1)
      $kept = variety(300)
      HeapProfile.snapshot
      GC.disable # from here on only more objects can have the flag
      pages = HeapProfHeap.pages
      before = flagged(pages)
      pid = fork do
        assert_stop_clears_flags { HeapProfile.stop }
        exit!(0)
      ensure
        exit!(1)
      end
      assert_predicate Process.wait2(pid)[1], :success?
      assert_operator before, :>, 300
      assert_operator flagged(pages), :>=, before
    RUBY
  end

  def test_profile_leaves_no_flag_however_its_block_is_left
    in_child(HEAP + <<~'RUBY')
      def returns = HeapProfile.profile(interval: 1) { $kept = variety(100); return }

      ways = [
        -> { HeapProfile.profile(interval: 1) { $kept = variety(100) } },
        -> { HeapProfile.profile(interval: 1) { $kept = variety(100); raise "out" } rescue nil },
        -> { HeapProfile.profile(interval: 1) { $kept = variety(100); break } },
        -> { catch(:out) { HeapProfile.profile(interval: 1) { $kept = variety(100); throw :out } } },
        -> { returns },
        -> { Thread.new { HeapProfile.profile(interval: 1) { $kept = variety(100); Thread.exit } }.join },
        -> { Fiber.new { HeapProfile.profile(interval: 1) { $kept = variety(100); raise "out" } }.resume rescue nil },
      ]
      ways.each do |way|
        way.call
        assert_equal false, HeapProfile.running?
        assert_equal 0, flagged(HeapProfHeap.pages)
      end
    RUBY
  end

  # ---- what still runs ----

  WORK = <<~'RUBY'
    work = proc do
      kept = Array.new(500) { |i| [i.to_s, "x" * (i % 600), { i => [i] }, i.to_f / 3, Object.new] }
      Class.new { class_eval("def made = Object.new") }.new.made
      kept.select!.with_index { |_, i| i.odd? }
      GC.start(full_mark: false)
      GC.start(immediate_mark: false, immediate_sweep: false)
      10.times { Array.new(500) { "text" } }
      GC.compact
      kept.clear
      GC.start
    end

    ObjectSpace::HeapProfile.start(interval: 1)
    work.call
    $profile = ObjectSpace::HeapProfile.snapshot
    ObjectSpace::HeapProfile.stop if ARGV == ["stop"]
    [nil].cycle(1, &work) # the instructions of which are counted
  RUBY

  # Of which of our files instructions ran in the work, by callgrind and the debug information.
  def files_run(mode)
    in_directory do |directory|
      counts = File.join(directory, "counts")
      out, status = Open3.capture2e(clean({}), "valgrind", "-q", "--tool=callgrind",
                                    "--toggle-collect=rb_ary_cycle", "--callgrind-out-file=#{counts}",
                                    EnvUtil.rubybin, "--disable-gems", write_file("work.rb", WORK), mode)
      assert status.success?, out
      File.read(counts).scan(%r{/heapprof/(\S+)}).flatten.uniq.sort
    end
  rescue Errno::ENOENT
    flunk "valgrind not found: install the Debian package valgrind"
  end

  # The gates in hooks.h find the profiler off, and that is all that runs; but for the count of code that is freed, which
  # is no part of the profiler's, and the profile that the program holds, which GC marks as any object.
  def test_after_stop_nothing_runs_but_the_gates
    omit "a debug build is too slow for callgrind" if DEBUG_BUILD
    assert_empty %w[gc/objects/newobj.c gc/objects/free.c gc/objects/move.c vm/names/frames.c] - files_run("go on")
    assert_equal ["gc/hooks.h", "profiler/block_filter.h", "vm/api/api.c", "vm/names/generation.h"], files_run("stop")
  end

  # ---- what a later start finds ----

  def test_later_start_begins_with_nothing_whatever_its_settings
    in_child(<<~'RUBY')
      class Item; end
      def deep(n) = n == 0 ? Array.new(500) { Item.new } : deep(n - 1) # some of them stay at any interval that it comes to
      def code(round) = 2000.times { |i| eval("Item.new", nil, "round#{round}_#{'x' * 500}_#{i}.rb") }

      kept = []
      small = { interval: 1, depth: 3, memory: 1 << 20, seed: 1 }
      others = [{ interval: 1 << 40 }, { interval: 1 << 40, depth: 1, memory: 1 << 20 },
                { interval: 1 << 40, depth: 65_535, memory: 1 << 30, seed: 7 }]
      others.each_with_index do |settings, round|
        HeapProfile.start(**small)
        kept << deep(20)
        code(round) # more than the memory allows
        GC.start
        %i[total_samples truncated doublings live_samples].each { |key| assert_operator HeapProfile.stat(key), :>, 0, key }
        HeapProfile.stop
        assert_equal [0], HeapProfile.stat.values.uniq

        HeapProfile.start(**settings)
        stat = HeapProfile.stat
        %i[total_samples truncated dropped doublings folded live_samples sites].each { |key| assert_equal 0, stat[key], key }
        assert_equal settings[:interval], stat[:interval_bytes]
        assert_equal settings.fetch(:memory, 64 << 20), stat[:memory_budget]
        assert_empty HeapProfile.snapshot(gc: true).to_a
        HeapProfile.stop

        HeapProfile.start(interval: 1)
        mine = Array.new(10) { Item.new }
        profile = HeapProfile.snapshot(gc: true)
        assert_equal [10, 0], [total(profile, :alloc_objects, class_name: "Item"), HeapProfile.stat(:dropped)]
        assert_empty profile.select { |sample| sample.frames.any? { |frame| frame.path.start_with?("round") } }
        assert_equal 10, mine.size
        HeapProfile.stop
      end
      assert_equal others.size * 500, kept.sum(&:size)
    RUBY
  end

  def test_objects_of_an_earlier_run_have_no_stack_and_leave_no_trace_when_they_die
    in_child(<<~'RUBY')
      class Item; end
      HeapProfile.start(interval: 1)
      early = Array.new(200) { Item.new }
      HeapProfile.stop
      assert_equal [nil], early.map { |item| HeapProfile.allocation_stack(item) }.uniq
      HeapProfile.start(interval: 1)
      late = Array.new(100) { Item.new }
      assert_equal [nil], early.map { |item| HeapProfile.allocation_stack(item) }.uniq
      assert_equal 100, late.count { |item| HeapProfile.allocation_stack(item) }
      early.clear
      GC.verify_compaction_references(toward: :empty)
      profile = HeapProfile.snapshot(gc: true)
      assert_equal [100, 100], %i[inuse_objects alloc_objects].map { |value| total(profile, value, class_name: "Item") }
      assert_equal 100, late.size
    RUBY
  end
end
