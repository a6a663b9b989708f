# frozen_string_literal: true

# test_names.rb - what functions and classes are called (vm/names/names.c): names are found when code is
# first seen and outlive it; what had no name then gets the name it is given later; odd names are
# shown as MRI shows them.

require_relative "lib/heapprof_test"

class TestHeapProfNames < Test::Unit::TestCase
  include HeapProfTest

  def test_class_named_later_has_its_name_in_the_next_snapshot
    in_child(<<~'RUBY')
      HeapProfile.start(interval: 1)
      klass = Class.new { def self.make = [new] }
      kept = klass.make
      before = HeapProfile.snapshot
      objects, blocks = rows(before, label: "make").partition { |row| row.caller.nil? }
      assert_equal ["#<Class < Object>"], objects.map(&:class_name) - ["Array"] - ["T_IMEMO(callcache)"]
      assert_equal [""], blocks.map(&:class_name).uniq
      NamedLater = klass
      after = HeapProfile.snapshot
      assert_equal 1, total(after, class_name: "NamedLater", label: "NamedLater.make")
      assert_empty rows(after, label: "make")
      assert_equal 1, total(before, label: "make", class_name: "#<Class < Object>")
      assert kept
    RUBY
  end

  def test_methods_and_blocks_of_a_class_named_later_have_its_name
    in_child(<<~'RUBY')
      class Item; end
      HeapProfile.start(interval: 1)
      klass = Class.new do
        def instance = Item.new
        def block = [1].map { Item.new }
        define_method(:defined) { Item.new }
      end
      kept = [klass.new.instance, klass.new.block, klass.new.defined]
      assert_operator total(HeapProfile.snapshot, class_name: "Item", label: "block in block"), :==, 1
      module Deep; end
      Deep::Named = klass
      profile = HeapProfile.snapshot
      assert_equal 1, total(profile, class_name: "Item", label: "Deep::Named#instance")
      assert_equal 1, total(profile, class_name: "Item", label: "block in Deep::Named#block")
      assert_equal 3, kept.size
    RUBY
  end

  def test_temporary_name_gives_way_to_the_permanent_one
    in_child(<<~'RUBY')
      HeapProfile.start(interval: 1)
      klass = Class.new
      klass.set_temporary_name("fake<name>")
      kept = [klass.new]
      assert_equal 1, total(HeapProfile.snapshot, class_name: "fake<name>")
      klass.set_temporary_name("fake<other>")
      assert_equal 1, total(HeapProfile.snapshot, class_name: "fake<other>")
      Lasting = klass
      profile = HeapProfile.snapshot
      assert_equal [1, 0], [total(profile, class_name: "Lasting"), total(profile, class_name: "fake<other>")]
      assert kept
    RUBY
  end

  def test_class_in_an_anonymous_module_is_called_as_ruby_does_until_both_have_names
    in_child(<<~'RUBY')
      HeapProfile.start(interval: 1)
      mod = Module.new
      mod.const_set(:Inside, Class.new)
      kept = [mod::Inside.new]
      assert_equal 1, total(HeapProfile.snapshot, class_name: mod::Inside.name)
      OuterNow = mod
      assert_equal 1, total(HeapProfile.snapshot, class_name: "OuterNow::Inside")
      assert kept
    RUBY
  end

  def test_anonymous_class_is_called_by_its_first_named_ancestor
    in_child(<<~'RUBY')
      HeapProfile.start(interval: 1)
      kept = [Class.new(Class.new(String)).new("x"), Class.new(StandardError).new, Class.new(BasicObject).allocate]
      names = HeapProfile.snapshot.select { |s| s.inuse_objects > 0 }.map(&:class_name)
      ["#<Class < String>", "#<Class < StandardError>", "#<Class < BasicObject>"].each { |name| assert_include names, name }
      assert_equal 3, kept.size
    RUBY
  end

  def test_singleton_and_extended_objects_count_for_their_class
    in_child(<<~'RUBY')
      class Item; end
      module Extra; end
      HeapProfile.start(interval: 1)
      kept = Array.new(4) { Item.new }
      def (kept[0]).own = 1
      kept[1].extend(Extra)
      kept[2].singleton_class.include(Extra)
      assert_equal 4, total(HeapProfile.snapshot, class_name: "Item")
    RUBY
  end

  def test_dead_code_keeps_name_path_and_line
    in_child(<<~'RUBY')
      class Item; end
      KEPT = []
      def run(i)
        klass = Class.new { class_eval("\n\ndef doomed_#{i} = KEPT << Item.new", "/dead/code.rb") }
        klass.new.public_send("doomed_#{i}")
        eval("proc { KEPT << Item.new }", nil, "/dead/proc_#{i}.rb", 40).call
      end
      HeapProfile.start(interval: 1)
      20.times { |i| run(i) }
      5.times { GC.start; GC.verify_compaction_references(expand_heap: true, toward: :empty) }
      profile = HeapProfile.snapshot(gc: true)
      20.times do |i|
        doomed = rows(profile, class_name: "Item", label: "doomed_#{i}").first
        frame = doomed.frames.find { |f| f.label == "doomed_#{i}" }
        assert_equal [1, "/dead/code.rb", 3], [doomed.inuse_objects, frame.path, frame.lineno]
        assert_equal 1, profile.count { |s| s.class_name == "Item" && s.frames.any? { |f| f.path == "/dead/proc_#{i}.rb" && f.lineno == 40 } }
      end
      assert_equal 40, KEPT.size
    RUBY
  end

  # The addresses of dead code and classes are used again; their numbers must not be.
  def test_new_code_in_a_dead_ones_place_has_its_own_name
    in_child(<<~'RUBY')
      KEPT = []
      def run(i)
        klass = Class.new { class_eval("def made_#{i} = KEPT << Object.new << self") }
        klass.set_temporary_name("temp<#{i}>")
        klass.new.public_send("made_#{i}")
        KEPT.pop if i.odd?
      end
      HeapProfile.start(interval: 1)
      200.times { |i| run(i); GC.start if i % 10 == 0 }
      profile = HeapProfile.snapshot(gc: true)
      made = Hash.new(0)
      rows(profile, class_name: "Object").each do |sample|
        sample.frames.each { |frame| made[frame.label] += sample.inuse_objects if frame.label.start_with?("made_") }
      end
      living = profile.select { |sample| sample.inuse_objects > 0 }.map(&:class_name).grep(/temp/).uniq
      assert_equal Array.new(200) { |i| ["made_#{i}", 1] }.to_h, made
      early = living.reject { |name| name[/\d+/].to_i >= 190 }
      assert_equal Array.new(95) { |i| "temp<#{i * 2}>" }, early.sort_by { |name| name[/\d+/].to_i }
    RUBY
  end

  # The last stack walked is kept to compare the next with, by addresses; not beyond a GC.
  def test_new_code_in_the_place_of_the_code_sampled_last_has_its_own_path
    in_child(<<~'RUBY')
      MARKS = Array.new(400) { |i| Object.const_set("Mark#{i + 1000}", Class.new) }
      HeapProfile.start(interval: 4000, seed: 6)
      MARKS.size.times do |i|
        code = "n = 0; n += 1 while Mark#{i + 1000}.new && n < 80"
        RubyVM::InstructionSequence.compile(code, "code", "/code#{i + 1000}.rb").eval
        GC.start
      end
      profile = HeapProfile.snapshot
      found = profile.select { |sample| sample.class_name.start_with?("Mark") }
      assert_operator found.size, :>, 50
      found.each do |sample|
        number = sample.class_name.delete_prefix("Mark")
        assert_equal ["/code#{number}.rb"], sample.frames.map(&:path).uniq - ["-"]
      end
    RUBY
  end

  def test_renamed_aliased_and_redefined_methods
    in_child(<<~'RUBY')
      class Item; end
      class Maker
        def first = Item.new
        alias second first
        def redefined = [Item.new, 1].first
      end
      HeapProfile.start(interval: 1)
      kept = [Maker.new.second, Maker.new.redefined]
      class Maker
        undef_method :redefined
        def redefined = [Item.new, 2].first
      end
      kept << Maker.new.redefined
      profile = HeapProfile.snapshot(gc: true)
      assert_equal 1, total(profile, class_name: "Item", label: "Maker#first")
      found = rows(profile, class_name: "Item", label: "Maker#redefined")
      assert_equal [2, 2], [found.sum(&:inuse_objects), found.flat_map { |s| s.frames.select { |f| f.label == "Maker#redefined" } }.uniq.size]
      assert_equal 3, kept.size
    RUBY
  end

  def test_names_in_other_scripts_and_encodings
    in_child(<<~'RUBY')
      require "stringio"
      class Ünïcödé; end
      HeapProfile.start(interval: 1)
      def größe = Ünïcödé.new
      kept = [größe]
      Object.const_set("Ｗide", Class.new)
      kept << Ｗide.new
      binary = "raw_\xff".b.to_sym
      Object.define_method(binary) { Ünïcödé.new }
      kept << send(binary)
      profile = HeapProfile.snapshot
      assert_equal 1, total(profile, class_name: "Ünïcödé", label: "Object#größe")
      assert_equal 1, total(profile, class_name: "Ｗide")
      labels = profile.flat_map { |s| s.frames.map(&:label) }.uniq
      assert labels.all?(&:valid_encoding?)
      assert_operator profile.write(StringIO.new), :>, 0
      assert_equal 3, kept.size
    RUBY
  end

  def test_very_long_names_are_cut_and_harm_nothing
    in_child(<<~'RUBY')
      name = "C#{'x' * 5000}"
      Object.const_set(name, Class.new { define_method("m" * 5000) { [self] } })
      HeapProfile.start(interval: 1)
      kept = Object.const_get(name).new.public_send("m" * 5000)
      profile = HeapProfile.snapshot
      found = profile.map(&:class_name).select { |n| n.start_with?("Cxxx") }.uniq
      assert_equal [true], found.map { |n| name.start_with?(n) }
      assert_operator found.first.size, :>=, 1000
      assert kept
    RUBY
  end

  def test_class_whose_name_method_lies_is_called_by_its_real_name
    in_child(<<~'RUBY')
      class Liar
        def self.name = raise("asked")
        def self.to_s = raise("asked")
        def self.inspect = raise("asked")
      end
      HeapProfile.start(interval: 1)
      kept = [Liar.new]
      assert_equal 1, total(HeapProfile.snapshot, class_name: "Liar")
      assert kept
    RUBY
  end
end
