# frozen_string_literal: true

# test_quarantine.rb - dead objects whose slots are held back (gc/quarantine), and a GC at each Nth allocation (gc/objects/stress.c).
# Whether a use of one is found is tested in test/memcheck/test_dead_objects.rb.

require_relative "lib/heapprof_test"

class TestHeapProfQuarantine < Test::Unit::TestCase
  include HeapProfTest

  WASTE = <<~'RUBY'
    def waste(count) = Array.new(count) { Object.new }.clear
    def live = GC.stat(:heap_live_slots)
    GC.start
    before = live
  RUBY

  def run_with(setting, script)
    in_directory do
      ran = run_ruby("--disable-gems", write_file("script.rb", script), heapprof: setting && "interval=1,out=,#{setting}")
      assert ran.status.success?, ran.err
      assert_empty ran.err
      ran.out
    end
  end

  # A slot that is held back counts as alive, so it is not given to another object.
  def test_dead_objects_keep_their_slots_up_to_the_limit
    script = WASTE + "3.times { waste(20_000); GC.start }\nputs live - before"
    assert_operator run_with("quarantine=64m", script).to_i, :>, 59_000
    assert_operator run_with("quarantine=64k", script).to_i, :<, 30_000
    assert_operator run_with("quarantine=0", script).to_i, :<, 2_000
  end

  def test_a_stop_lets_all_of_them_go
    script = WASTE + "waste(20_000); GC.start\nObjectSpace::HeapProfile.stop\nGC.start\nputs live - before"
    assert_operator run_with("quarantine=64m", script).to_i, :<, 2_000
    assert_operator run_with("quarantine=64m,memcheck=1", script).to_i, :<, 2_000
  end

  # Slots between objects that are alone on a page of memory are no slots to MRI, until the run ends.
  def test_slots_are_held_back_so_that_each_object_is_alone
    script = <<~'RUBY'
      slots = -> { GC.stat(:heap_available_slots).fdiv(GC.stat(:heap_allocated_pages)) }
      made = Array.new(50_000) { Object.new }
      print slots.(), " "
      ObjectSpace::HeapProfile.stop
      puts slots.()
    RUBY
    few, many = run_with("quarantine=64m,memcheck=1", script).split.map(&:to_f)
    assert_operator few, :<, 50
    assert_operator many, :>, 500
  end

  def test_gc_stress_collects_at_each_nth_allocation
    script = "before = GC.count\n1000.times { Object.new }\nputs GC.count - before"
    assert_equal [100, 10], [10, 100].map { |every| run_with("gc_stress=#{every}", script).to_i.round(-1) }
  end

  WORK = <<~'RUBY'
    class Item; attr_accessor :next; end
    made = Array.new(500) { |i| [i.to_s * (i % 50), { i => Item.new }, "s#{i}".to_sym] }
    finalized = 0
    300.times { ObjectSpace.define_finalizer(Object.new, proc { finalized += 1 }) }
    map = ObjectSpace::WeakMap.new
    300.times { |i| map[Object.new] = i.to_s }
    ids = Array.new(100) { Object.new.object_id }
    (+"i").instance_variable_set(:@a, 1)
    GC.compact
    GC.verify_compaction_references(toward: :empty, expand_heap: true)
    fibers = Array.new(20) { Fiber.new { Fiber.yield Object.new; 1 } }.each(&:resume)
    Thread.new { 500.times { Item.new } }.join
    taken = Ractor.new { Array.new(500) { |i| "r" * i }.sum(&:size) }.take
    made.map! { |text, hash, symbol| [text + "x", hash.merge(1 => 2), symbol] }
    GC.auto_compact = true
    GC.start
    count = 0
    ObjectSpace.each_object(Item) { |item| count += 1 if item.next.nil? }
    child = fork { made.clear; GC.start; exit!(made.empty?) }
    Process.wait(child)
    puts [made.sum { |text, hash, symbol| text.size + hash.size + symbol.size }, taken, fibers.sum(&:resume), finalized > 250, count >= 500, $?.success?].inspect
  RUBY

  def test_programs_do_what_they_do_without
    expected = run_with(nil, "Warning[:experimental] = false\n" + WORK)
    # With memcheck dead objects are covered, and each object is alone on a page of memory.
    ["quarantine=64m", "quarantine=100k", "quarantine=64m,gc_stress=20", "quarantine=64m,memcheck=1,memory=1g",
     "quarantine=1m,memcheck=1,memory=1g", "quarantine=64m,memcheck=1,memory=1g,gc_stress=20"].each do |setting|
      assert_equal expected, run_with(setting, "Warning[:experimental] = false\n" + WORK), setting
    end
  end
end
