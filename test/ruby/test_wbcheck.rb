# frozen_string_literal: true

# test_wbcheck.rb - RUBY_WBCHECK and GC.wbcheck (vm/wbcheck/wbcheck.c, gc/wbcheck/wbcheck.c): each way to forget a write barrier is found
# once, at its place; and none is found where there is one, whatever the collector does meanwhile.

require "fileutils"
require_relative "lib/heapprof_test"

class TestWriteBarrierCheck < Test::Unit::TestCase
  include HeapProfTest

  FIXTURE = %(require "-test-/heapprof_missed"\n)

  # What a block of GC.wbcheck returns, as lines.
  def missed(block, before: "", require: FIXTURE)
    script = "#{require}#{before}\nGC.wbcheck { #{block} }.each { |place| puts place.values_at(:count, :missed).join(' ') }"
    run = run_ruby("--disable-gems", "-", stdin: script)
    assert_equal ["", true], [run.err, run.status.success?]
    run.out.lines(chomp: true)
  end

  PAIR = "HeapProfMissed (HeapProfMissed+0x8) -> "

  # ---- what is missed, and what is not ----

  def test_a_store_alone_is_found_with_its_place_in_the_struct_and_the_function
    assert_equal ["1 #{PAIR}String, in HeapProfMissed#store"], missed("HeapProfMissed.new.store(String.new)")
  end

  def test_a_place_is_found_however_long_the_struct_is
    assert_equal ["1 HeapProfFar (HeapProfFar+0x1000) -> Object, in HeapProfFar#store"], missed("HeapProfFar.new.store(Object.new)")
  end

  def test_a_place_is_not_sought_in_the_block_behind_the_struct
    assert_equal ["1 HeapProfNear (HeapProfNear) -> Object, in HeapProfNear#store"], missed("HeapProfNear.new.store(Object.new)")
  end

  def test_a_place_is_found_in_a_struct_that_is_no_block
    assert_equal ["1 HeapProfStatic (HeapProfStatic+0x8) -> Object, in HeapProfStatic#store"], missed("HeapProfStatic.new.store(Object.new)")
  end

  def test_a_place_is_one_however_often_it_is_passed
    assert_equal ["100 #{PAIR}Array, in HeapProfMissed#store"], missed("100.times { HeapProfMissed.new.store([1]) }")
  end

  def test_who_names_the_parent_is_not_found
    assert_empty missed("HeapProfMissed.new.then { |pair| 10.times { pair.write(Object.new); pair.written(Object.new) } }")
  end

  def test_a_barrier_of_another_parent_is_none
    assert_equal ["1 #{PAIR}Object, in HeapProfMissed#wrong"], missed("HeapProfMissed.new.wrong(Object.new)")
  end

  def test_a_barrier_before_a_gc_is_too_early_for_a_store_after_it
    # Taken back at once: a debug build aborts at the next GC.
    lines = missed("pair.early(Object.new); pair.store(nil)", before: "pair = HeapProfMissed.new; 4.times { GC.start }")
    assert_equal ["1 #{PAIR}Object, in HeapProfMissed#early; a barrier came before the store, and a GC may come between"], lines
  end

  def test_a_copy_of_a_struct_takes_over_references_without_a_barrier
    assert_equal ["1 #{PAIR}Hash, in HeapProfMissed#copy"],
                 missed("HeapProfMissed.new.copy(other)", before: "other = HeapProfMissed.new; other.write({})")
  end

  def test_an_object_that_promises_nothing_is_not_judged
    assert_empty missed("HeapProfUnprotected.new.store(String.new)")
  end

  def test_what_is_no_object_needs_no_barrier
    assert_empty missed("HeapProfMissed.new.store(1).store(nil).store(:symbol).store(1.5)")
  end

  def test_an_object_may_refer_to_itself
    assert_empty missed("HeapProfMissed.new.then { |pair| pair.store(pair) }")
  end

  def test_a_gc_within_the_function_finds_it_and_the_function_does_not_say_it_again
    lines = missed("pair.block(Object.new) { GC.start }", before: "pair = HeapProfMissed.new; GC.start")
    assert_equal ["1 #{PAIR}Object"], lines
  end

  def test_the_line_of_ruby_is_in_the_backtrace
    run = run_ruby("--disable-gems", "-", stdin: <<~RUBY)
      #{FIXTURE}
      def keep(object) =
        HeapProfMissed.new.store(object)
      puts GC.wbcheck { keep("a".dup) }.first[:backtrace]
    RUBY
    assert_clean run
    assert_equal ["-:4:in 'Object#keep'", "-:5:in 'block in <main>'"], run.out.lines(chomp: true).grep(/-:\d/).first(2)
  end

  # ---- where parent and child were allocated ----

  ALLOCATED = <<~RUBY
    def parent = HeapProfMissed.new
    def child =
      "a" * 50
    def both(&)
      pair = parent
      4.times { GC.start }
      yield pair
    end
  RUBY

  def allocated(script, heapprof: nil, **env)
    omit "a debug build of MRI ends at an old object without its barrier" if MRI_CHECKS_ITSELF
    run = run_ruby("--disable-gems", "-", stdin: "#{FIXTURE}#{ALLOCATED}#{script}", heapprof: heapprof, env: env.transform_keys(&:to_s))
    assert_predicate run.status, :success?
    run
  end

  def sampled(script, **env)
    in_directory { |directory| allocated(script, heapprof: "interval=1,out=#{directory}/a.pb.gz", **env) }
  end

  def test_where_parent_and_child_were_allocated_is_known_if_the_profiler_has_sampled_them
    out = sampled("puts GC.wbcheck { both { |pair| pair.store(child) } }.first.values_at(:parent_allocated, :child_allocated)").out
    assert_equal ["-:2:in 'Class#new'", "-:2:in 'Object#parent'", "-:6:in 'Object#both'", "-:4:in 'String#*'", "-:4:in 'Object#child'",
                  "-:10:in 'block (2 levels) in <main>'"], out.lines(chomp: true)
    err = sampled("both { |pair| pair.store(child) }", RUBY_WBCHECK: "1").err
    assert_include err, "  parent allocated:\n    -:2:in 'Class#new'\n    -:2:in 'Object#parent'\n    -:6:in 'Object#both'\n" \
                        "  child allocated:\n    -:4:in 'String#*'\n"
  end

  # Each stands for itself: the one that was last allocated is not in the tables yet, and a GC may be what finds it.
  def test_who_was_allocated_last_is_known_too_and_in_a_gc
    out = sampled("puts GC.wbcheck { both { |pair| pair.block(Object.new) { GC.start } } }.first[:child_allocated]").out
    assert_equal ["-:10:in 'Class#new'", "-:10:in 'block (2 levels) in <main>'", "-:8:in 'Object#both'"], out.lines(chomp: true)
  end

  def test_where_they_were_allocated_is_not_said_without_the_profiler
    assert_equal "[:missed, :count, :backtrace]\n", allocated("p GC.wbcheck { both { |pair| pair.store(child) } }.first.keys").out
    assert_not_include allocated("both { |pair| pair.store(child) }", RUBY_WBCHECK: "1").err, "allocated"
  end

  # ---- stock's own ----

  def test_what_json_and_date_of_this_ruby_forget
    lines = missed(<<~RUBY, require: %(require "json"; require "date"\n))
      state = JSON::State.new
      state.configure(indent: "  " + "x", space: " " + "y", object_nl: "\\n" + "z")
      state.dup
      Date.new(10**30, 2, 3).dup
    RUBY
    functions = lines.map { |line| line[/, in (.+)/, 1] }.tally
    assert_equal({ "JSON::Ext::Generator::State#_configure" => 3, "JSON::Ext::Generator::State#initialize_copy" => 3,
                   "Date#initialize_copy" => 1 }, functions)
  end

  # ---- none where there is a barrier ----

  # One is planted behind the work, so that a check which has gone blind is no pass.
  def assert_nothing_said(work)
    assert_equal ["1 #{PAIR}String, in HeapProfMissed#store"], missed("#{work}; GC.start; HeapProfMissed.new.store(String.new)")
  end

  NOTHING = {
    "classes and methods" => "200.times { |i| Class.new { define_method(:m) { i }; attr_accessor :a }.new.tap { |o| o.a = [i]; o.m } }",
    "all collections" => "h = {}; s = Struct.new(:a); 2000.times { |i| h[i.to_s] = s.new([i.to_s]); h.delete((i - 9).to_s) }; h.dup.compare_by_identity.clear",
    "strings that share" => "a = 'x' * 999; 500.times { |i| b = a[0, 99 + i]; b.dup << a; b.replace(a); a = a.dup if i % 50 == 0 }",
    "fibers and threads" => "50.times { Fiber.new { Fiber.yield([1].map(&:to_s)) }.resume; Thread.new { Thread.current[:a] = [2] }.join }",
    "weak references" => "m = ObjectSpace::WeakMap.new; k = ObjectSpace::WeakKeyMap.new; 500.times { |i| m[i.to_s] = Object.new; k[i.to_s] = Object.new }",
    "code" => "100.times { |i| eval('def f' + i.to_s + '(a) = a.map { |x| x + ' + i.to_s + ' }'); send('f' + i.to_s, [1]); proc { |x| i }.curry }",
    "exceptions and bindings" => "200.times { |i| begin; raise i.to_s; rescue => e; e.backtrace; b = binding; b.local_variable_set(:zz, [i]); end }",
    "numbers" => "x = 2**100; 500.times { |i| x = Rational(x, i + 1); Complex(x, i).to_s }",
    "regexps" => "200.times { |i| /(?<n>\#{i})/.match(i.to_s).named_captures; i.to_s.gsub(/\\d/) { $~[0] * 2 } }"
  }.freeze

  NOTHING.each do |name, work|
    define_method("test_nothing_is_said_of_#{name.tr(' ', '_')}") { assert_nothing_said(work) }
  end

  def test_nothing_is_said_while_everything_moves
    assert_nothing_said("GC.auto_compact = true; 2.times { 200.times { |i| [{ i.to_s => [i.to_s] }].to_h { |x| [x, x] } }; GC.compact }; GC.auto_compact = false")
  end

  def test_nothing_is_said_while_gc_is_at_each_allocation
    assert_nothing_said("GC.stress = true; 20.times { |i| Class.new.new.instance_variable_set(:@a, [i.to_s]) }; GC.stress = false")
  end

  def test_nothing_is_said_of_other_ractors
    script = "GC.wbcheck { 4.times.map { Ractor.new { 2000.times { |i| [i.to_s].to_h { |x| [x, [x]] } }; 1 } }.each(&:take) }.each { |x| p x }"
    run = run_ruby("--disable-gems", "-W0", "-", stdin: script)
    assert_equal ["", "", true], [run.out, run.err, run.status.success?]
  end

  RACTOR = "Warning[:experimental] = false; Ractor.new { 1 }.take\n"

  def test_there_may_have_been_a_second_ractor
    assert_equal ["1 #{PAIR}String, in HeapProfMissed#store"], missed("HeapProfMissed.new.store(String.new)", before: RACTOR)
  end

  # The object is old when it stores, and the main Ractor calls nothing meanwhile.
  IN_RACTOR = <<~'RUBY'
    Warning[:experimental] = false
    Ractor.new do
      pair = HeapProfMissed.new
      GC.start
      pair.store(String.new)
      GC.start
      pair.store(nil)
    end.take
  RUBY

  def test_what_another_ractor_stores_is_found
    assert_equal ["1 #{PAIR}String"], missed(IN_RACTOR)
  end

  def test_whichever_ractor_collects
    lines = missed(<<~'RUBY', before: "Warning[:experimental] = false")
      pair = HeapProfMissed.new
      Ractor.new { GC.start; 4.times { Array.new(1000) { |i| i.to_s } }; GC.start }.take
      pair.store(String.new)
      Ractor.new { GC.start }.take
      pair.store(nil)
    RUBY
    assert_equal ["1 #{PAIR}String, in HeapProfMissed#store"], lines
  end

  # ---- RUBY_WBCHECK ----

  def wbcheck(value, script, *args)
    run_ruby("--disable-gems", *args, "-", stdin: script, env: { "RUBY_WBCHECK" => value })
  end

  STORE = "#{FIXTURE}3.times { HeapProfMissed.new.store(String.new) }\n"

  def test_of_a_program_each_place_is_printed_once_and_the_sum_at_the_end
    run = wbcheck("1", STORE)
    assert_predicate run.status, :success?
    first, *backtrace, sum = run.err.lines(chomp: true)
    assert_equal "ruby: write barrier missed: #{PAIR}String, in HeapProfMissed#store", first
    assert_equal ["    -:2:in 'block in <main>'", "    -:2:in '<main>'"], backtrace.grep(/-:\d/)
    assert_match(/\Aruby: write barriers: 3 missed at 1 places; \d+ noted, \d+ checks of \d+ objects, \d+\.\d s\z/, sum)
  end

  def test_a_program_without_fault_prints_nothing
    assert_clean wbcheck("1", "1000.times { |i| [i.to_s] }; GC.start; print 1"), out: "1"
  end

  def test_abort_aborts_at_the_first
    run = wbcheck("abort", "#{STORE}puts 1")
    assert_equal ["", Signal.list["ABRT"]], [run.out, run.status.termsig]
    assert_match(/\Aruby: write barrier missed: #{Regexp.escape(PAIR)}String/, run.err)
  end

  def test_off_when_unset_empty_or_0
    [nil, "", "0"].each { |value| assert_clean wbcheck(value, "#{STORE}print 1"), out: "1" }
  end

  def test_a_wrong_value_is_one_line_and_breaks_nothing
    run = wbcheck("yes", "print 1")
    assert_equal "1", run.out
    assert_one_line(/RUBY_WBCHECK: yes: expected 1, abort, stress, sites, told or out=FILE \(running unchecked\)/, run.err)
  end

  def test_out_has_what_all_processes_of_a_command_say
    in_directory do |directory|
      ran = wbcheck("out=#{directory}/missed", "#{STORE}system(#{EnvUtil.rubybin.dump}, '--disable-gems', '-e', %(#{FIXTURE}HeapProfMissed.new.copy(HeapProfMissed.new.store([]))))")
      assert_clean ran
      lines = File.readlines("missed", chomp: true)
      assert_equal ["#{PAIR}Array, in HeapProfMissed#copy", "#{PAIR}Array, in HeapProfMissed#store", "#{PAIR}String, in HeapProfMissed#store"],
                   lines.grep(/barrier missed/).map { |line| line.delete_prefix("ruby: write barrier missed: ") }.sort
      assert_equal [2, 0600], [lines.grep(/barriers: \d missed/).size, File.stat("missed").mode & 0777]
    end
  end

  def test_out_that_cannot_be_written_to_is_one_line
    in_directory do
      File.symlink("elsewhere", "link")
      %w[link no/such/directory].each do |path|
        run = wbcheck("out=#{path}", "print 1")
        assert_equal "1", run.out
        assert_one_line(/RUBY_WBCHECK: out=.*: the file cannot be written to/, run.err)
        refute_path_exist "elsewhere"
      end
    end
  end

  def test_a_child_of_fork_goes_on
    run = wbcheck("1", "#{FIXTURE}Process.wait fork { HeapProfMissed.new.store([]) }")
    assert_include run.err, "#{PAIR}Array, in HeapProfMissed#store"
  end

  def test_a_block_under_the_setting_tells_what_is_its_own
    run = wbcheck("1", "#{STORE}p GC.wbcheck { HeapProfMissed.new.store('a'.dup) }.map { |place| place[:count] }")
    assert_equal "[1]\n", run.out
  end

  # ---- barriers before their store, in each run that passes one ----

  def stress(script)
    run = wbcheck("stress", "#{FIXTURE}pair = HeapProfMissed.new\n#{script}\n")
    assert_equal ["", true], [run.out, run.status.success?]
    run.err.scan(/^ruby: write barrier missed: (.*)$/).flatten
  end

  BETWEEN = "; a barrier came before the store, and a GC may come between"

  def test_a_barrier_is_too_early_if_memory_is_asked_for_before_the_store
    assert_equal ["#{PAIR}Object, in HeapProfMissed#before_malloc#{BETWEEN}"], stress("pair.before_malloc(Object.new); pair.store(nil)")
  end

  def test_a_barrier_is_too_early_if_an_object_is_made_before_the_store
    assert_equal ["#{PAIR}Object, in HeapProfMissed#before_object#{BETWEEN}"], stress("pair.before_object(Object.new); pair.store(nil)")
  end

  # Each Ractor looks at its own objects where it may collect.
  def test_the_same_in_another_ractor
    in_ractor = "Warning[:experimental] = false; Ractor.new { GC.start; own = HeapProfMissed.new; own.%s(String.new); GC.start; own.store(nil) }.take"
    assert_equal ["#{PAIR}String, in HeapProfMissed#before_malloc#{BETWEEN}"], stress(in_ractor % "before_malloc")
    assert_empty stress(in_ractor % "ahead") + stress(in_ractor % "twice") + stress(in_ractor % "absent")
  end

  def test_its_backtrace_is_that_of_the_ractor
    run = wbcheck("stress", "#{FIXTURE}Warning[:experimental] = false\ndef keep(pair) = pair.before_malloc([])\nRactor.new { keep(own = HeapProfMissed.new); GC.start; own.store(nil) }.take")
    assert_match(/#{BETWEEN}\n    in 'HeapProfMissed#before_malloc'\n    -:3:in 'Object#keep'\n    -:4:in 'block in <main>'\n/, run.err)
  end

  def test_none_is_found_where_ractors_work_at_the_same_time
    assert_empty stress(<<~'RUBY')
      Warning[:experimental] = false
      4.times.map { Ractor.new { 500.times { |i| [i.to_s].to_h { |x| [x, { x => [x] }] } }; GC.start; 1 } }.each(&:take)
    RUBY
  end

  # MRI's event of a new object would let a Ractor collect while another makes one (trace-allocations-in-ractors.rb). Only one of them
  # makes classes: two would crash, with nothing set, too (class-new-in-ractors.rb).
  def test_ractors_make_objects_at_the_same_time
    assert_empty stress(<<~'RUBY')
      Warning[:experimental] = false
      classes = Ractor.new { 1000.times { |i| Class.new { def a = 1 }.new.a; Struct.new(:a).new([i]).to_s } }
      hashes = Array.new(7) { Ractor.new { 10.times { 100.times { |i| [i.to_s].to_h { |x| [x, { x => [x] }] } }; GC.start } } }
      [classes, *hashes].each(&:take)
    RUBY
  end

  def test_it_is_not_if_nothing_can_collect_before_the_store
    assert_empty stress("3.times { pair.ahead(Object.new) }; pair.store(nil)")
  end

  def test_nor_if_a_second_one_follows_the_store
    assert_empty stress("3.times { pair.twice(Object.new) }; pair.store(nil)")
  end

  def test_nor_if_nothing_is_stored
    assert_empty stress("3.times { pair.absent(Object.new); [1].to_s }; 20.times { GC.start }")
  end

  def test_the_backtrace_is_that_of_the_moment_at_which_a_gc_may_come
    run = wbcheck("stress", "#{FIXTURE}def keep(pair) = pair.before_malloc([])\nkeep(HeapProfMissed.new)")
    assert_match(/#{BETWEEN}\n    in 'HeapProfMissed#before_malloc'\n    -:2:in 'Object#keep'\n    -:3:in '<main>'\n/, run.err)
  end

  def test_those_of_this_ruby_are_found_in_each_run
    tally = "p (1..300).map(&:to_s).tally.size"
    load = "RubyVM::InstructionSequence.load_from_binary(RubyVM::InstructionSequence.compile('def f(a) = a.map { |x| x.to_s }; f([1])').to_binary).eval"
    assert_include wbcheck("stress", tally).err, "missed: Hash -> String, in Enumerable#tally#{BETWEEN}\n"
    in_ractor = "Warning[:experimental] = false; Ractor.new { #{tally} }.take"
    assert_include wbcheck("stress", in_ractor).err, "missed: Hash -> String, in Enumerable#tally#{BETWEEN}\n"
    assert_include wbcheck("stress", load).err,
                   "missed: T_IMEMO(iseq) -> T_IMEMO(iseq), in RubyVM::InstructionSequence.load_from_binary#{BETWEEN}\n"
  end

  def test_none_is_found_where_there_is_none
    NOTHING.each_value do |work|
      assert_empty stress("#{work}\n1")
    end
  end

  def test_nor_while_everything_moves_or_gc_is_at_each_allocation
    assert_empty stress("GC.auto_compact = true; 2.times { 200.times { |i| [{ i.to_s => [i.to_s] }].to_h { |x| [x, x] } }; GC.compact }")
    assert_empty stress("GC.stress = true; 20.times { |i| Class.new.new.instance_variable_set(:@a, [i.to_s]) }; GC.stress = false")
  end

  # ---- by site ----

  # What is said of the fixture's functions; MRI has some of its own that are for nothing.
  def sites(script)
    run = wbcheck("sites", "#{FIXTURE}pair, plain = HeapProfMissed.new, HeapProfUnprotected.new; 4.times { GC.start }\n#{script}\n")
    assert_predicate run.status, :success?
    run.err.lines(chomp: true).grep(/heapprof_missed\.so/).map { |line| line.delete_prefix("ruby: write barrier ") }
  end

  AHEAD = "too early: in pair_ahead() of heapprof_missed.so: 3 of 3, the store comes after it"

  def test_a_barrier_before_its_store_is_told_by_its_place
    assert_equal [AHEAD], sites("3.times { pair.ahead(Object.new); GC.start }")
  end

  def test_and_one_that_a_gc_has_made_miss
    assert_equal ["too early: in pair_early() of heapprof_missed.so: 2 of 2, the store comes after it"],
                 sites("2.times { pair.early(Object.new) }; pair.store(nil)")
  end

  def test_a_barrier_for_an_object_that_is_not_protected_is_useless
    assert_equal ["useless: in pair_written() of heapprof_missed.so: 5 of 5, the object is not WB-protected"],
                 sites("5.times { plain.written(Object.new) }")
  end

  def test_a_barrier_for_what_an_object_does_not_refer_to_is_useless
    assert_equal ["useless: in pair_absent() of heapprof_missed.so: 2 of 2, the object did not refer to that afterwards"],
                 sites("2.times { pair.absent(Object.new); GC.start }")
  end

  def test_nothing_is_said_of_a_place_that_was_right_once
    assert_empty sites("5.times { plain.written(Object.new) }; pair.written(Object.new); GC.start")
  end

  def test_sites_are_not_told_unasked
    run = wbcheck("1", "#{FIXTURE}pair = HeapProfMissed.new; 3.times { pair.ahead(Object.new); GC.start }")
    assert_clean run
  end

  # ---- references that barriers have told of ----

  def told(script)
    run = wbcheck("told", "#{FIXTURE}pair = HeapProfMissed.new; 4.times { GC.start }\n#{script}\n")
    assert_predicate run.status, :success?
    run.err.lines(chomp: true).grep(/heapprof_missed\.so/).map { |line| line.delete_prefix("ruby: write barrier ") }.sort
  end

  SECOND = "HeapProfMissed+0x8, in"

  def test_new_references_are_counted_by_field_and_by_who_told_of_them
    assert_equal ["told: 1 of #{SECOND} pair_written() of heapprof_missed.so", "told: 5 of #{SECOND} pair_write() of heapprof_missed.so"],
                 told("5.times { pair.write(Object.new) }; pair.written(Object.new)")
  end

  def test_each_reference_counts_once_however_often_it_is_looked_at
    assert_equal ["told: 1 of #{SECOND} pair_write() of heapprof_missed.so"],
                 told("a = Object.new; [a].each { |b| pair.write(b) }; 3.times { GC.start; pair.write(a) }")
  end

  def test_what_is_missed_what_is_not_stored_and_what_comes_too_early_is_not_told
    assert_empty told("pair.store([]); pair.wrong([]); pair.absent([]); pair.early([]); pair.write(nil); pair.store(nil)")
  end

  def test_a_child_of_fork_tells_of_its_own
    assert_equal [2, 3].map { |count| "told: #{count} of #{SECOND} pair_write() of heapprof_missed.so" },
                 told("2.times { pair.write(Object.new) }; Process.wait fork { 3.times { pair.write(Object.new) } }; Process.wait fork { }")
  end

  def test_nothing_is_told_unasked
    assert_clean wbcheck("1", "#{FIXTURE}HeapProfMissed.new.write(Object.new)")
    assert_empty wbcheck("sites", "#{FIXTURE}HeapProfMissed.new.write(Object.new)").err.lines.grep(/told/)
  end

  # ---- GC.wbcheck ----

  def test_a_block_in_a_block_is_refused_and_a_raise_ends_the_check
    in_child(<<~RUBY)
      assert_raise_with_message(RuntimeError, /running already/) { GC.wbcheck { GC.wbcheck { } } }
      assert_raise(ZeroDivisionError) { GC.wbcheck { 1 / 0 } }
      assert_raise(LocalJumpError) { GC.wbcheck }
      assert_equal [], GC.wbcheck { [1].map(&:to_s) }
    RUBY
  end
end
