# frozen_string_literal: true

# test_rss.rb - the rest of the resident memory: rungs that add up to what the kernel says, each
# moved by what it is of, in stat, in a snapshot and in a file.

require_relative "lib/heapprof_test"
require_relative "lib/allocators"

class TestHeapProfRss < Test::Unit::TestCase
  include HeapProfTest
  include HeapProfAllocators

  YJIT = RbConfig::CONFIG["YJIT_SUPPORT"].to_s != "no"

  SETUP = <<~'RUBY'
    require "stringio"
    require "zlib"

    MEGA = 1_000_000
    ROLLUP = "/proc/self/smaps_rollup"

    # What a look itself brings into memory, its code, tables and text, is not in a look before it: some 160 kB.
    LOOK = 1_000_000

    def rollup = File.read(ROLLUP)[/^Rss: +(\d+)/, 1].to_i << 10

    def ladder = HeapProfile.stat(rss: true).select { |key,| key.start_with?("rss") }

    def rungs(ladder) = ladder.except(:rss, :rss_absent)

    # How much the rungs have grown since an earlier ladder.
    def growth(before, after = ladder) = after.to_h { |key, bytes| [key, bytes - before[key]] }

    # Bytes by name of the VM's rows.
    def vm_rows(profile)
      profile.reject { |row| row.rss_space.zero? }.to_h { |row| [row.frames.fetch(0).label, row.rss_space] }
    end

    # A small process has a span of tcmalloc's own, 1 MiB, which nobody tells of.
    def assert_ladder(ladder = self.ladder, unexplained: 0.05)
      assert_equal ladder[:rss], rungs(ladder).sum { |_, bytes| bytes }
      rungs(ladder).each { |key, bytes| assert_operator bytes, :>=, 0, key }
      assert_in_delta rollup, ladder[:rss], LOOK
      assert_operator ladder[:rss_unexplained], :<=, [unexplained * ladder[:rss], 1 << 20].max
    end

    def assert_adds_up(profile)
      assert_in_delta rollup, profile.sum(&:rss_space), LOOK
      assert_equal [false], profile.flat_map { |row| [row.inuse_space, row.rss_space, row.alloc_space].map(&:negative?) }.uniq
    end

    # What the comments of a file of this profile say.
    def comment(profile, name)
      profile.write(file = StringIO.new)
      Zlib.gunzip(file.string)[/#{name}: (\d+) bytes/, 1].to_i
    end
  RUBY

  def test_rungs_add_up_to_rss_whether_it_runs_or_not
    in_child(SETUP + <<~'RUBY')
      assert_ladder
      assert_equal 0, ladder[:rss_profiler]
      HeapProfile.start(interval: 1)
      assert_ladder
      assert_operator ladder[:rss_profiler], :>, 0
      HeapProfile.stop
      assert_ladder
    RUBY
  end

  # Each page counts once, though others come and go between two slices: those of 20,000 objects at most, beside the process's own
  # 0.8 MB, and what the heap grows by.
  def test_while_another_thread_allocates_and_collects
    in_child(SETUP + <<~'RUBY')
      HeapProfile.start
      kept = Array.new(500_000) { Object.new }
      done = false
      thread = Thread.new do
        until done
          Array.new(20_000) { Object.new }
          GC.start
          sleep 0.001
        end
      end
      5.times do
        slots = vm_rows(HeapProfile.snapshot(rss: true)).values_at("[VM] slots", "[VM] free slots")
        assert_in_delta 500_000 * 40, slots.sum, 8_000_000
        assert_operator slots[0], :>=, 500_000 * 40
      end
      done = true
      thread.join
      assert_equal 500_000, kept.size
    RUBY
  end

  def test_stat_measures_only_when_asked
    in_child(SETUP + <<~'RUBY')
      assert_empty HeapProfile.stat.keys.grep(/rss/)
      assert_in_delta rollup, HeapProfile.stat(:rss), LOOK
      assert_kind_of Integer, HeapProfile.stat(:rss_free_slots)
      assert_equal 0, HeapProfile.stat(:interval_bytes)
      assert_raise_with_message(ArgumentError, "unknown key: rss_nonsense") { HeapProfile.stat(:rss_nonsense) }
    RUBY
  end

  def test_string_of_100_mb_is_malloc
    in_child(SETUP + <<~'RUBY')
      before = ladder
      string = "x" * (100 * MEGA)
      growth = growth(before)
      assert_in_delta 100 * MEGA, growth[:rss], 2 * MEGA
      assert_in_delta 100 * MEGA, growth[:rss_malloc], MEGA
      assert_ladder
      HeapProfile.start
      assert_adds_up HeapProfile.snapshot(rss: true)
      assert_operator vm_rows(HeapProfile.snapshot(rss: true))["[VM] malloc"], :>=, 99 * MEGA
      string.clear
      assert_in_delta 0, growth(before)[:rss_malloc], MEGA
    RUBY
  end

  def test_sampled_string_of_100_mb_is_in_a_row_of_its_own_and_in_the_rung
    in_child(SETUP + <<~'RUBY')
      HeapProfile.start
      string = "x" * (100 * MEGA)
      profile = HeapProfile.snapshot(rss: true)
      assert_adds_up profile
      assert_operator profile.map(&:inuse_malloc_space).max, :>=, 100 * MEGA
      assert_operator vm_rows(profile)["[VM] malloc"], :>=, 99 * MEGA
      assert_equal 100 * MEGA, string.size
    RUBY
  end

  def test_memory_that_nobody_has_touched_is_not_there
    in_child(SETUP + <<~'RUBY')
      HeapProfile.start
      before = ladder
      string = String.new(capacity: 100 * MEGA)
      growth = growth(before)
      assert_operator growth[:rss], :<=, MEGA
      assert_operator growth[:rss_malloc], :<=, MEGA
      assert_in_delta 100 * MEGA, growth[:rss_absent], MEGA
      profile = HeapProfile.snapshot(rss: true)
      assert_in_delta 100 * MEGA, comment(profile, "not in memory"), 5 * MEGA
      assert_adds_up profile
      assert_empty string
    RUBY
  end

  def test_freed_objects_are_free_slots
    in_child(SETUP + <<~'RUBY')
      objects = Array.new(MEGA) { Object.new }
      GC.start
      before = ladder
      assert_operator before[:rss_slots], :>=, MEGA * SLOTS[0]
      objects.select!.with_index { |_, i| i % 50 == 0 } # one remains on every page
      GC.start
      growth = growth(before)
      assert_in_delta(-0.98 * MEGA * SLOTS[0], growth[:rss_slots], 0.05 * MEGA * SLOTS[0])
      assert_in_delta 0.98 * MEGA * SLOTS[0], growth[:rss_free_slots], 0.05 * MEGA * SLOTS[0]
      assert_ladder
    RUBY
  end

  def test_the_dead_that_are_not_swept_are_free_slots
    in_child(SETUP + <<~'RUBY')
      GC.start
      before = ladder[:rss_slots]
      Array.new(MEGA / 5) { Object.new }.clear
      GC.start(immediate_sweep: false)
      assert_operator ladder[:rss_slots] - before, :<=, MEGA
    RUBY
  end

  def test_freed_blocks_are_slack
    in_child(SETUP + <<~'RUBY')
      strings = Array.new(100_000) { "x" * 1000 }
      GC.start
      before = ladder
      strings.select!.with_index { |_, i| i % 100 == 0 } # one remains here and there
      GC.start
      growth = growth(before)
      assert_operator growth[:rss_malloc], :<=, -80 * MEGA
      assert_operator growth[:rss_allocator_slack], :>=, growth[:rss] + 80 * MEGA
      assert_ladder
    RUBY
  end

  def test_stacks_of_threads_and_fibers
    in_child(SETUP + <<~'RUBY')
      def deep(depth, &block) = depth.zero? ? block.call : deep(depth - 1, &block)

      ladder
      before = ladder
      threads = Array.new(40) { Thread.new { deep(2000) { Thread.stop } } }
      Thread.pass until threads.all?(&:stop?)
      growth = growth(before)
      assert_operator growth[:rss_stacks], :>=, 40 * 200_000
      assert_operator growth[:rss_malloc], :<=, 8 * MEGA
      assert_ladder

      before = ladder
      fibers = Array.new(200) { Fiber.new { deep(300) { Fiber.yield } }.tap(&:resume) }
      growth = growth(before)
      assert_operator growth[:rss_stacks], :>=, 200 * 40_000
      assert_operator growth[:rss_stacks], :<=, growth[:rss]
      assert_ladder
      assert_equal 200, fibers.size
      threads.each(&:wakeup)
    RUBY
  end

  # A hundred blocks of 1 MB, most of which nobody has touched.
  def test_sampled_stacks_of_threads_add_up
    in_child(SETUP + <<~'RUBY')
      HeapProfile.start
      threads = Array.new(100) { Thread.new { Thread.stop } }
      Thread.pass until threads.all?(&:stop?)
      profile = HeapProfile.snapshot(rss: true)
      assert_adds_up profile
      # A debug build fills them.
      assert_operator comment(profile, "not in memory"), :>=, 80 * MEGA unless debug_build?
      threads.each(&:wakeup)
    RUBY
  end

  def test_code_and_symbols
    in_child(SETUP + <<~'RUBY')
      before = ladder
      Array.new(100) do |i|
        eval("class C#{i}; #{Array.new(100) { |j| "def symbol_#{i}_#{j}(a, b) = [a + b, @c, D]" }.join("\n")}; end")
      end
      growth = growth(before)
      assert_operator growth[:rss_iseqs], :>=, 10_000 * 300
      assert_operator growth[:rss_method_tables], :>=, 10_000 * 16
      assert_operator growth[:rss_symbols], :>=, 10_000 * 16
      assert_operator growth[:rss_page_overhead], :>, 0
      assert_ladder
    RUBY
  end

  # Whatever was sampled of them.
  def test_rows_are_whole_rungs
    in_child(SETUP + <<~'RUBY')
      HeapProfile.start(interval: 1)
      eval Array.new(5000) { |i| "def m#{i}(a) = a + [1, @b]" }.join("\n")
      rows = vm_rows(HeapProfile.snapshot(rss: true))
      rungs = ladder
      assert_in_delta rungs[:rss_iseqs], rows["[VM] iseqs"], 0.1 * rungs[:rss_iseqs]
      assert_operator rows["[VM] iseqs"], :>=, MEGA
    RUBY
  end

  def test_generated_code
    omit "built without YJIT" unless YJIT
    in_child(SETUP + <<~'RUBY', "--yjit", "--yjit-call-threshold=1")
      before = ladder[:rss_jit_code]
      eval Array.new(2000) { |i| "def m#{i}(a) = a + [1, @b].size" }.join("\n")
      2000.times { |i| send("m#{i}", 1) }
      assert_operator ladder[:rss_jit_code] - before, :>=, 100_000
      assert_ladder
    RUBY
  end

  def test_a_snapshot_has_no_rows_of_the_vm_unless_asked
    in_child(SETUP + <<~'RUBY')
      HeapProfile.start
      assert_empty vm_rows(HeapProfile.snapshot)
      assert_raise_with_message(ArgumentError, /snapshot\(rss: true\)/) { HeapProfile.snapshot.report(rss: true) }
      rows = HeapProfile.snapshot(gc: true, rss: true).select { |row| row.rss_space != 0 }
      assert_equal [["", nil, nil, 0, 0, 0]], rows.map { |row|
        [row.class_name, row.caller, row.gc_age, row.inuse_objects, row.inuse_space, row.alloc_space]
      }.uniq
      assert_equal [:rss], rows.map(&:kind).uniq
      assert_equal ["[VM] files"], rows.map { |row| row.frames.map(&:label) }.find { |labels| labels.include?("[VM] files") }
    RUBY
  end

  def test_at_interval_1_rows_of_samples_are_within_the_rungs
    in_child(SETUP + <<~'RUBY')
      HeapProfile.start(interval: 1)
      objects = Array.new(100_000) { Object.new }
      profile = HeapProfile.snapshot(gc: true, rss: true)
      assert_adds_up profile
      assert_equal 0, comment(profile, "estimated too high")
      assert_operator profile.sum(&:inuse_slot_space), :<=, ladder[:rss_slots]
      assert_equal 100_000, objects.size
    RUBY
  end

  def test_report
    in_child(SETUP + <<~'RUBY')
      HeapProfile.start(interval: 1)
      string = "x" * (100 * MEGA)
      profile = HeapProfile.snapshot(rss: true)
      profile.report(out = StringIO.new, rss: true, limit: 3)
      rungs, summary, *stacks = out.string.split("\n\n")
      assert_match(/^ +\d+ 100\.0%  in memory \(RSS\)\z/, rungs)
      *parts, rss = rungs.lines.map(&:to_i)
      assert_equal rss, parts.sum
      assert_match(/^ +\d+ +\d+\.\d%  unexplained$/, rungs)
      assert_match(/\Aprofile: inuse_space [\d.]+ MB/, summary)
      assert_no_match(/\[VM\]/, stacks.join)
      assert_match(/^ +95\.\d MB .*  str_enc_new \(ruby\) for String\n +.*:in 'String#\*'$/, stacks.join)
      profile.report(out = StringIO.new, by: :rss_space, group: :function, limit: 0)
      assert_match(/^ +[\d.]+ MB .*  \[VM\] malloc$/, out.string)
      assert_equal 100 * MEGA, string.size
    RUBY
  end

  def test_a_forked_child_measures_itself
    in_child(SETUP + <<~'RUBY')
      HeapProfile.start
      string = "x" * (50 * MEGA)
      pid = fork do
        ladder # a child has the pages of files only when it has touched them
        HeapProfile.snapshot(rss: true)
        assert_ladder
        assert_adds_up HeapProfile.snapshot(rss: true)
        Process.exit!(string.size == 50 * MEGA ? 0 : 2)
      end
      assert_equal 0, Process.wait2(pid).last.exitstatus
    RUBY
  end

  WITH_ANOTHER_ALLOCATOR = SETUP + <<~'RUBY'
    HeapProfile.start
    string = "x" * (100 * MEGA)
    assert_ladder unexplained: TELLS ? 0.05 : 0.15 # what the allocator keeps, and what is short in the estimates
    assert_operator ladder[:rss_malloc], :>=, (TELLS ? 100 : 99) * MEGA
    assert_adds_up HeapProfile.snapshot(rss: true)
    before = ladder
    strings = Array.new(100_000) { "x" * 1000 }
    GC.start
    assert_in_delta 100 * MEGA, growth(before)[:rss_malloc], 10 * MEGA + 5.7 * Math.sqrt(100 * MEGA * 65_536)
    strings.clear
    GC.start
    assert_ladder unexplained: TELLS ? 0.05 : 1
    assert_adds_up HeapProfile.snapshot(rss: true)
    assert_equal 100 * MEGA, string.size
  RUBY

  %w[jemalloc tcmalloc].each do |allocator|
    define_method("test_#{allocator}_tells_as_much") do
      in_child(SETUP + "assert_ladder", env: preload(allocator))
      in_child("TELLS = true\n" + WITH_ANOTHER_ALLOCATOR, env: preload(allocator))
    end
  end

  def test_an_allocator_that_does_not_tell_leaves_more_unexplained
    silent = $LOAD_PATH.resolve_feature_path("-test-/heapprof_silent")[1]
    in_child("TELLS = false\n" + WITH_ANOTHER_ALLOCATOR + <<~'RUBY', env: { "LD_PRELOAD" => silent })
      assert_equal 0, ladder[:rss_allocator_slack]
      assert_operator ladder[:rss_unexplained], :>, 90 * MEGA
    RUBY
  end

  SCRIPT = <<~'RUBY'
    KEPT = ["x" * 50_000_000, Array.new(100_000) { |i| "a string of its own, #{i}" }]
    at_exit { print File.read("/proc/self/smaps_rollup")[/^Rss: +(\d+)/, 1].to_i << 10 }
  RUBY

  def test_a_file_adds_up_to_rss
    %w[1 512k].each do |interval|
      profile_script(SCRIPT, settings: "interval=#{interval}") do |out, _, ran|
        profile = read_profile(out)
        rss = profile.samples.sum(&:rss_space)
        assert_match(/\Arss: #{rss} bytes, \d+ unexplained\z/, profile.comments.last)
        assert_in_delta ran.out.to_i, rss, 0.03 * rss + 1_000_000
        assert_not_match(/\[VM\]/, pprof("-top", "-nodecount=50", out))
        top = pprof("-top", "-nodecount=50", "-sample_index=rss_space", out)
        assert_match(/\[VM\] files$/, top)
        assert_match(/\[VM\] free slots$/, top)
      end
    end
  end

  def test_rss_0_leaves_the_rest_out_of_the_file
    profile_script(SCRIPT, settings: "interval=512k,rss=0") do |out,|
      assert_not_match(/\[VM\]/, pprof("-top", out))
    end
  end
end
