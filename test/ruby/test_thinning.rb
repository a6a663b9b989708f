# frozen_string_literal: true

# test_thinning.rb - what happens when the budget is used up: the interval doubles, and what has been
# sampled is thinned (profiler/thinning.c). Estimates stay right, of what came first and of what came
# last; what is told of it is true. Means over many runs are test/accuracy's.

require_relative "lib/heapprof_test"

class TestHeapProfThinning < Test::Unit::TestCase
  include HeapProfTest

  # With a budget that holds some 16,000 samples.
  THIN = <<~'RUBY'
    class Early; end
    class Late; end
    COUNT = 40_000

    def thin(interval: 1, seed: 1, memory: 1 << 20, **settings)
      HeapProfile.start(interval: interval, seed: seed, memory: memory, **settings)
    end

    def make(klass, count = COUNT) = Array.new(count) { klass.new }

    # Of objects that are all alive, at the interval in force.
    def assert_found(count, profile = HeapProfile.snapshot, value = :inuse_objects, **where)
      found = total(profile, value, **where)
      assert_in_delta count, found, Estimator.allowance(count, SLOTS[0], HeapProfile.stat(:interval_bytes)), where
    end

    def assert_thinned(before = 1)
      stat = HeapProfile.stat
      assert_equal [0, before << stat[:doublings]], stat.values_at(:dropped, :interval_bytes)
      assert_operator stat[:doublings], :>, 0
      assert_operator stat[:memory_peak], :<=, stat[:memory_budget]
      stat
    end
  RUBY

  def test_what_came_first_and_what_came_last_are_known_alike
    in_child(THIN + <<~'RUBY')
      [1, 100].each do |interval|
        thin(interval: interval)
        $kept = make(Early), make(Late)
        assert_thinned(interval)
        profile = HeapProfile.snapshot(gc: true)
        %w[Early Late].each do |name|
          assert_found(COUNT, profile, class_name: name)
          assert_equal total(profile, :inuse_objects, class_name: name), total(profile, :alloc_objects, class_name: name)
        end
        HeapProfile.stop
      end
    RUBY
  end

  # No sample of its kind is there that would give up room. It once asked for ever, and was given back its own site.
  def test_the_first_object_finds_room_when_blocks_and_names_have_used_up_all
    in_child(THIN + <<~'RUBY')
      thin(interval: 1 << 27, malloc_interval: 1)
      kept = Array.new(30_000) { "x" * 1000 }
      2000.times { |i| eval("def name_that_is_long_#{i} = 'y' * 1_000_000; kept << name_that_is_long_#{i}.byteslice(0, 3000)") }
      HeapProfile.interval = 1
      kept << make(Late, 10)
      assert_equal 10, total(HeapProfile.snapshot, :inuse_objects, class_name: "Late")
    RUBY
  end

  # No sample has to wait until all have been thinned: it makes room for itself and a few others.
  def test_samples_are_thinned_a_few_at_a_time
    in_child(THIN + <<~'RUBY')
      thin
      kept = []
      kept << Early.new until HeapProfile.stat(:doublings) > 0
      assert_operator HeapProfile.stat(:live_samples), :>, kept.size * 9 / 10
      100.times do # in all steps of it
        assert_found(kept.size, class_name: "Early")
        kept.concat(make(Early, 20))
        GC.start(full_mark: kept.size % 80 == 0)
      end
      kept.concat(make(Early, 2000))
      assert_operator HeapProfile.stat(:live_samples), :<, kept.size * 6 / 10
      assert_thinned
      assert_found(kept.size, class_name: "Early")
    RUBY
  end

  # A stack for each object: there are fewer sites and nodes, too, and what is below a frame adds up.
  def test_estimates_are_right_by_outer_frame_when_each_object_has_a_stack_of_its_own
    in_child(THIN + <<~'RUBY')
      def below(number, depth)
        return Early.new if depth == 0
        return below(number >> 1, depth - 1) if number.odd?
        below(number >> 1, depth - 1)
      end
      def left(number) = below(number, 15)
      def right(number) = below(number, 15)

      thin
      $kept = Array.new(15_000) { |i| left(i) } + Array.new(15_000) { |i| right(i) }
      stat = assert_thinned
      assert_operator stat[:stack_nodes], :>, 1000
      profile = HeapProfile.snapshot
      %w[left right].each { |name| assert_found(15_000, profile, label: "Object##{name}") }
    RUBY
  end

  # Recursion that is deeper than any before: a walk needs no room, though what there is is in no table that is full.
  def test_a_walk_needs_no_room
    in_child(THIN + <<~'RUBY')
      def first(levels) = levels == 0 ? Early.new : first(levels - 1)
      def deeper(levels) = levels == 0 ? Late.new : deeper(levels - 1)

      [2, 512].product((64..68).to_a).each do |depth, budget| # of which each leaves another rest
        thin(depth: depth, memory: budget << 14, malloc_interval: 1)
        first(3900)
        strings = Array.new(6000) { "x" * 1000 }
        strings.pop(5800)
        GC.start
        HeapProfile.interval = 1
        $kept = Array.new(30) { deeper(8000) }
        assert_equal 0, HeapProfile.stat(:dropped)
        assert_equal 30, total(HeapProfile.snapshot, class_name: "Late")
        HeapProfile.stop
      end
    RUBY
  end

  # No stack takes more than an eighth of the budget, and those that nothing needs any more go before any sample does.
  def test_stacks_of_any_depth_find_room_when_the_budget_is_used_up
    in_child(THIN + <<~'RUBY')
      def down(levels) = levels == 0 ? Late.new : down(levels - 1)

      { 2 => 256, 512 => 512, 65_535 => 512 }.each do |depth, most|
        thin(depth: depth)
        $kept = make(Early), Array.new(600) { |i| down(i * 13) } # of up to 7,800 frames
        assert_operator assert_thinned[:interval_bytes], :<=, most
        profile = HeapProfile.snapshot
        assert_found(COUNT, profile, class_name: "Early")
        assert_found(600, profile, class_name: "Late")
        assert_operator profile.map { |row| row.frames.size }.max, :<=, [depth, 4096].min + 1
        HeapProfile.stop
      end
    RUBY
  end

  # A program whose samples have few stacks at first, and then many: memory goes from one table to another.
  def test_samples_give_memory_back_that_stacks_need
    in_child(THIN + <<~'RUBY')
      thin
      kept = make(Early)
      2000.times { |i| kept << eval("\n" * i + "[1].map { Late.new }")[0] }
      assert_thinned
      profile = HeapProfile.snapshot
      assert_found(COUNT, profile, class_name: "Early")
      assert_found(2000, profile, class_name: "Late")
    RUBY
  end

  # The table of blocks kept what it had grown to: all that a stack needs more of was refused, samples of others were thinned
  # in vain, and it was dropped.
  def test_freed_blocks_give_memory_back_that_stacks_need
    in_child(THIN + <<~'RUBY')
      require "-test-/heapprof_blocks"
      LARGE = 1 << 22
      10.times { |n| eval("def deep#{n}(frames) = frames == 0 ? HeapProfBlocks.malloc(LARGE) : deep#{n}(frames - 1)") }
      def deep = Array.new(10) { |n| send("deep#{n}", 600) }
      deep.each { |block| HeapProfBlocks.free(block) }
      thin(interval: 1 << 30, malloc_interval: 1, depth: 512)
      blocks = []
      blocks << HeapProfBlocks.malloc(100) until (doublings = HeapProfile.stat(:doublings)) > 0
      blocks.each { |block| HeapProfBlocks.free(block) }
      deep
      large = HeapProfile.snapshot.select { |row| row.inuse_malloc_space >= LARGE }
      assert_equal [1 + 512] * 10, large.map { |row| row.frames.size } # [truncated]
      assert_equal [0, doublings], HeapProfile.stat.values_at(:dropped, :doublings)
      assert_operator HeapProfile.stat(:memory_used), :<, 3 << 18
    RUBY
  end

  # Classes, methods and files that are never seen again: names are given back with what they are of.
  def test_new_names_for_ever_do_not_use_up_the_budget
    in_child(THIN + <<~'RUBY')
      def run_once(number)
        name = "a_method_that_is_made_but_once_and_has_#{"a_long_name_and_" * 15}number_#{number}"
        klass = eval("Class.new { def #{name} = [Early.new, self.class.new] }", nil, "/made/once/#{number}.rb", 1)
        Object.const_set("MadeOnce#{number}", klass)
        klass.new.send(name)
      ensure
        Object.send(:remove_const, "MadeOnce#{number}")
      end

      thin(memory: 2 << 20, malloc_interval: 0) # less than all those names take
      kept = []
      60.times do |round|
        50.times { |i| run_once(50 * round + i) }
        kept << run_once("Kept#{round}")
        GC.start
      end
      stat = HeapProfile.stat
      assert_equal 0, stat[:dropped]
      assert_operator stat[:memory_peak], :<=, 2 << 20
      assert_operator stat[:nameless_sites], :>, 5_000
      stacks = kept.each_index.to_h { |round| [round, HeapProfile.allocation_stack(kept[round][0])] }.compact
      assert_operator stacks.size, :>, 3
      stacks.each do |round, frames|
        assert_equal "/made/once/Kept#{round}.rb", frames[1].path
        assert_match(/#a_method_that_is_made_but_once_.*_number_Kept#{round}\z/, frames[1].label)
      end
      names = HeapProfile.snapshot(gc: true).select { |row| row.inuse_objects > 0 }.map(&:class_name)
      assert_not_include names, "(anonymous)"
      assert_operator names.grep(/\AMadeOnceKept\d+\z/).size, :>, 3
    RUBY
  end

  # Many live classes at a time, whose names do not fit: what is sampled of them is thinned.
  def test_names_that_are_all_in_use_are_thinned_with_their_samples
    in_child(THIN + <<~'RUBY')
      thin
      $kept = Array.new(8000) do |number|
        Object.const_set("AClassWithALongNameThatIsKeptAndHasNumber#{number}", Class.new(Early)).new
      end
      assert_thinned
      rows = HeapProfile.snapshot(gc: true).select { |row| row.class_name.start_with?("AClass") && row.frames.any? }
      assert_in_delta 8000, rows.sum(&:inuse_objects), Estimator.allowance(8000, SLOTS[0], HeapProfile.stat(:interval_bytes))
      assert_equal [], HeapProfile.snapshot.select { |row| row.class_name == "(anonymous)" }.map(&:frames)
    RUBY
  end

  def test_allocated_is_what_is_dead_and_what_is_in_use
    in_child(THIN + <<~'RUBY')
      thin
      kept = []
      10.times do
        kept << make(Early, 5000)
        make(Early, 5000)
        GC.start
      end
      assert_thinned
      profile = HeapProfile.snapshot(gc: true)
      rows = profile.select { |row| row.class_name == "Early" }
      dead, alive = rows.partition { |row| row.inuse_objects == 0 }
      assert dead.all? { |row| row.alloc_objects >= 0 }
      assert_equal alive.sum(&:inuse_objects), alive.sum(&:alloc_objects)
      assert_equal total(profile, :alloc_objects, class_name: "Early"), (dead + alive).sum(&:alloc_objects)
      assert_found(50_000, profile, class_name: "Early")
      assert_found(100_000, profile, :alloc_objects, class_name: "Early") # which is known better than that
    RUBY
  end

  def test_blocks_are_thinned_too_and_both_intervals_keep_their_ratio
    in_child(THIN + <<~'RUBY')
      size = 1000
      thin(interval: 1000, malloc_interval: 100)
      kept = Array.new(20_000) { |i| "x" * size }
      stat = assert_thinned(1000)
      assert_equal 100 << stat[:doublings], stat[:malloc_interval_bytes]
      profile = HeapProfile.snapshot
      bytes = profile.sum(&:inuse_malloc_space)
      found = profile.select { |row| row.frames.any? { |frame| frame.label == "String#*" } }.sum(&:inuse_malloc_space)
      p = Estimator.probability(size, stat[:malloc_interval_bytes])
      sigma = Math.sqrt(20_000 * (1 - p) / p) * (size + 8)
      assert_in_delta 20_000 * (size + 8), found, Estimator::SIGMAS * sigma + 20_000 * 8
      kept.clear
      assert_operator HeapProfile.snapshot(gc: true).sum(&:inuse_malloc_space), :<, bytes / 10
    RUBY
  end

  # In the midst of marking and of sweeping, where the next sample does not fit.
  def test_it_happens_at_any_moment_of_a_gc
    in_child(THIN + <<~'RUBY')
      thin
      kept = Array.new(40) do |i|
        GC.start(full_mark: i.odd?, immediate_mark: i % 3 == 0, immediate_sweep: i % 5 == 0)
        make(Early, 1000)
      end
      GC.stress = true
      50.times { kept << Late.new }
      GC.stress = false
      GC.verify_compaction_references(expand_heap: true, toward: :empty) rescue GC.compact
      assert_thinned
      assert_found(40_000, HeapProfile.snapshot(gc: true), class_name: "Early")
      assert_equal 40_050, kept.flatten.size
    RUBY
  end

  def test_samples_survive_compaction_after_they_were_thinned
    in_child(THIN + <<~'RUBY')
      require "-test-/heapprof_capi"
      thin
      kept = make(Early)
      interval = assert_thinned[:interval_bytes]
      HeapProfCAPI.set_interval(1 << 40) # so that nothing is thinned from here on
      thinned = kept.count { |object| HeapProfile.allocation_stack(object) }
      kept = kept.each_slice(2).map(&:first)
      GC.start
      before = kept.count { |object| HeapProfile.allocation_stack(object) }
      GC.compact
      assert_operator thinned, :<, COUNT
      assert_equal before, kept.count { |object| HeapProfile.allocation_stack(object) }
      assert_in_delta COUNT / 2, total(HeapProfile.snapshot(gc: true), class_name: "Early"),
                      Estimator.allowance(COUNT / 2, SLOTS[0], interval)
      HeapProfile.stop
      GC.start
    RUBY
  end

  def test_child_of_fork_thins_what_it_inherited_and_what_it_makes
    in_child(THIN + <<~'RUBY')
      thin(interval: 40)
      kept = [make(Early, 20_000)]
      child = IO.popen("-") do |io|
        next io.read if io
        kept << make(Late, 60_000)
        stat = HeapProfile.stat
        profile = HeapProfile.snapshot
        puts [stat[:doublings], stat[:dropped], stat[:interval_bytes],
              *%w[Early Late].map { |name| total(profile, class_name: name) }].join(" ")
        $stdout.flush
        exit!
      end
      doublings, dropped, interval, early, late = child.split.map(&:to_i)
      assert_equal [40 << doublings, 0], [interval, dropped]
      assert_operator doublings, :>, HeapProfile.stat(:doublings)
      assert_in_delta 20_000, early, Estimator.allowance(20_000, SLOTS[0], interval)
      assert_in_delta 60_000, late, Estimator.allowance(60_000, SLOTS[0], interval)
      assert_found(20_000, class_name: "Early")
    RUBY
  end

  def test_four_ractors_are_thinned_together
    in_child(THIN + <<~'RUBY')
      Warning[:experimental] = false
      thin
      ractors = Array.new(4) { Ractor.new { kept = Array.new(15_000) { Early.new }; Ractor.yield(1); Ractor.receive; kept } }
      ractors.each(&:take)
      assert_thinned
      profile = HeapProfile.snapshot(gc: true)
      assert_found(60_000, profile, class_name: "Early")
      ractors.each { |ractor| ractor.send(:end) }.each(&:take)
    RUBY
  end

  def test_a_finer_interval_may_be_set_again_and_is_thinned_again
    in_child(THIN + <<~'RUBY')
      require "-test-/heapprof_capi"
      thin
      kept = [make(Early)]
      doublings = assert_thinned[:doublings]
      assert HeapProfCAPI.set_interval(1)
      kept << make(Late)
      stat = HeapProfile.stat
      assert_operator stat[:doublings], :>, doublings
      assert_equal 0, stat[:dropped]
      profile = HeapProfile.snapshot
      %w[Early Late].each do |name|
        coarser = [stat[:interval_bytes], 1 << doublings].max
        assert_in_delta COUNT, total(profile, class_name: name), Estimator.allowance(COUNT, SLOTS[0], coarser)
      end
    RUBY
  end

  # Of many objects fewer are sampled, and of what comes when few are left more again.
  def test_automatic_interval_follows_the_number_of_live_samples
    in_child(THIN + <<~'RUBY')
      class Large # fills a slot of 160 bytes
        def initialize = 16.times { |i| instance_variable_set("@word#{i}", i) }
      end
      large = Array.new(3) { Large.new }.last
      count = 1_100_000
      HeapProfile.start(interval: :auto, malloc_interval: 0, seed: 1)
      assert_equal 4096, HeapProfile.stat(:interval_bytes)
      $kept = Array.new(count) { large.dup }
      stat = HeapProfile.stat
      assert_equal [8192, 0, 0], stat.values_at(:interval_bytes, :doublings, :dropped)
      assert_includes 10_000..40_000, stat[:live_samples]
      assert_in_delta count, total(HeapProfile.snapshot, class_name: "Large"), Estimator.allowance(count, SLOTS[2], 8192)
      $kept = nil
      2.times { GC.start }
      assert_equal 4096, HeapProfile.stat(:interval_bytes)
      HeapProfile.interval = 512
      $kept = make(Early, 300_000)
      assert_equal [512, 0], HeapProfile.stat.values_at(:interval_bytes, :doublings)
      HeapProfile.interval = :auto
      HeapProfile.stop
      assert_raise(TypeError) { HeapProfile.start(interval: :automatic) }
    RUBY
  end

  # Nothing is told while nothing has happened.
  def test_the_file_and_a_line_at_the_end_say_how_often_it_has_doubled
    script = "class Item; end; $kept = Array.new(60_000) { Item.new }; exit 3"
    in_directory do
      ran = run_ruby("--disable-gems", "-e", script, heapprof: "interval=1,memory=1m,out=p.pb.gz")
      every = ran.err[/\Aruby: heap profiler: the profile has fewer samples than were asked for: one every (\d+) bytes allocated, because memory=\d+ was full; /, 1]
      assert every, ran.err
      times = Integer(every).bit_length - 1
      assert_equal [3, 1], [ran.status.exitstatus, ran.err.lines.size]
      comments = read_profile("p.pb.gz").comments
      ["doubled intervals: #{times}", "dropped samples: 0", "interval: #{every} bytes"].each do |comment|
        assert_include comments, comment
      end
      assert_in_delta 60_000, read_profile("p.pb.gz").total(:inuse_objects, class_name: "Item"),
                      Estimator.allowance(60_000, 40, Integer(every))

      ran = run_ruby("--disable-gems", "-e", script, heapprof: "interval=1,out=p.pb.gz")
      assert_equal [3, ""], [ran.status.exitstatus, ran.err]
      assert_include read_profile("p.pb.gz").comments, "doubled intervals: 0"
    end
  end
end
