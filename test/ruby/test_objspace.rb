# frozen_string_literal: true

# test_objspace.rb - the heap as others see it: while every object is sampled, walks, dumps and
# counts of the heap find what they find without the profiler, and no object is damaged.

require_relative "lib/heapprof_test"

class TestHeapProfObjspace < Test::Unit::TestCase
  include HeapProfTest

  WORKLOAD = File.join(__dir__, "lib/workload.rb")

  # Runs the script with the workload's objects alive, with and without the profiler: both print the
  # same, but that a number at a line's end may be off by so many: stale words on the machine stack.
  def assert_same_heap(script, *args, stale: 0)
    source = <<~RUBY
      require "objspace"
      require #{WORKLOAD.dump}
      CLASSES = Workload.sites.values.uniq.map { |name| Object.const_get(name) }
      kept = Fiber.new { Workload.run(100) }.resume # a stack of its own: ours has no stale word of the garbage
      #{script}
      kept.size == 1400 or raise "lost"
    RUBY
    plain = run_ruby("--disable-gems", *args, "-", stdin: source)
    assert_clean plain
    assert_operator plain.out.size, :>, 10
    in_directory do
      profiled = run_ruby("--disable-gems", *args, "-", stdin: source, heapprof: "interval=1,out=p.pb.gz")
      assert_clean profiled
      lines = [plain, profiled].map { |ran| ran.out.lines.map { |line| line.chomp.partition(/\d*\z/) } }
      assert_equal(*lines.map { |all| all.map(&:first) })
      lines[0].zip(lines[1]) { |(text, number), (_, other)| assert_in_delta number.to_i, other.to_i, stale, text }
      assert_operator read_profile("p.pb.gz").total(class_name: "Workload::Item"), :==, 100
    end
  end

  # ---- walks ----

  def test_each_object_finds_the_same_objects
    assert_same_heap(<<~'RUBY', stale: 3)
      GC.start
      puts CLASSES.map { |klass| "#{klass} #{ObjectSpace.each_object(klass).count}" }
      puts ObjectSpace.each_object(Module).map(&:to_s).reject { |name| name.include?("0x") }.sort
      GC.compact
      puts [Workload::Item, Workload::Wide, Workload::Pair].map { |klass| "#{ObjectSpace.each_object(klass).count} exactly" }
    RUBY
  end

  def test_objects_of_every_type_are_as_many
    assert_same_heap(<<~'RUBY', stale: 3)
      GC.start
      counts = ObjectSpace.count_objects
      puts counts.except(:TOTAL, :FREE).map { |type, count| "#{type} #{count}" }
      [ObjectSpace.count_imemo_objects, ObjectSpace.count_tdata_objects, ObjectSpace.count_symbols].each do |counts|
        puts counts.map { |key, count| "#{key.to_s.sub(/0x\h+/, '')} #{count}" }.sort
      end
    RUBY
  end

  # At once after the allocation the newest sample waits to be resolved, and free lists are cut.
  def test_walk_in_the_middle_of_allocation_sees_no_damaged_object
    in_child(<<~'RUBY', "-robjspace", "-rjson")
      class Item; end
      HeapProfile.start(interval: 1)
      kept = []
      200.times do |i|
        kept << Item.new << "text #{i}" * (i % 30) << [i] * (i % 20)
        next if i % 10 != 0
        assert_equal (i + 1), ObjectSpace.each_object(Item).count
        ObjectSpace.each_object { |object| Module === object || object.class }
        assert_equal %w[OBJECT STRING ARRAY], kept.last(3).map { |object| JSON.parse(ObjectSpace.dump(object))["type"] }
      end
      HeapProfile.stop
      assert_equal 200, ObjectSpace.each_object(Item).count
    RUBY
  end

  # ---- dumps ----

  def test_dump_all_is_whole_and_has_the_same_objects
    assert_same_heap(<<~'RUBY', "-rjson")
      require "tempfile"
      GC.start
      lines = Tempfile.create do |file|
        ObjectSpace.dump_all(output: file, full: true)
        file.rewind
        file.each_line.map { |line| JSON.parse(line) }
      end
      heap = lines.reject { |line| line["type"] == "ROOT" }
      known = heap.to_h { |line| [line["address"], true] }
      known.size == heap.size or raise "an address comes twice"
      free, live = heap.partition { |line| line["type"] == "NONE" }
      live.each do |line|
        line["references"]&.each { |address| known[address] or raise "#{line} refers to nothing" }
      end
      p live.map { |line| line["type"] }.tally.slice("OBJECT", "STRUCT", "FLOAT", "RATIONAL", "CLASS", "MODULE", "REGEXP")
      p free.size > 100
    RUBY
  end

  def test_object_dump_is_the_same
    assert_same_heap(<<~'RUBY')
      samples = kept.each_slice(100).map(&:first)
      puts samples.map { |object| ObjectSpace.dump(object).gsub(/0x\h+/, "0x") }
      puts samples.map { |object| ObjectSpace.memsize_of(object) }
      GC.start
      puts [Workload::Item, Workload::Wide, Workload::Pair].map { |klass| ObjectSpace.memsize_of_all(klass) }
    RUBY
  end

  # ---- counts ----

  def test_gc_counts_the_same_allocations_and_frees
    assert_same_heap(<<~'RUBY')
      GC.start
      GC.disable
      before = GC.stat(:total_allocated_objects)
      i = 0
      i += Workload.item(i) && 1 while i < 10_000
      p GC.stat(:total_allocated_objects) - before
      GC.enable
      3.times { GC.start }
      live = GC.stat(:heap_live_slots)
      kept << nil
      kept.pop
      GC.start
      p (GC.stat(:heap_live_slots) - live).abs < 10
      stat = GC.stat
      p stat[:heap_live_slots] + stat[:heap_free_slots] == stat[:heap_available_slots]
      p stat[:total_allocated_objects] - stat[:total_freed_objects] == stat[:heap_live_slots]
    RUBY
  end

  # ---- objspace's own tracing ----

  def test_traced_allocation_and_sample_agree_on_where_it_was
    in_child(<<~'RUBY', "-robjspace", "-r#{WORKLOAD}")
      ObjectSpace.trace_object_allocations_start
      HeapProfile.start(interval: 1)
      kept = Workload.run(50)
      3.times { GC.start }
      kept.each do |object|
        frame = HeapProfile.allocation_stack(object).find { |frame| frame.label.start_with?("Workload") }
        traced = [ObjectSpace.allocation_sourcefile(object), ObjectSpace.allocation_sourceline(object)]
        assert_equal traced, [frame.path, frame.lineno], "#{object.class}: #{frame}"
      end
    RUBY
  end

  def test_either_stops_while_the_other_goes_on
    in_child(<<~'RUBY', "-robjspace", "-r#{WORKLOAD}")
      def traced?(object) = !!ObjectSpace.allocation_sourcefile(object)
      def sampled?(object) = !!HeapProfile.allocation_stack(object)
      make = -> { Workload.item(0) }
      ObjectSpace.trace_object_allocations_start
      HeapProfile.start(interval: 1)
      both = make.call
      ObjectSpace.trace_object_allocations_stop
      sampled = make.call
      ObjectSpace.trace_object_allocations_start
      HeapProfile.stop
      traced = make.call
      HeapProfile.start(interval: 1)
      again = make.call
      GC.start
      assert_equal [true, false, true, true], [both, sampled, traced, again].map { |object| traced?(object) }
      assert_equal [false, false, false, true], [both, sampled, traced, again].map { |object| sampled?(object) }
      ObjectSpace.trace_object_allocations_clear
      assert_equal [false, true], [traced?(again), sampled?(again)]
    RUBY
  end
end
