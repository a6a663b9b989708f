# frozen_string_literal: true

# test_move.rb - compaction (gc/objects/move.c): a sample follows its object to its new slot, with stack,
# weight and age, and dies where the object then is; names follow the code that moved.

require_relative "lib/heapprof_test"

class TestHeapProfMove < Test::Unit::TestCase
  include HeapProfTest

  ITEMS = <<~'RUBY'
    class Item
      def initialize(text) = @text = text
    end

    # A heap with holes, so that there is where to move to.
    def scattered(count)
      all = Array.new(count) { |i| [Item.new("item #{i}"), "text #{i}" * (i % 60), [i] * (i % 70), { i => i }] }
      kept = all.select.with_index { |_, i| i % 3 == 0 }
      all.clear # the machine stack may hold it
      kept
    end

    # Objects and bytes at each of scattered's sites, whatever their age.
    def contents(profile)
      rows = profile.select do |sample|
        sample.inuse_objects > 0 && %w[Item String Array Hash].include?(sample.class_name) &&
          sample.frames.any? { |frame| frame.label == "Object#scattered" }
      end
      rows.group_by { |sample| "#{sample.class_name} #{sample.frames.join(' ')}" }
          .transform_values { |group| [group.sum(&:inuse_objects), group.sum(&:inuse_space)] }
    end

    # The same but for rounding and for a few objects that the machine stack held by chance.
    def assert_same_contents(before, after, interval)
      slack = 3 / Estimator.probability(SLOTS[0], interval)
      assert_operator before.size, :>=, 5
      assert_equal before.keys.sort, after.keys.sort
      before.each do |site, (objects, space)|
        assert_in_delta objects, after[site][0], slack, site
        assert_in_delta space, after[site][1], slack * SLOTS.last, site
      end
    end

    def moved = GC.latest_compact_info[:moved].values.sum
  RUBY

  def test_moved_objects_keep_their_samples
    in_child(ITEMS + <<~'RUBY')
      [1, 500].each do |interval|
        HeapProfile.start(interval: interval, seed: 1)
        kept = scattered(scaled(20_000))
        before = contents(HeapProfile.snapshot(gc: true))
        GC.compact
        assert_operator moved, :>, 1000
        after = contents(HeapProfile.snapshot(gc: true))
        assert_same_contents before, after, interval
        assert_operator kept.size, :>, 0
        HeapProfile.stop
      end
    RUBY
  end

  def test_samples_follow_objects_through_verify_compaction_references
    in_child(ITEMS + <<~'RUBY')
      HeapProfile.start(interval: 1)
      kept = scattered(scaled(10_000))
      before = contents(HeapProfile.snapshot(gc: true))
      3.times { GC.verify_compaction_references(expand_heap: true, toward: :empty) }
      assert_same_contents before, contents(HeapProfile.snapshot(gc: true)), 1
      assert_operator kept.size, :>, 0
    RUBY
  end

  def test_moved_objects_keep_their_age
    in_child(ITEMS + <<~'RUBY')
      HeapProfile.start(interval: 1)
      GC.disable
      kept = Array.new(100) { Item.new("x") }
      GC.enable
      GC.start
      gc_count = GC.count
      GC.verify_compaction_references(expand_heap: true, toward: :empty)
      survived = 1 + GC.count - gc_count
      found = rows(HeapProfile.snapshot, class_name: "Item")
      assert_equal 100, kept.size
      assert_equal [1 << (survived.bit_length - 1)], found.map(&:gc_age)
    RUBY
  end

  def test_moved_objects_die
    in_child(ITEMS + <<~'RUBY')
      HeapProfile.start(interval: 1)
      kept = scattered(3000)
      GC.verify_compaction_references(expand_heap: true, toward: :empty)
      assert_equal 1000, kept.size
      kept.clear
      profile = HeapProfile.snapshot(gc: true)
      assert_operator total(profile, class_name: "Item"), :<=, 3
      assert_equal 3000, total(profile, :alloc_objects, class_name: "Item")
    RUBY
  end

  def test_samples_survive_compaction_in_a_loop_while_objects_come_and_go
    in_child(ITEMS + <<~'RUBY')
      HeapProfile.start(interval: 1)
      random = Random.new(2)
      kept = []
      scaled(100).times do
        200.times { kept << Item.new("loop") }
        kept.delete_if { random.rand < 0.3 }
        GC.compact
        without_gc { assert_equal ObjectSpace.each_object(Item).count, total(HeapProfile.snapshot, class_name: "Item") }
      end
    RUBY
  end

  def test_samples_survive_auto_compaction
    in_child(ITEMS + <<~'RUBY')
      GC.auto_compact = true
      HeapProfile.start(interval: 1)
      kept = []
      count = GC.stat(:compact_count)
      20.times do |round|
        kept.concat(scattered(1000))
        kept.shift(200)
        # Marked and swept in steps: objects are used, and moved back, while the heap is in between.
        GC.start(immediate_mark: false, immediate_sweep: false)
        kept.each { |item, text, array, hash| assert_equal text.size, "#{text}".size; array.sum; hash.keys; item.inspect }
      end
      assert_operator GC.stat(:compact_count), :>, count
      GC.start
      without_gc { assert_equal ObjectSpace.each_object(Item).count, total(HeapProfile.snapshot, class_name: "Item") }
    RUBY
  end

  def test_names_follow_classes_and_code_that_moved
    in_child(ITEMS + <<~'RUBY')
      def make(i)
        klass = Class.new(Item) { class_eval("def made_#{i} = self.class.new('x')") }
        Object.const_set("Moved#{i}", klass)
        klass.new("first").public_send("made_#{i}")
      end

      HeapProfile.start(interval: 1)
      kept = Array.new(50) { |i| make(i) }
      GC.verify_compaction_references(expand_heap: true, toward: :empty)
      kept += Array.new(50) { |i| Object.const_get("Moved#{i}").new("second").public_send("made_#{i}") }
      profile = HeapProfile.snapshot(gc: true)
      assert_equal 100, kept.size
      50.times do |i|
        assert_equal 2, total(profile, class_name: "Moved#{i}", label: "Moved#{i}#made_#{i}"), "Moved#{i}"
      end
    RUBY
  end

  # Where a class was, another may be made.
  def test_new_classes_in_the_places_of_moved_ones_have_their_own_names
    in_child(ITEMS + <<~'RUBY')
      HeapProfile.start(interval: 1)
      kept = []
      5.times do |round|
        100.times do |i|
          Class.new # a hole, soon
          kept << Object.const_set("Round#{round}Class#{i}", Class.new).new
        end
        GC.verify_compaction_references(toward: :empty)
      end
      assert_operator moved, :>, 100
      profile = HeapProfile.snapshot(gc: true)
      counts = kept.map { |item| item.class.name }.tally
      found = counts.to_h { |name, _| [name, 0] }
      profile.each { |sample| found[sample.class_name] += sample.inuse_objects if found.key?(sample.class_name) }
      assert_equal counts, found
    RUBY
  end

  def test_site_stays_one_site_when_its_class_and_code_have_moved
    in_child(ITEMS + <<~'RUBY')
      Object.const_set("Movable", Class.new { def self.waste = Array.new(20) { new }.clear })
      HeapProfile.start(interval: 1)
      4.times do
        Movable.waste
        GC.verify_compaction_references(toward: :empty)
      end
      dead = rows(HeapProfile.snapshot(gc: true), class_name: "Movable").select { |sample| sample.gc_age.nil? }
      assert_equal 1, dead.size
      assert_in_delta 80, dead.first.alloc_objects, 3
    RUBY
  end

  # ---- object by object: where each was, and what is known of it ----

  # Addresses are numbers here and hold nothing.
  OBJECTS = ITEMS + <<~'RUBY'
    require "-test-/heapprof_heap"

    COMPACTIONS = {
      manual: -> { GC.compact },
      verify: -> { GC.verify_compaction_references(toward: :empty) },
      doubled: -> { GC.verify_compaction_references(expand_heap: true, toward: :empty) },
      auto: -> { GC.auto_compact = true; GC.start; GC.auto_compact = false },
      lazy: -> { GC.auto_compact = true; GC.start(immediate_sweep: false); GC.auto_compact = false },
    }.freeze

    def addresses(objects) = objects.map { |object| HeapProfHeap.address(object) }
    def stacks(objects) = objects.map { |object| HeapProfile.allocation_stack(object)&.map(&:to_s) }

    # Compacts, and returns which of the objects have moved.
    def moved_by(compaction, objects)
      before = addresses(objects)
      COMPACTIONS[compaction].call
      objects.select.with_index { |object, i| HeapProfHeap.address(object) != before[i] }
    end

    def bucket(age) = age.zero? ? 0 : 1 << (age.bit_length - 1)
  RUBY

  # Only some are sampled at the larger interval: those that are not must not become so.
  def test_each_moved_object_keeps_its_own_stack
    in_child(OBJECTS + <<~'RUBY')
      [1, 300].product(COMPACTIONS.keys) do |interval, compaction|
        HeapProfile.start(interval: interval, seed: 1)
        objects = Array.new(3) { |i| eval("->(n) { scattered(n) }", nil, "caller#{i}.rb").call(300) }.flatten(2)
        before = stacks(objects)
        sampled = before.compact
        assert_operator sampled.uniq.size, :>=, 12 # four sites, each from three places
        assert_equal interval == 1, sampled.size == objects.size
        moved = moved_by(compaction, objects)
        assert_operator moved.size, :>, objects.size / 20, compaction
        assert_equal before, stacks(objects), compaction
        HeapProfile.stop
      end
    RUBY
  end

  def test_weights_and_ages_are_those_of_before_however_often_objects_move
    in_child(OBJECTS + <<~'RUBY')
      class Other < Item; end

      [1, 300].product(COMPACTIONS.keys) do |interval, compaction|
        HeapProfile.start(interval: interval, seed: 2)
        GC.disable # but for those below
        cohorts = Array.new(6) do
          count = GC.count
          garbage = Array.new(200) { Item.new("x") }
          others = Array.new(200) { Other.new("x") }
          garbage.clear
          GC.start
          [count, others]
        end
        sampled = cohorts.to_h { |count, others| [count, stacks(others).compact.size] }
        weight = 1 / Estimator.probability(SLOTS[0], interval)
        3.times do
          moved_by(compaction, cohorts.flat_map(&:last))
          expected = Hash.new(0)
          sampled.each { |count, samples| expected[bucket(GC.count - count)] += samples * weight }
          found = rows(HeapProfile.snapshot, class_name: "Other").reject { |row| row.inuse_objects == 0 }
          assert_equal expected.keys.sort, found.map(&:gc_age).sort, compaction
          found.each do |row|
            assert_in_delta expected[row.gc_age], row.inuse_objects, 1, compaction # rows are whole numbers
            assert_in_delta expected[row.gc_age] * SLOTS[0], row.inuse_space, 1 + 1e-6 * row.inuse_space, compaction
          end
        end
        GC.enable
        HeapProfile.stop
      end
    RUBY
  end

  # An object that has shrunk or grown moves to a slot of another size. What was allocated was the first; what is in
  # use is the one it is in.
  def test_objects_that_move_to_slots_of_another_size_keep_stack_and_what_was_allocated
    in_child(OBJECTS + <<~'RUBY')
      require "objspace"

      # How each is born, and what it then becomes.
      KINDS = {
        shrunk_string: [-> { "x" * 600 }, ->(string) { string.replace("y") }],
        grown_string: [-> { +"x" }, ->(string) { string << "y" * 300 }],
        shrunk_array: [-> { Array.new(70) { 1 } }, ->(array) { array.clear }],
        grown_array: [-> { [1] }, ->(array) { array.concat([2] * 30) }],
        shrunk_hash: [-> { { 1 => 2 } }, ->(hash) { 20.times { |i| hash[i] = i } }], # its table is elsewhere now
        grown_object: [-> { Item.new(1) }, ->(item) { 10.times { |i| item.instance_variable_set("@v#{i}", i) } }],
      }.freeze

      # In a debug build a slot has a word that the object cannot use.
      def slot_size(object)
        usable = ObjectSpace.dump(object)[/"slot_size":(\d+)/, 1].to_i
        SLOTS.find { |slot| slot >= usable }
      end

      def line_of(object) = HeapProfile.allocation_stack(object).find { |frame| frame.path == "-" }.lineno

      # What the profile has of the living of the kind: objects, bytes in use, bytes that were allocated.
      def sums(line, class_name)
        rows = HeapProfile.snapshot(gc: true).select do |row|
          row.gc_age && row.class_name == class_name && row.frames.find { |frame| frame.path == "-" }&.lineno == line
        end
        [rows.sum(&:inuse_objects), rows.sum(&:inuse_space), rows.sum(&:alloc_space)]
      end

      stray = 3 # objects that the machine stack may hold
      count = 200
      KINDS.each do |kind, (make, change)|
        HeapProfile.start(interval: 1)
        objects = Array.new(count) { make.call }
        objects.each(&change)
        change.call(make.call) # born when the class knows how large its objects become
        births = objects.map { |object| slot_size(object) }
        stacks, line, class_name = stacks(objects), line_of(objects[1]), objects[0].class.name
        before = sums(line, class_name)
        assert_in_delta count, before[0], stray, kind
        assert_in_delta births.sum, before[1], stray * SLOTS.last, kind
        assert_equal before[1], before[2], kind
        3.times { GC.verify_compaction_references(expand_heap: true, toward: :empty) }
        sizes = objects.map { |object| slot_size(object) }
        assert_operator sizes.zip(births).count { |size, birth| size != birth }, :>, count / 2, kind
        after = sums(line, class_name)
        assert_equal stacks, stacks(objects), kind
        assert_in_delta count, after[0], stray, kind
        assert_in_delta sizes.sum, after[1], stray * SLOTS.last, kind
        assert_in_delta births.sum, after[2], stray * SLOTS.last, kind

        (count / 2).times { objects.pop } # one by one: pop(n) shares the old array
        left = sums(line, class_name)
        assert_in_delta count / 2, left[0], stray, kind
        assert_in_delta sizes.first(count / 2).sum, left[1], stray * SLOTS.last, kind
        assert_equal stacks.first(count / 2), stacks(objects), kind
        objects.clear
        assert_operator sums(line, class_name)[0], :<=, stray, kind
        HeapProfile.stop
      end
    RUBY
  end

  # Freed classes look at others on pages that are being emptied; MRI then moves all back.
  def test_samples_follow_objects_that_the_read_barrier_moves_back
    in_child(OBJECTS + <<~'RUBY')
      def on_heap(klass) = ObjectSpace.each_object(klass).count { |object| object.instance_of?(klass) }

      modules = on_heap(Module)
      HeapProfile.start(interval: 1)
      kept = []
      faults = GC.stat(:read_barrier_faults)
      # Whether something is read in time is chance, as where the pages lie.
      50.times do |round|
        break if round >= 5 && GC.stat(:read_barrier_faults) > faults
        all = Array.new(1000) do |i|
          [Class.new(Item) { def made = 1 }.new("x"), Object.new.tap(&:singleton_class), Item.new(i), Module.new]
        end
        kept.concat(all.select.with_index { |_, i| i % 3 == 0 })
        all.clear
        kept.shift(200)
        objects = kept.last(100).flatten(1)
        stacks = stacks(objects)
        GC.compact
        COMPACTIONS[:lazy].call
        assert_equal stacks, stacks(objects)
        GC.start
        without_gc do
          profile = HeapProfile.snapshot
          assert_equal on_heap(Item), total(profile, class_name: "Item")
          assert_equal on_heap(Module) - modules, total(profile, class_name: "Module")
        end
      end
      assert_operator GC.stat(:read_barrier_faults), :>, faults
    RUBY
  end

  # Addresses of code: ObjectSpace.dump names what the wrapper of an iseq refers to.
  def test_new_samples_of_moved_code_and_classes_are_at_the_site_of_the_old_ones
    in_child(OBJECTS + <<~'RUBY')
      require "objspace"
      require "json"

      makers = Array.new(50) do |i|
        klass = Object.const_set("Maker#{i}", Class.new)
        klass.class_eval("def self.make(n) = Array.new(n) { Maker#{i}.new }", "maker.rb", i + 1)
        klass
      end
      wrapped = makers.map { |maker| RubyVM::InstructionSequence.of(maker.method(:make)) }
      code = -> { wrapped.map { |iseq| JSON.parse(ObjectSpace.dump(iseq))["references"].last.hex } }
      HeapProfile.start(interval: 1)
      kept = []
      moved_code = moved_classes = 0
      rounds = [nil, *COMPACTIONS.keys]
      rounds.each do |compaction|
        if compaction
          scattered(1000) # holes
          before = code.call
          moved_classes += moved_by(compaction, makers).size
          moved_code += before.zip(code.call).count { |was, is| was != is }
        end
        kept.concat(makers.map { |maker| maker.make(3) })
        Array.new(20) { |i| Class.new { class_eval("def other = Object.new", "other.rb", i + 1) }.new.other }.clear
      end
      assert_operator moved_code, :>=, 50
      assert_operator moved_classes, :>=, 50

      expected = makers.map.with_index { |maker, i| [maker.name, "maker.rb:#{i + 1}:in 'Class#new'"] }
      rows = -> { HeapProfile.snapshot(gc: true).select { |row| row.class_name.start_with?("Maker") } }
      place = ->(row) { [row.class_name, row.frames.find { |frame| frame.path == "maker.rb" }.to_s] }
      sites = rows.call.group_by(&place)
      assert_equal expected.sort, sites.keys.sort
      assert_equal [3 * rounds.size], sites.values.map { |group| group.sum(&:inuse_objects) }.uniq
      assert_equal 50 * rounds.size, kept.size

      # The dead of a site are one row: two of a place would be two sites, of code or classes taken for others.
      kept.clear
      dead = rows.call.select { |row| row.gc_age.nil? }
      assert_equal expected.sort, dead.map(&place).sort
      assert_in_delta 50 * 3 * rounds.size, dead.sum(&:alloc_objects), 3
    RUBY
  end
end
