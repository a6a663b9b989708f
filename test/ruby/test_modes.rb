# frozen_string_literal: true

# test_modes.rb - the VM's modes: with each compiler, parser and setting of the collector, and with
# other tools at work, a program does what it does without the profiler, and its profile is exact.
#
# lib/workload.rb is the program: of each of its sites it is known how many objects of which class
# it allocates and keeps.

require_relative "lib/heapprof_test"
require_relative "lib/workload"

class TestHeapProfModes < Test::Unit::TestCase
  include HeapProfTest

  WORKLOAD = File.join(__dir__, "lib/workload.rb")
  COUNT = DEBUG_BUILD ? 50 : 400

  # What a register or a stale word on the machine stack may hold of each site's garbage.
  STALE = 2

  # Runs the program profiled, with those options and after that Ruby code, and holds its output and
  # its profile against what is known. garbage: how much of each site's may be alive at the end.
  def assert_exact(*args, setup: nil, count: COUNT, garbage: STALE, env: {}, err: "")
    in_directory do
      ran = run_ruby("--disable-gems", *args, WORKLOAD, count.to_s, setup.to_s, heapprof: "interval=1,out=p.pb.gz", env: env)
      assert_equal [output(count), true], [ran.out, ran.status.success?], ran.err
      assert_operator err, :===, ran.err
      assert_numbers read_profile("p.pb.gz"), count, garbage
    end
  end

  def assert_numbers(profile, count, garbage)
    assert_include profile.comments, "dropped samples: 0"
    Workload.sites.each do |name, class_name|
      site = profile.where(class_name: class_name, label: "Workload.#{name}").reject { |sample| by_rjit?(sample) }
      kept, wasted = site.partition { |sample| sample.frames.any? { |frame| frame.label == "Workload.keep" } }
      assert_equal [count, count], [kept.sum(&:alloc_objects), kept.sum(&:inuse_objects)], name
      assert_equal 3 * count, wasted.sum(&:alloc_objects), name
      assert_operator wasted.sum(&:inuse_objects), :<=, garbage, name
    end
  end

  # RJIT is written in Ruby and works, and allocates, on top of what it compiles.
  def by_rjit?(sample) = sample.frames.any? { |frame| frame.label.start_with?("RubyVM::RJIT") }

  # What the program prints, unprofiled and in no particular mode.
  def output(count)
    @@output ||= {}
    @@output[count] ||= run_ruby("--disable-gems", WORKLOAD, count.to_s).tap { |ran| assert_clean ran }.out
  end

  # ---- compilers and parsers ----

  def test_interpreter
    assert_exact
  end

  def test_yjit
    omit "built without YJIT" unless RbConfig::CONFIG["YJIT_SUPPORT"] == "yes"
    compiles = "at_exit { RubyVM::YJIT.enabled? or abort 'YJIT is off' }"
    assert_exact "--yjit", setup: compiles
    assert_exact "--yjit-call-threshold=1", setup: compiles
    assert_exact setup: "RubyVM::YJIT.enable"
    assert_exact "--yjit-call-threshold=1", "--yjit-mem-size=1", setup: "GC.auto_compact = true"
  end

  # In one process, so that compiled code sees the profiler start and stop.
  def test_yjit_compiles_code_that_is_sampled_and_samples_code_that_is_compiled
    omit "built without YJIT" unless RbConfig::CONFIG["YJIT_SUPPORT"] == "yes"
    in_child(<<~'RUBY', "--yjit-call-threshold=1")
      class Item; end
      def make(count) = count.times { |i| @last = [Item.new, "text".upcase, { i => i }] }
      make(500)
      compiled = RubyVM::YJIT.runtime_stats(:compiled_iseq_count)
      assert_operator compiled, :>, 0
      3.times do
        HeapProfile.start(interval: 1)
        make(1000)
        profile = HeapProfile.snapshot
        HeapProfile.stop
        %w[Item Array Hash].each do |name|
          assert_equal 1000, total(profile, :alloc_objects, class_name: name, label: "Object#make"), name
        end
        make(100)
      end
    RUBY
  end

  def test_rjit
    omit "RJIT lacks a write barrier, which MRI's debug build finds" if DEBUG_BUILD
    on = run_ruby("--rjit", "-e", "print RubyVM::RJIT.enabled?")
    omit "built without RJIT" unless on.status.success? && on.out == "true"
    assert_exact "--rjit"
  end

  def test_other_parser
    assert_exact "--parser=parse.y"
  end

  # ---- the collector's settings ----

  def test_gc_disabled
    assert_exact setup: "GC.disable"
  end

  def test_gc_stress
    assert_exact setup: "GC.stress = true", count: 2
  end

  def test_total_time_measured_and_not
    assert_exact setup: "GC.measure_total_time = true"
    assert_exact setup: "GC.measure_total_time = false"
  end

  # What has grown old is garbage that stays: MRI's only full GC then is that which is asked for.
  def test_full_marking_not_allowed
    assert_exact setup: "GC.config(rgengc_allow_full_mark: false)", garbage: 3 * COUNT
  end

  def test_automatic_compaction
    assert_exact setup: "GC.auto_compact = true"
  end

  def test_small_and_large_heaps
    sizes = Array.new(5) { |i| "RUBY_GC_HEAP_#{i}_INIT_SLOTS" }
    assert_exact env: sizes.to_h { |name| [name, "1"] }.merge("RUBY_GC_HEAP_GROWTH_MAX_SLOTS" => "100")
    assert_exact env: sizes.to_h { |name| [name, "200000"] }
    assert_exact env: { "RUBY_GC_HEAP_FREE_SLOTS" => "1", "RUBY_GC_MALLOC_LIMIT" => "10000", "RUBY_GC_OLDMALLOC_LIMIT" => "10000" }
  end

  def test_process_warmup
    assert_exact setup: "Process.warmup"
    assert_exact setup: "at_exit { Process.warmup }"
    assert_exact setup: "Thread.new { loop { Process.warmup; sleep 0.01 } }"
  end

  EXPERIMENTAL = /\A[^\n]*Free at exit is experimental[^\n]*\n\z/ # MRI says so, whatever -W says

  def test_memory_freed_at_exit
    assert_exact env: { "RUBY_FREE_AT_EXIT" => "1" }, err: EXPERIMENTAL
  end

  # ---- other tools in the same process ----

  def test_object_allocations_traced
    assert_exact "-robjspace", setup: "ObjectSpace.trace_object_allocations_start"
    assert_exact "-robjspace", setup: "ObjectSpace.trace_object_allocations_start; GC.stress = true", count: 2
  end

  # Each of the events there are, from each of the profiler's allocations on.
  def test_tracepoints_of_every_kind
    assert_exact setup: <<~'RUBY'
      $events = Hash.new(0)
      kinds = %i[line class end call return c_call c_return raise b_call b_return a_call a_return
                 thread_begin thread_end fiber_switch script_compiled rescue]
      TracePoint.new(*kinds) { |point| $events[point.event] += 1 }.enable
      at_exit { $events.values_at(:line, :call, :return, :c_call, :c_return, :b_call, :b_return).all?(1000..) or abort $events.inspect }
    RUBY
  end

  def test_everything_at_once
    assert_exact "--yjit-call-threshold=1", "--parser=parse.y", "-robjspace", env: { "RUBY_FREE_AT_EXIT" => "1" },
                 err: EXPERIMENTAL, setup: <<~'RUBY'
      GC.auto_compact = true
      GC.measure_total_time = true
      ObjectSpace.trace_object_allocations_start
      Process.warmup
      $calls = 0
      TracePoint.new(:c_call, :call) { $calls += 1 }.enable
    RUBY
  end
end
