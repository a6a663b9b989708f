# frozen_string_literal: true

# test_accounting.rb - at interval 1 the profile is the heap: the live samples are exactly the live
# objects allocated since start, and what was allocated less what was freed is what is live, object
# by object, by class and by stack, whatever ran meanwhile.
#
# It is held against an account of its own, from MRI's events of birth and death and a walk over
# the heap (lib/accounting.rb, ../ext/census), and against the collector's own counters. Objects
# that only the VM sees are part of it. Memory of the allocator is sampled, too, meanwhile, but is not
# compared (test_malloc.rb). Nothing is left to chance, and no difference is allowed.

require_relative "lib/heapprof_test"

class TestHeapProfAccounting < Test::Unit::TestCase
  include HeapProfTest

  SETUP = <<~RUBY
    require #{File.join(__dir__, "lib/accounting").dump}
    require #{File.join(__dir__, "lib/mutator").dump}

    # One moment; with gc: false amid whatever the collector is at.
    def assert_exact(gc: true, each: true, at_least: 0)
      compared = []
      assert_empty Accounting.differences(gc: gc, each: each, compared: compared)
      assert_operator compared.sum, :>=, at_least
    end

    SEEDS = debug_build? ? [1] : [1, 2, 3]

    # A mutator for each seed; the block says what happens after each round.
    def mutate(rounds, steps = scaled(400))
      SEEDS.each do |seed|
        HeapProfCensus.start
        mutator = Mutator.new(seed)
        rounds.times do |round|
          mutator.run(steps)
          yield mutator, round
        rescue Test::Unit::AssertionFailedError => e
          raise e.class, "seed \#{seed}, round \#{round}: \#{e.message}"
        end
        assert_exact
        HeapProfCensus.stop
      end
    end
  RUBY

  def test_samples_are_the_objects_of_a_random_program
    in_child(SETUP + <<~'RUBY')
      mutate(10) { assert_exact(each: false, at_least: 300) }
    RUBY
  end

  def test_samples_are_the_objects_amid_lazy_sweeps_and_incremental_marking
    in_child(SETUP + <<~'RUBY')
      mutate(20, scaled(200)) do |mutator, _|
        mutator.collect
        mutator.run(scaled(50))
        assert_exact(gc: false, each: false)
      end
    RUBY
  end

  def test_samples_are_the_objects_after_compactions
    in_child(SETUP + <<~'RUBY')
      mutate(6) do |mutator, round|
        round.odd? ? GC.compact : GC.verify_compaction_references(expand_heap: true, toward: :empty)
        mutator.run(20)
        assert_exact(gc: round % 3 == 0, each: false)
      end
    RUBY
  end

  def test_samples_are_the_objects_with_auto_compact
    in_child(SETUP + <<~'RUBY')
      GC.auto_compact = true
      mutate(10) do |mutator, round|
        mutator.collect
        assert_exact(gc: round.odd?, each: false)
      end
    RUBY
  end

  def test_samples_are_the_objects_under_gc_stress
    in_child(SETUP + <<~'RUBY')
      mutate(2, 1) do |mutator, _|
        GC.stress = true
        mutator.run(debug_build? ? 2 : 15)
        GC.stress = false
        assert_exact
      end
    RUBY
  end

  def test_samples_are_the_objects_of_threads_that_take_turns
    in_child(SETUP + <<~'RUBY')
      HeapProfCensus.start
      mutators = Array.new(4) { |seed| Mutator.new(seed, 300) }
      mutators.map do |mutator|
        Thread.new do
          scaled(200).times { |i| mutator.step; Thread.pass if i % 3 == 0; mutator.collect if i % 50 == 0 }
        end
      end.each(&:join)
      assert_exact(at_least: 300)
      assert_equal 1200, mutators.sum { |mutator| mutator.kept.size }
    RUBY
  end

  def test_samples_are_the_objects_in_parent_and_child_of_a_fork
    in_child(SETUP + <<~'RUBY')
      mutate(2) do |mutator, _|
        pid = fork do
          mutator.run(100)
          differences = Accounting.differences(each: false)
          warn differences.first(5)
          exit!(differences.empty?)
        end
        mutator.run(100)
        assert_predicate Process.wait2(pid)[1], :success?
        assert_exact(each: false)
      end
    RUBY
  end

  REAL = <<~'RUBY'
    HeapProfCensus.start
    %w[json erb prism optparse set time tempfile uri].each { |name| require name }
    items = Array.new(200) { |i| { "id" => i, "text" => "<item #{i}>" * (i % 9), "prices" => [i * 1.1, nil, 2**(i * 3)] } }
    parsed = JSON.parse(JSON.generate(items))
    page = ERB.new("<% items.each do |i| %><li><%= ERB::Util.h(i['text']) %></li><% end %>").result_with_hash(items: parsed)
    source = File.read($".grep(/optparse\.rb/).first)
    tree = Prism.parse(source).value
    code = RubyVM::InstructionSequence.compile(source).to_a
    tokens = Prism.lex(source).value
    times = Array.new(50) { |i| Time.at(i * 86_400).utc.iso8601 }
    uris = times.map { |time| URI("http://localhost/#{time}?q=#{page.size}") }
    assert_exact(each: false, at_least: 20_000)
    GC.compact
    assert_exact(each: false, at_least: 20_000)
    parsed = tree = code = tokens = nil
    assert_exact
    assert_equal 50, uris.uniq.size
  RUBY

  def test_samples_are_the_objects_of_a_real_program
    in_child(SETUP + REAL)
  end

  def test_samples_are_the_objects_of_compiled_code
    omit "this ruby was built without YJIT" unless defined?(RubyVM::YJIT)
    in_child(SETUP + <<~'RUBY', "--yjit", "--yjit-call-threshold=2")
      mutate(5) { assert_exact(each: false, at_least: 300) }
      assert_operator RubyVM::YJIT.runtime_stats[:compiled_iseq_count], :>, 50
    RUBY
    in_child(SETUP + REAL, "--yjit", "--yjit-call-threshold=2")
  end

  def test_second_run_accounts_for_itself_alone
    in_child(SETUP + <<~'RUBY')
      older = Mutator.new(7)
      3.times do |seed|
        HeapProfCensus.start
        mutator = Mutator.new(seed)
        mutator.run(200)
        older.run(200)
        assert_exact
        HeapProfCensus.stop
      end
    RUBY
  end

  # Without events, as programs run: by the collector's counters, and by class.
  def test_profile_agrees_with_the_counters_of_the_collector
    in_child(SETUP + <<~'RUBY')
      require "-test-/heapprof_capi"
      before, now = Array.new(2) { Array.new(SLOTS.size) }
      count = ->(into) { SLOTS.each_index { |heap| into[heap] = GC.stat_heap(heap, :total_allocated_objects) } }
      # The first time round the code here makes its own inline caches.
      4.times do |round|
        mutator = Mutator.new(round)
        mutator.run(10)
        GC.start
        count.(before)
        HeapProfCAPI.start(1, 10_000, 1 << 30, nil)
        mutator.run(scaled(1000))
        count.(now)
        snapshot = HeapProfCAPI.snapshot(false) # which makes no object before it has it
        HeapProfile.stop
        next if round == 0
        rows = HeapProfCAPI.each(snapshot, 0, 0)[1]
        taken = now.zip(before).map { |after, at_first| after - at_first }
        assert_equal taken.sum, rows.sum { |row| row[5] }
        assert_equal taken.zip(SLOTS).sum { |objects, slot| objects * slot }, rows.sum { |row| row[9] }
      end
    RUBY
  end

  def test_profile_has_the_objects_of_each_class_that_each_object_finds
    in_child(SETUP + <<~'RUBY')
      classes = Mutator::CLASSES.map { |klass| Class.new(klass) }
      HeapProfile.start(interval: 1)
      made = classes.map.with_index do |klass, i|
        Object.const_set("Made#{i}", klass)
        Array.new(300) { klass.allocate }
      end
      made.each { |objects| objects.shuffle!(random: Random.new(1)).then { |all| 100.times { all.pop } } }
      GC.compact
      GC.disable # or what the profile has found alive dies before it is counted again
      profile = HeapProfile.snapshot(gc: true)
      classes.each do |klass|
        alive = ObjectSpace.each_object(klass).count
        assert_equal alive, total(profile, class_name: klass.name), klass
        assert_equal 300, total(profile, :alloc_objects, class_name: klass.name), klass
        assert_in_delta 200, alive, 3
      end
    RUBY
  end

  # Or all of the above might say nothing.
  def test_accounting_finds_what_is_missing
    in_child(SETUP + <<~'RUBY')
      HeapProfCensus.start
      lost = Array.new(10) { Mutator::Item.new(2) }
      HeapProfile.stop
      HeapProfile.start(interval: 1)
      found = Accounting.differences
      assert_include found.first, "no sample" unless debug_build?
      assert_include found, found.grep(/alive.*Mutator::Item/).first
      assert_include found, found.grep(/born and died/).first
      assert_equal 10, lost.size
    RUBY
  end
end
