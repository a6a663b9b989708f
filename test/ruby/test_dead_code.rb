# frozen_string_literal: true

# test_dead_code.rb - a process that makes code as it runs has the tables of its living code: what dead code has left is
# merged, all sums stay, and what is alive is shown where it was allocated. Rows are those of the file.

require_relative "lib/heapprof_test"

class TestHeapProfDeadCode < Test::Unit::TestCase
  include HeapProfTest

  # How many functions may be of dead code: names (HEAPPROF_DEAD_NAMES), what has died since the last time, and some.
  SCRIPT = <<~'RUBY'
    $VERBOSE = nil # methods are redefined
    class Made; end
    MOST = 256 + 64 + 100
    TABLES = %i[functions stack_nodes sites]

    # Code of three kinds that dies at once.
    def evaluate(i)
      eval("def evaluated#{i % 20}(x) = [x, Made.new]", TOPLEVEL_BINDING, "evaluated.rb", 7)
      send("evaluated#{i % 20}", i)
    end

    def without_name
      Class.new { define_method(:made) { [Made.new] } }.new.made
    end

    def render(i) = eval("[Made.new]", nil, "template#{i}.erb", 1)

    def tables = HeapProfile.stat.values_at(*TABLES)
    def made(profile) = total(profile, :alloc_objects, class_name: "Made")
  RUBY

  def test_a_soak_of_evals_classes_and_templates_is_flat
    in_child(SCRIPT + <<~'RUBY')
      HeapProfile.start(interval: 1)
      count = scaled(1000)
      seen = Array.new(8) do |round|
        count.times { |i| evaluate(i); without_name; render(round * count + i) }
        GC.start
        tables
      end
      functions, nodes, sites = seen.transpose
      assert_operator functions.max, :<, 2 * MOST, seen.inspect
      assert_operator nodes.max, :<, 4 * MOST, seen.inspect
      assert_operator sites.max, :<, 6 * MOST, seen.inspect
      assert_equal 8 * 3 * count, made(HeapProfile.snapshot)
      assert_operator HeapProfile.snapshot.count, :<, 8 * MOST
    RUBY
  end

  def test_each_kind_alone_is_flat
    ["evaluate(i)", "without_name", "render(i)", "Made.const_set(:K, Class.new).new; Made.send(:remove_const, :K)",
     "Made.const_set(:\"K#{"\#{i}"}\", Class.new).new; Made.send(:remove_const, :\"K#{"\#{i}"}\")",
     "Object.new.instance_eval { def self.one = Made.new; one }"].each do |code|
      in_child(SCRIPT + <<~RUBY)
        HeapProfile.start(interval: 1)
        most = 0
        scaled(5000).times do |i|
          #{code}
          GC.start if i % 500 == 0
          most = [most, HeapProfile.stat(:functions)].max if i % 100 == 0
        end
        assert_operator most, :<, 2 * 500 + MOST # two iseqs each, between two GCs
        GC.start
        #{code.gsub(/\bi\b/, "5001")}
        assert_operator HeapProfile.stat(:functions), :<, MOST
        assert_operator HeapProfile.stat(:sites), :<, 3 * MOST
      RUBY
    end
  end

  def test_evals_of_one_path_line_and_label_are_one_row
    in_child(SCRIPT + <<~'RUBY')
      HeapProfile.start(interval: 1)
      2000.times { |i| evaluate(i) }
      GC.start
      rows = HeapProfile.snapshot.select { |row| row.class_name == "Made" && row.gc_age.nil? }
      places = rows.map { |row| row.frames[1].then { |frame| [frame.path, frame.lineno, frame.label] } }
      assert_equal Array.new(20) { |i| ["evaluated.rb", 7, "Object#evaluated#{i}"] }.sort, places.sort
      assert_in_delta 2000, rows.sum(&:alloc_objects), 60 # some are still alive
      assert_equal 2000, made(HeapProfile.snapshot)
    RUBY
  end

  def test_names_that_are_given_up_are_dead_code_below_their_callers
    in_child(SCRIPT + <<~'RUBY')
      HeapProfile.start(interval: 1)
      def page(i) = render(i)
      2000.times { |i| page(i) }
      GC.start
      2000.times { |i| page(2000 + i) }
      rows = HeapProfile.snapshot.select { |row| row.class_name == "Made" }
      nameless = rows.select { |row| row.frames.any? { |frame| frame.label == "[dead code]" } }
      assert_equal 4000, rows.sum(&:alloc_objects)
      assert_operator nameless.sum(&:alloc_objects), :>, 1000
      labels = nameless.flat_map { |row| row.frames.map(&:label) }.uniq
      assert_empty ["Object#page", "Object#render", "Class#new"] - labels
      assert_empty labels.grep(/erb/)
      stat = HeapProfile.stat
      assert_operator stat[:nameless_sites], :>, 1000
      assert_operator stat[:merged_sites], :>, 1000
    RUBY
  end

  def test_what_is_alive_keeps_its_row
    in_child(SCRIPT + <<~'RUBY')
      HeapProfile.start(interval: 1)
      kept = 200.times.to_h { |i| [render(100_000 + i)[0], ["template#{100_000 + i}.erb", 1]] }
      evaluated = Array.new(200) { |i| evaluate(i)[1] }
      3000.times { |i| evaluate(i); render(i); without_name }
      GC.start
      GC.compact if GC.respond_to?(:compact)
      kept.each do |object, place|
        frame = HeapProfile.allocation_stack(object)[1]
        assert_equal place, [frame.path, frame.lineno]
      end
      evaluated.each_with_index do |object, i|
        assert_equal "Object#evaluated#{i % 20}", HeapProfile.allocation_stack(object)[1].label
      end
      rows = HeapProfile.snapshot(gc: true).select { |row| row.class_name == "Made" && row.inuse_objects > 0 }
      assert_in_delta 400, rows.sum(&:inuse_objects), 9
      assert_equal kept.values.sort, rows.map { |row| [row.frames[1].path, row.frames[1].lineno] }.grep(->((path, _)) { path.match?(/template1\d{5}/) }).sort
    RUBY
  end

  def test_blocks_of_dead_code_keep_their_sums
    in_child(SCRIPT + <<~'RUBY')
      HeapProfile.start(interval: 1, malloc_interval: 1)
      def buffers(i) = eval("'x' * 5000", nil, "template#{i}.erb", 1)
      kept = Array.new(100) { |i| buffers(1_000_000 + i) }
      3000.times { |i| buffers(i) }
      GC.start
      3000.times { |i| buffers(3000 + i) }
      GC.start
      profile = HeapProfile.snapshot(owners: true)
      bytes = profile.select { |row| row.frames.any? { |frame| frame.label == "Object#buffers" } }
      assert_operator bytes.sum(&:alloc_malloc_space), :>=, 6100 * 5001
      alive = bytes.select { |row| row.frames.any? { |frame| frame.path.match?(/template1\d{6}/) } }
      assert_in_delta 100 * 5001, alive.sum(&:inuse_malloc_space), 5001 * 3
      assert_operator HeapProfile.stat(:functions), :<, 3 * MOST
      assert_equal 100, kept.size
    RUBY
  end

  # ---- rows ----

  # 20 methods that are evaluated again and again, and live: code and classes that look the same.
  ALIKE = SCRIPT + <<~'RUBY'
    KEPT = Array.new(300) do |i|
      Class.new { eval("def evaluated(x) = [x, Made.new, 'x' * 1000]", binding, "evaluated.rb", 7) }
    end
    def visible(row) = row.to_h.except(:inuse_objects, :inuse_slot_space, :inuse_malloc_space, :alloc_objects, :alloc_slot_space,
                                       :alloc_malloc_space, :rss_space, :memsize)
  RUBY

  def test_rows_are_those_of_the_file
    in_directory do
      in_child(ALIKE + <<~'RUBY', "-C", Dir.pwd)
        HeapProfile.start(interval: 1, malloc_interval: 1)
        kept = KEPT.map { |klass| klass.new.evaluated(1) }
        2000.times { |i| evaluate(i); render(i); without_name }
        [{}, { gc: true }, { owners: true }, { rss: true }].each do |with|
          profile = HeapProfile.snapshot(**with)
          profile.write("profile.pb.gz")
          rows, of_file = profile.to_a, HeapProfile.load("profile.pb.gz").to_a
          assert_equal rows.size, profile.count
          assert_equal rows.size, rows.uniq { |row| visible(row) }.size
          assert_equal of_file.size, rows.size
          assert_equal of_file.sum(&:alloc_objects), rows.sum(&:alloc_objects)
          assert_equal of_file.sum(&:inuse_malloc_space), rows.sum(&:inuse_malloc_space)
        end
        rows = HeapProfile.snapshot(gc: true).select { |row| row.class_name == "Made" && row.inuse_objects > 0 }
        assert_equal [300], rows.select { |row| row.frames[1].path == "evaluated.rb" }.map(&:inuse_objects)
        assert_equal 300, kept.size
      RUBY
    end
  end

  def test_a_difference_across_a_merging_has_what_came_in_between
    in_child(SCRIPT + <<~'RUBY')
      HeapProfile.start(interval: 1)
      500.times { |i| evaluate(i) }
      GC.start
      before, merged = HeapProfile.snapshot, HeapProfile.stat(:merged_sites)
      1500.times { |i| evaluate(i) }
      GC.start
      after = HeapProfile.snapshot
      assert_operator HeapProfile.stat(:merged_sites), :>, merged
      rows = (after - before).select { |row| row.class_name == "Made" }
      assert_equal 1500, rows.sum(&:alloc_objects)
      assert_equal 20, rows.size
    RUBY
  end

  # ---- stat ----

  def test_stat_says_how_much_belongs_to_dead_code
    in_child(SCRIPT + <<~'RUBY')
      assert_equal [0] * 5, HeapProfile.stat.values_at(:dead_functions, :dead_stack_nodes, :dead_sites, :merged_sites, :nameless_sites)
      HeapProfile.start(interval: 1)
      20.times { |i| render(i) }
      4.times { GC.start }
      stat = HeapProfile.stat
      assert_includes 18..20, stat[:dead_functions]
      assert_operator stat[:dead_stack_nodes], :>=, 18
      assert_operator stat[:dead_sites], :>=, 18
      %i[functions stack_nodes sites].each { |key| assert_operator stat[:"dead_#{key}"], :<=, stat[key] }
      %i[dead_functions dead_stack_nodes dead_sites merged_sites].each { |key| assert_equal stat[key], HeapProfile.stat(key) }
    RUBY
  end

  # ---- whatever else happens ----

  def test_stacks_that_are_running_are_right_after_each_merging
    in_child(SCRIPT + <<~'RUBY')
      def deeper(n, &block) = n == 0 ? block.call : deeper(n - 1, &block)
      def check
        object = Made.new
        stack = HeapProfile.allocation_stack(object)
        assert_equal caller_locations(0).map(&:label), stack.drop(1).map(&:label)
        assert_equal caller_locations(1, 1)[0].lineno, stack[2].lineno
      end
      HeapProfile.start(interval: 1, depth: 500)
      fibers = Array.new(5) { |i| Fiber.new { deeper(10 * i) { loop { check; Fiber.yield } } } }
      merged = []
      deeper(50) do
        30.times do |round|
          100.times { |i| evaluate(i); render(100 * round + i) }
          GC.start
          fibers.each(&:resume)
          check
          merged << HeapProfile.stat(:merged_sites)
        end
      end
      assert_operator merged.uniq.size, :>, 5
    RUBY
  end

  def test_under_gc_stress_nothing_is_lost
    in_child(SCRIPT + <<~'RUBY')
      HeapProfile.start(interval: 1)
      GC.stress = true
      150.times { |i| render(i) }
      GC.stress = false
      GC.start
      300.times { |i| render(1000 + i) }
      assert_equal 450, made(HeapProfile.snapshot)
      assert_operator HeapProfile.stat(:merged_sites) + HeapProfile.stat(:nameless_sites), :>, 0
    RUBY
  end

  def test_with_compaction_after_each_round_nothing_is_lost
    omit "no compaction" unless GC.respond_to?(:compact)
    in_child(SCRIPT + <<~'RUBY')
      HeapProfile.start(interval: 1)
      kept = []
      GC.auto_compact = true
      20.times do |round|
        100.times { |i| evaluate(i); without_name; kept << render(100 * round + i)[0] if i % 10 == 0 }
        round.even? ? GC.compact : GC.start
      end
      GC.auto_compact = false
      assert_equal 20 * 210, made(HeapProfile.snapshot)
      kept.each_with_index do |object, i|
        assert_equal "template#{100 * (i / 10) + i % 10 * 10}.erb", HeapProfile.allocation_stack(object)[1].path
      end
    RUBY
  end

  def test_a_forked_child_goes_on
    omit "no fork" unless Process.respond_to?(:fork)
    in_child(SCRIPT + <<~'RUBY')
      HeapProfile.start(interval: 1)
      1000.times { |i| evaluate(i); render(i) }
      pid = fork do
        1000.times { |i| evaluate(i); render(1000 + i) }
        GC.start
        evaluate(1)
        exit!(made(HeapProfile.snapshot) == 4001 && HeapProfile.stat(:functions) < 2 * MOST)
      end
      assert_predicate Process.wait2(pid)[1], :success?
      assert_equal 2000, made(HeapProfile.snapshot)
    RUBY
  end

  def test_ractors_make_code_side_by_side
    in_child(SCRIPT + <<~'RUBY')
      Warning[:experimental] = false
      HeapProfile.start(interval: 1, malloc_interval: 100)
      ractors = Array.new(3) do |r|
        Ractor.new(r, scaled(800)) do |n, count|
          count.times { |i| eval("[Made.new]", nil, "template#{n}_#{i}.erb", 1) }
        end
      end
      scaled(800).times { |i| evaluate(i) }
      ractors.each(&:take)
      GC.start
      100.times { |i| evaluate(i) }
      assert_equal 4 * scaled(800) + 100, made(HeapProfile.snapshot)
      assert_operator HeapProfile.stat(:merged_sites), :>, 0
    RUBY
  end

  # A snapshot that is being copied is of the moment at which it began: merging waits for its end.
  def test_a_snapshot_that_is_taken_meanwhile_is_of_one_moment
    in_child(SCRIPT + <<~'RUBY')
      HeapProfile.start(interval: 1)
      stop = false
      maker = Thread.new { i = 0; render(i += 1) until stop }
      counted = Array.new(4) do
        profile = HeapProfile.snapshot(owners: false)
        rows = profile.select { |row| row.class_name == "Made" }
        assert_equal profile.count, profile.to_a.uniq { |row| row.to_h.values_at(:class_name, :frames, :gc_age, :caller, :kind) }.size
        rows.sum(&:alloc_objects)
      end
      stop = true
      maker.join
      assert_equal counted.sort, counted
    RUBY
  end

  def test_within_a_small_budget_nothing_is_dropped
    in_child(SCRIPT + <<~'RUBY')
      HeapProfile.start(interval: 1, memory: 3 << 20)
      scaled(10_000).times { |i| render(i); evaluate(i); GC.start if i % 100 == 0 }
      stat = HeapProfile.stat
      assert_equal [0, 0, 0], stat.values_at(:dropped, :doublings, :folded)
      assert_equal 2 * scaled(10_000), made(HeapProfile.snapshot)
    RUBY
  end
end
