# frozen_string_literal: true

# test_races.rb - the profiler's methods from everywhere at once, and from within each other: from
# threads, finalizers, signal handlers, conversion methods, blocks, tracepoints and walks of the
# heap. Each call works or raises what is documented; no run crashes or hangs, and in the end the
# profiler starts, counts exactly, and stops.
#
# The same from Ractors is in test_ractor.rb.

require_relative "lib/heapprof_test"

class TestHeapProfRaces < Test::Unit::TestCase
  include HeapProfTest

  # Each method by a name; attempt calls one and returns :worked or the documented error's message.
  CALLS = <<~'RUBY'
    class Item; end
    RUNNING = "the heap profiler is running already; stop it first"
    NOT_RUNNING = "the heap profiler is not running; start it first"
    SINK = Object.new
    def SINK.write(bytes) = bytes.bytesize

    $profile = HeapProfile.profile(interval: 1) { $kept = Array.new(50) { Item.new } }
    $files = 0

    CALLS = {
      start: -> { HeapProfile.start(interval: [1, 100, 5000].sample) },
      stop: -> { HeapProfile.stop },
      snapshot: -> { $profile = HeapProfile.snapshot },
      snapshot_gc: -> { $profile = HeapProfile.snapshot(gc: true) },
      profile: -> { HeapProfile.profile(interval: 1, gc: false) { Item.new } },
      each: -> { $profile.each { |sample| sample.frames.first } },
      write: -> { $profile.write("#{$files += 1}.gz") },
      write_io: -> { $profile.write(SINK) },
      allocation_stack: -> { HeapProfile.allocation_stack(Item.new) },
      stat: -> { HeapProfile.stat },
      running: -> { HeapProfile.running? },
    }

    $outcomes = CALLS.transform_values { Hash.new(0) }

    def attempt(name)
      CALLS.fetch(name).call
      outcome = :worked
    rescue RuntimeError => e
      outcome = e.message
    ensure
      $outcomes[name][outcome] += 1
    end

    # Once with the profiler off and once with it on.
    def in_each_state
      [false, true].each do |on|
        HeapProfile.stop
        HeapProfile.start(interval: 1) if on
        yield
      end
    end

    # Of each method's calls some have worked, and those that have not raised what they may.
    def assert_outcomes(names = CALLS.keys)
      may = Hash.new([]).merge(start: [RUNNING], snapshot: [NOT_RUNNING], snapshot_gc: [NOT_RUNNING], profile: [RUNNING, NOT_RUNNING])
      names.each do |name|
        assert_empty $outcomes[name].keys - [:worked] - may[name], name.to_s
        assert_operator $outcomes[name][:worked], :>, 0, name.to_s
      end
    end

    # Nothing that went before is left.
    def assert_in_order
      HeapProfile.stop
      assert_equal [0], HeapProfile.stat.values.uniq
      HeapProfile.start(interval: 1)
      kept = Array.new(100) { Item.new }
      20.times { Item.new }
      profile = HeapProfile.snapshot(gc: true)
      assert_equal 120, total(profile, :alloc_objects, class_name: "Item")
      assert_includes 100..103, total(profile, class_name: "Item")
      assert_equal 0, HeapProfile.stat(:dropped)
      HeapProfile.stop
      assert_equal 100, kept.size
      assert_empty Dir.children(".").grep_v(/\A\d+\.gz\z/), "temporary files"
    end
  RUBY

  def in_races(script, *args, env: {})
    in_directory do
      in_child(CALLS + script, *args, env: env)
      Dir.each_child(".") { |file| assert_equal "\x1f\x8b".b, File.binread(file, 2), file }
    end
  end

  # ---- threads ----

  def test_threads_call_everything_at_once
    in_races(<<~'RUBY', env: { "RUBY_THREAD_TIMESLICE" => "1" })
      threads = Array.new(8) do |i|
        random = Random.new(i)
        Thread.new { (debug_build? ? 60 : 150).times { attempt(CALLS.keys.sample(random: random)); Item.new } }
      end
      threads.each(&:join)
      assert_outcomes
      assert_in_order
    RUBY
  end

  def test_threads_call_everything_at_once_under_gc_stress_and_compaction
    in_races(<<~'RUBY', env: { "RUBY_THREAD_TIMESLICE" => "1" })
      GC.auto_compact = true
      stopper = Thread.new { loop { GC.stress = !GC.stress; sleep 0.002 } }
      threads = Array.new(4) do |i|
        random = Random.new(100 + i)
        Thread.new { scaled(30).times { attempt(CALLS.keys.sample(random: random)) } }
      end
      threads.each(&:join)
      stopper.kill.join
      GC.stress = false
      assert_in_order
    RUBY
  end

  # Wherever the exception or the kill finds it.
  def test_threads_are_raised_into_and_killed_in_the_middle_of_each_method
    in_races(<<~'RUBY', env: { "RUBY_THREAD_TIMESLICE" => "1" })
      (CALLS.keys * 4).each_with_index do |name, i|
        HeapProfile.stop
        HeapProfile.start(interval: 1) if i.odd?
        calls = 0
        thread = Thread.new do
          Thread.current.report_on_exception = false
          loop { attempt(name); calls += 1; HeapProfile.stop if name == :start }
        end
        Thread.pass until calls > 3 || !thread.alive?
        i % 3 == 0 ? thread.kill : thread.raise(IOError)
        begin thread.join; rescue IOError; end
      end
      assert_in_order
    RUBY
  end

  # ---- finalizers ----

  def test_finalizers_call_everything
    in_races(<<~'RUBY')
      random = Random.new(1)
      scaled(50).times do
        CALLS.keys.shuffle(random: random).each { |name| ObjectSpace.define_finalizer(Item.new, proc { attempt(name) }) }
        20.times { Item.new }
        GC.start
      end
      assert_outcomes
      assert_in_order
    RUBY
  end

  # They run in the midst of the call, when a GC that it causes has found their objects dead.
  def test_finalizers_call_everything_from_within_each_method
    in_races(<<~'RUBY')
      inside = nil
      within = Hash.new(0)
      CALLS.each_key do |outer|
        in_each_state do
          CALLS.each_key do |inner|
            ObjectSpace.define_finalizer(Item.new, proc { GC.stress = false; within[inside] += 1; attempt(inner) })
          end
          inside = outer
          GC.stress = true
          attempt(outer)
          GC.stress = false
          inside = nil
        end
      end
      GC.start
      %i[snapshot_gc profile each allocation_stack stat].each { |name| assert_operator within[name], :>, 5, name }
      assert_in_order
    RUBY
  end

  def test_finalizers_that_raise_while_a_snapshot_collects
    in_races(<<~'RUBY')
      $stderr = File.open(File::NULL, "w")
      HeapProfile.start(interval: 1)
      10.times do
        20.times { ObjectSpace.define_finalizer(Item.new, proc { attempt(:snapshot); raise IOError }) }
        assert_kind_of HeapProfile, HeapProfile.snapshot(gc: true)
      end
      assert_in_order
    RUBY
  end

  # ---- signal handlers ----

  def test_signal_handlers_call_everything_from_within_each_method
    in_races(<<~'RUBY')
      inner = nil
      handled = 0
      trap(:USR1) { attempt(inner); handled += 1 }
      CALLS.keys.product(CALLS.keys) do |outer, name|
        inner = name
        in_each_state do
          sender = Thread.new { Process.kill(:USR1, $$) }
          2.times { attempt(outer); Thread.pass }
          sender.join
        end
      end
      assert_operator handled, :>, CALLS.size**2
      assert_outcomes
      assert_in_order
    RUBY
  end

  # ---- methods that the profiler calls ----

  # What is written to, or written under the name of, does anything; then write goes on, or not.
  def test_conversions_call_everything
    in_races(<<~'RUBY')
      %i[to_path to_str write to_io].product(CALLS.keys) do |conversion, name|
        in_each_state do
          target = Object.new
          target.define_singleton_method(conversion) do |*bytes|
            attempt(name)
            bytes[0]&.bytesize || "#{$files += 1}.gz"
          end
          if conversion == :to_io
            assert_raise(TypeError, NoMethodError) { $profile.write(target) }
          else
            assert_operator $profile.write(target), :>, 100
          end
        end
      end
      assert_outcomes
      assert_in_order
    RUBY
  end

  def test_conversions_that_do_not_return
    in_races(<<~'RUBY')
      HeapProfile.start(interval: 1)
      %i[to_path to_str write respond_to?].each do |conversion|
        target = Object.new
        target.define_singleton_method(conversion) { |*| HeapProfile.snapshot.write("#{$files += 1}.gz"); leave }
        leave = nil
        target.define_singleton_method(:leave) { leave.call }
        leave = -> { raise IOError }
        assert_raise(IOError) { $profile.write(target) }
        leave = -> { throw :out, 7 }
        assert_equal 7, catch(:out) { $profile.write(target) }
        leave = -> { Thread.current.kill }
        assert_equal false, Thread.new { $profile.write(target) }.join.status
        leave = -> { Fiber.yield 8 }
        assert_equal 8, Fiber.new { $profile.write(target) }.resume
        leave = -> { exit 9 }
        assert_raise(SystemExit) { $profile.write(target) }
      end
      assert_in_order
    RUBY
  end

  def test_conversion_that_writes_the_same_profile_again
    in_races(<<~'RUBY')
      left = 50
      target = Object.new
      target.define_singleton_method(:to_path) { $profile.write(left > 0 && (left -= 1) ? target : "1.gz"); "2.gz" }
      size = $profile.write(target)
      assert_equal [size, size, 0], [File.size("1.gz"), File.size("2.gz"), left]
      nested = Object.new
      def nested.write(bytes) = (@depth = @depth.to_i + 1) < 20 ? $profile.write(self) : bytes.bytesize
      assert_equal size, $profile.write(nested)
      assert_in_order
    RUBY
  end

  def test_settings_whose_conversion_calls_everything
    in_races(<<~'RUBY')
      CALLS.each_key do |name|
        %i[interval depth memory seed].each do |setting|
          HeapProfile.stop
          number = Object.new
          number.define_singleton_method(:to_int) { attempt(name); 4 << 20 >> (setting == :depth ? 14 : 0) }
          begin
            HeapProfile.start(setting => number)
          rescue RuntimeError => e
            assert_equal [:start, RUNNING], [name, e.message]
          end
        end
      end
      assert_in_order
    RUBY
  end

  # Labels are MRI's own; a class that lies about itself, or calls the profiler when asked, is not asked.
  def test_nothing_of_the_programs_is_called_for_a_name
    in_races(<<~'RUBY')
      called, armed = [], false
      trap_methods = ->(object) do
        %i[name to_s inspect hash == eql? class to_str respond_to? respond_to_missing? method_missing].each do |name|
          object.define_singleton_method(name) do |*args|
            next super(*args) unless armed
            called << name
            CALLS.each_key { |call| attempt(call) }
            raise IOError
          end
        end
      end
      liar = Class.new
      ObjectSpace.const_set(:Liar, liar)
      trap_methods.call(liar)
      HeapProfile.start(interval: 1)
      instances = Array.new(10) { liar.allocate.tap { |object| trap_methods.call(object) } }
      armed = true
      profile = HeapProfile.snapshot(gc: true)
      stacks = instances.map { |object| HeapProfile.allocation_stack(object) }
      profile.write("1.gz")
      armed = false
      assert_equal 10, total(profile, class_name: "ObjectSpace::Liar")
      assert_equal ["Class#allocate"], stacks.map { |stack| stack.first.label }.uniq
      assert_empty called
      assert_in_order
    RUBY
  end

  def test_inspect_methods_call_everything
    in_races(<<~'RUBY')
      RANDOM = Random.new(2)
      class Item
        def inspect = (CALLS.keys.shuffle(random: RANDOM).each { |name| attempt(name) }; "an item")
        alias to_s inspect
      end
      in_each_state { 10.times { assert_equal ["[an item]", "an item"], [[Item.new].inspect, "#{Item.new}"] } }
      assert_outcomes
      assert_in_order
    RUBY
  end

  # ---- blocks ----

  def test_block_of_each_calls_everything
    in_races(<<~'RUBY')
      CALLS.each_key do |name|
        in_each_state do
          $item = Item.new # or there may be no row: what is the profiler's own is in none
          mine = HeapProfile.running? ? HeapProfile.snapshot : $profile
          rows = mine.to_a
          seen = []
          mine.each { |sample| attempt(name) if seen.size < 3; seen << sample }
          assert_equal rows, seen, name
        end
      end
      assert_outcomes
      assert_in_order
    RUBY
  end

  def test_block_of_each_that_does_not_return_or_forgets_the_profile
    in_races(<<~'RUBY')
      assert_raise(IOError) { $profile.each { raise IOError } }
      assert_equal 7, catch(:out) { $profile.each { throw :out, 7 } }
      assert_equal 8, $profile.each { break 8 }
      assert_equal false, Thread.new { $profile.each { Thread.current.kill } }.join.status
      count = $profile.count
      fibers = Array.new(5) { Fiber.new { $profile.each { |sample| Fiber.yield sample } } }
      assert_equal $profile.first(2), Array.new(2) { fibers.map(&:resume) }.flatten.uniq
      fibers.clear
      HeapProfile.start(interval: 1)
      $kept = Array.new(20) { |i| eval("#{"\n" * i}Item.new") }
      seen = 0
      HeapProfile.snapshot.each { |sample| seen += 1; GC.start if seen < 4; GC.compact if seen == 4; sample.frames }
      assert_operator seen, :>, 20
      assert_equal count, $profile.each_entry.count
      assert_in_order
    RUBY
  end

  def test_block_under_profile_calls_everything
    in_races(<<~'RUBY')
      CALLS.each_key do |name|
        HeapProfile.profile(interval: 1) { attempt(name) }
      rescue RuntimeError => e
        assert_equal [:stop, NOT_RUNNING], [name, e.message] if name != :profile
      ensure
        assert_equal false, HeapProfile.running?
      end
      assert_in_order
    RUBY
  end

  # ---- walks of the heap and tracepoints ----

  def test_block_of_each_object_calls_everything
    in_races(<<~'RUBY')
      CALLS.each_key do |name|
        in_each_state do
          seen = 0
          ObjectSpace.each_object(Item) { attempt(name) if (seen += 1) <= 10 }
          assert_operator seen, :>=, 50
        end
      end
      HeapProfile.start(interval: 1) unless HeapProfile.running?
      seen = 0
      ObjectSpace.each_object { |object| HeapProfile.allocation_stack(object); seen += 1 }
      assert_operator seen, :>, 1000
      assert_outcomes
      assert_in_order
    RUBY
  end

  # A profile that another thread, or a walk of the heap, sees before its snapshot is in it.
  def test_profile_that_is_not_made_yet_says_so
    in_races(<<~'RUBY')
      HeapProfile.start(interval: 1)
      HeapProfile.stop
      3.times { assert_raise(RuntimeError) { HeapProfile.snapshot } }
      ObjectSpace.each_object(HeapProfile) do |profile|
        assert_raise_with_message(ArgumentError, /uninitialized/) { profile.inspect } unless profile.equal?($profile)
      end
      assert_in_order
    RUBY
  end

  def test_tracepoints_call_everything
    in_races(<<~'RUBY')
      %i[line call return c_call c_return b_call raise].each do |event|
        busy = false
        random = Random.new(7)
        trace = TracePoint.new(event) do
          next if busy
          busy = true
          attempt(CALLS.keys.sample(random: random))
          busy = false
        end
        trace.enable do
          60.times do |i|
            [Item.new].each { |item| item.to_s }
            begin raise IOError; rescue IOError; end
          end
        end
      end
      assert_outcomes
      assert_in_order
    RUBY
  end

  # The profiler's methods are called, and traced, by each other.
  def test_tracepoints_of_the_profilers_own_methods_call_everything
    in_races(<<~'RUBY')
      within = 0
      CALLS.keys.product(CALLS.keys) do |outer, inner|
        in_each_state do
          busy = false
          trace = TracePoint.new(:call, :return) do |point|
            next if busy || point.path != "<internal:heapprof>"
            busy = true
            attempt(inner)
            within += 1
            busy = false
          end
          trace.enable { attempt(outer) }
        end
      end
      assert_operator within, :>=, 2 * 2 * CALLS.size**2, "at each call and each return"
      assert_outcomes
      assert_in_order
    RUBY
  end

  # ---- at exit ----

  def test_everything_is_called_while_the_process_ends
    in_directory do
      %i[start stop snapshot_gc profile write allocation_stack].each do |name|
        source = "HeapProfile = ObjectSpace::HeapProfile\nHeapProfile.stop\n#{CALLS}\n" + <<~RUBY
          HeapProfile.start(interval: 1)
          threads = Array.new(3) { Thread.new { loop { attempt(#{name.inspect}) } } }
          at_exit { 10.times { attempt(#{name.inspect}) } }
          $finalized = Array.new(20) { Item.new.tap { |item| ObjectSpace.define_finalizer(item, proc { attempt(#{name.inspect}) }) } }
          Thread.pass until $outcomes[#{name.inspect}].values.sum > 10
          print :done
        RUBY
        ran = run_ruby("--disable-gems", "-", stdin: source, heapprof: "interval=1,out=exit.pb.gz")
        assert_equal ["done", 0], [ran.out, ran.status.exitstatus], ran.err
        assert_empty ran.err
        assert_empty Dir.children(".").grep_v(/\A(\d+\.gz|exit\.pb\.gz)\z/)
      end
    end
  end

  def test_finalizer_that_stops_the_profiler_in_the_last_gc_leaves_no_file_and_no_line
    in_directory do
      script = "class Item; end; GC.disable\n" \
               "Fiber.new { 20.times { ObjectSpace.define_finalizer(Item.new, proc { ObjectSpace::HeapProfile.stop }) } }.resume"
      assert_clean run_ruby("--disable-gems", "-e", script, heapprof: "interval=1,out=p.pb.gz")
      assert_empty Dir.children(".")
    end
  end

  def test_profile_is_written_at_exit_though_the_class_is_gone
    in_directory do
      script = "class Item; end; $kept = Array.new(20) { Item.new }; ObjectSpace.send(:remove_const, :HeapProfile); GC.start; GC.compact"
      assert_clean run_ruby("--disable-gems", "-e", script, heapprof: "interval=1,out=p.pb.gz")
      assert_equal 20, read_profile("p.pb.gz").total(class_name: "Item")
    end
  end
end
