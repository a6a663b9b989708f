# frozen_string_literal: true

# test_verify.rb - programs that are hard on a collector, with every object sampled: they end well,
# do what they do without the profiler, and write a profile. In a debug build each of their GCs is
# checked (gc/objects/verify.c): flag bits and tables agree, every table is whole.

require_relative "lib/heapprof_test"

class TestHeapProfVerify < Test::Unit::TestCase
  include HeapProfTest

  # Classes, methods, blocks, exceptions, closures, threads, fibers, strings of all sizes.
  PROGRAM = <<~'RUBY'
    Point = Struct.new(:x, :y) do
      def +(other) = Point.new(x + other.x, y + other.y)
    end

    class Shape
      attr_reader :points
      def initialize(points) = @points = points
      def centre = points.reduce(Point.new(0, 0)) { |sum, point| sum + point }
      def method_missing(name, *args) = name == :area ? args.sum : super
      def respond_to_missing?(...) = true
    end

    def work(n)
      shapes = Array.new(n) { |i| Shape.new(Array.new(3) { |j| Point.new(i, j) }) }
      sum = shapes.sum { |shape| shape.centre.x + shape.area(1, 2) }
      words = shapes.map { |shape| shape.centre.to_a.join(",") * shape.points.size }
      tally = words.tally.transform_values(&:to_s).to_a.flatten.map(&:to_sym)
      fiber = Fiber.new { 3.times { |i| Fiber.yield "fiber #{i}" }; :done }
      fibers = Array.new(4) { fiber.resume }
      thread = Thread.new { Thread.current[:text] = "x" * 200; [1, 2, 3].each_slice(2).to_a }
      rescued = begin
        Integer("not a number")
      rescue ArgumentError => e
        e.message
      ensure
        Class.new(StandardError) { def message = "anonymous" }.new.message
      end
      [sum, tally.size, fibers, thread.value, rescued, eval("[2**200, 1.5r, '#{words.first}' =~ /(\\d)/, $1]")]
    end
  RUBY

  STRESSED = DEBUG_BUILD ? 1 : 6 # shapes: with GC.stress each allocation is a GC

  # Runs the script off and profiled; both must print the same and nothing else.
  def assert_same_when_profiled(script, settings: "interval=1")
    source = PROGRAM + script
    plain = run_ruby("--disable-gems", "-", stdin: source)
    assert_clean plain
    in_directory do |directory|
      out = File.join(directory, "p.pb.gz")
      profiled = run_ruby("--disable-gems", "-", stdin: source, heapprof: "#{settings},out=#{out}")
      assert_clean profiled, out: plain.out
      profile = read_profile(out)
      assert_operator profile.total(:alloc_objects), :>, 1000
      assert_include profile.comments, "dropped samples: 0"
    end
  end

  def test_program_is_the_same_when_every_object_is_sampled
    assert_same_when_profiled("10.times { p work(50) }")
  end

  def test_program_under_gc_stress
    assert_same_when_profiled("GC.stress = true; p work(#{STRESSED})")
  end

  def test_program_under_gc_stress_of_every_kind
    # 1: minor GCs only, 2: lazy sweep, 4: full GCs for malloc
    [1, 2, 4].each do |stress|
      assert_same_when_profiled("GC.stress = #{stress}; p work(#{STRESSED})")
    end
  end

  def test_program_with_compaction_in_a_loop
    assert_same_when_profiled("10.times { p work(20); GC.compact }")
  end

  def test_program_under_verify_compaction_references
    assert_same_when_profiled(<<~'RUBY')
      3.times { p work(20); GC.verify_compaction_references(expand_heap: true, toward: :empty) }
    RUBY
  end

  def test_program_with_auto_compaction_under_gc_stress
    assert_same_when_profiled("GC.auto_compact = true; GC.stress = true; p work(1)")
  end

  def test_program_that_starts_and_stops_the_profiler_under_gc_stress
    assert_clean run_ruby("--disable-gems", "-", stdin: PROGRAM + <<~'RUBY'), out: "true\ntrue\n"
      expected = work(1)
      GC.stress = true
      rows = []
      results = Array.new(2) do
        ObjectSpace::HeapProfile.start(interval: 1)
        result = work(1)
        rows << ObjectSpace::HeapProfile.snapshot.count
        ObjectSpace::HeapProfile.stop
        result
      end
      p results.uniq == [expected], rows.min > 10
    RUBY
  end

  def test_program_at_small_odd_intervals
    [2, 39, 40, 41, 641].each do |interval|
      assert_same_when_profiled("5.times { p work(30) }; GC.compact; p work(10)", settings: "interval=#{interval}")
    end
  end

  if DEBUG_BUILD
    def test_debug_build_finds_a_flag_without_a_sample
      assert_check_fails("HeapProfCAPI.set_flag(object, true)", /has the flag bit but is not known/, 1 << 40)
    end

    def test_debug_build_finds_a_sample_without_its_flag
      assert_check_fails("HeapProfCAPI.set_flag(object, false)", /has not the flag bit but is known/, 1)
    end

    def assert_check_fails(damage, message, interval)
      ran = run_ruby("--disable-gems", "-", stdin: <<~RUBY)
        require "-test-/heapprof_capi"
        Process.setrlimit(Process::RLIMIT_CORE, 0)
        ObjectSpace::HeapProfile.start(interval: #{interval})
        object = Object.new
        GC.start # until then its sample is young, and it has no flag bit
        #{damage}
        GC.start
      RUBY
      assert_equal Signal.list["ABRT"], ran.status.termsig
      assert_match message, ran.err
    end
  end
end
