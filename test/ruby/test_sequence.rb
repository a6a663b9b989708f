# frozen_string_literal: true

# test_sequence.rb - the two numbers by which a reader in another process knows whether the tables changed while it
# read them (gc/book/sequence.c): odd while they do, even when nothing of ours runs, and in a child of fork.
#
# What a debug build adds: it fails when tables change where the number is even. For that all kinds of
# changes are made here with tables that are small, and so looked at each time.

require_relative "lib/heapprof_test"

class TestHeapProfSequence < Test::Unit::TestCase
  include HeapProfTest

  DESCRIPTOR = File.join(__dir__, "lib/descriptor.rb")
  WORDS = <<~'RUBY'
    def tables = Descriptor.value("rb_heapprof_sequence", "heapprof_sequence.tables")
    def blocks = Descriptor.value("rb_heapprof_sequence", "heapprof_sequence.blocks")
    def make(count) = Array.new(count) { ["x" * 100] }

    # Even before and after, and greater.
    def changed?(word)
      before = send(word)
      yield
      after = send(word)
      assert_equal [0, 0], [before % 2, after % 2], "#{word} is odd"
      after > before
    end
  RUBY

  def test_each_change_of_tables_is_counted
    in_child(<<~RUBY, "-r#{DESCRIPTOR}")
      #{WORDS}
      kept = nil
      assert changed?(:tables) { HeapProfile.start(interval: 1) }, "start"
      assert changed?(:tables) { kept = make(100) }, "objects"
      assert changed?(:blocks) { kept << "y" * 10_000 }, "a block"
      assert changed?(:tables) { kept = nil; GC.start }, "a sweep"
      assert changed?(:tables) { HeapProfile.snapshot }, "what was pending"
      assert changed?(:tables) { HeapProfile.interval = 1000 }, "interval"
      assert changed?(:tables) { HeapProfile.stop }, "stop"
    RUBY
  end

  def test_off_nothing_changes
    in_child(<<~RUBY, "-r#{DESCRIPTOR}")
      #{WORDS}
      assert_false changed?(:tables) { make(10_000); GC.start; GC.compact }
      HeapProfile.start(interval: 1)
      HeapProfile.stop
      assert_false changed?(:tables) { make(10_000); GC.start; GC.compact }
    RUBY
  end

  # The forking thread has the blocks' lock; others may be in the midst of anything.
  def test_both_are_even_in_a_child_of_fork
    in_child(<<~RUBY, "-r#{DESCRIPTOR}")
      #{WORDS}
      HeapProfile.start(interval: 1)
      5.times do
        pid = fork do
          even = [tables % 2, blocks % 2] == [0, 0]
          goes_on = changed?(:tables) { make(100) } && changed?(:blocks) { "y" * 10_000 }
          exit!(even && goes_on)
        end
        _, status = Process.wait2(pid)
        assert_predicate status, :success?
        assert_equal [0, 0], [tables % 2, blocks % 2]
      end
    RUBY
  end

  CHANGES = <<~'RUBY'
    class Item; end
    def items(count) = Array.new(count) { [Item.new, "y" * 100] }
    $old = items(3000)

    def change(**settings)
      HeapProfile.start(interval: 3000, **settings)
      kept = items(300)
      3000.times.with_object(+"") { |i, text| text << "abc" * 10 }
      GC.start
      kept.clear
      GC.start
      GC.compact
      anonymous = Class.new { def self.make = Array.new(100) { new } }
      made = anonymous.make
      HeapProfile.snapshot
      Object.const_set("Named#{settings.size}#{settings[:depth]}", anonymous)
      HeapProfile.snapshot(owners: true)
      100.times { |i| eval("proc { Array.new(20) { Object.new } }.call") }
      HeapProfile.allocation_stack(made[0])
      Thread.new { items(50) }.join
      HeapProfile.interval = 5000
      items(100)
      HeapProfile.stop
    end
  RUBY

  # A debug build looks at each; others at what is left.
  def test_tables_change_nowhere_else
    in_child(<<~RUBY, "-r#{DESCRIPTOR}")
      #{WORDS}
      #{CHANGES}
      change
      change(depth: 3)
      change(malloc: :all)
      assert_equal [0, 0], [tables % 2, blocks % 2]
    RUBY
  end
end
