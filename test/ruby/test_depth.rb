# frozen_string_literal: true

# test_depth.rb - deep stacks: recursion until SystemStackError with every object sampled, in Ruby
# and through C, in the main thread, a thread, a fiber; and stacks deeper than depth, which are cut.
#
# The walk goes as deep as the stack does, at the moment when there is hardly any machine stack left.

require_relative "lib/heapprof_test"

class TestHeapProfDepth < Test::Unit::TestCase
  include HeapProfTest

  # ---- until the stack is used up ----

  # Between the literal and its count no frame is pushed, so the stack cannot end there: counts are exact.
  DEEP = <<~'RUBY'
    class Deep
      attr_reader :made
      def initialize = @made = 0

      def by_method = (@last = {}; @made += 1; by_method)
      def by_block = (@last = {}; @made += 1; [1].map { by_block })
      def by_eval = (@last = {}; @made += 1; instance_eval { by_eval })
      def by_gsub = (@last = {}; @made += 1; "x".gsub(/x/) { by_gsub })
      def by_hash = (@last = {}; @made += 1; Hash.new { by_hash }[1])
      def by_send = (@last = {}; @made += 1; __send__(:by_send))
      def by_inspect = (@last = {}; @made += 1; [self].inspect)
      def inspect = by_inspect
      def by_missing = (@last = {}; @made += 1; no_such_method)
      def method_missing(name, ...) = name == :no_such_method ? by_missing : super
      def respond_to_missing?(...) = true
      def by_sort = (@last = {}; @made += 1; [2, 1].sort { by_sort })
      def by_ensure = begin; @last = {}; @made += 1; by_ensure; ensure @left = true; end
      def by_define = (@last = {}; @made += 1; by_defined_method)
      define_method(:by_defined_method) { by_define }
    end
    WAYS = Deep.instance_methods(false).grep(/\Aby_/) - %i[by_defined_method by_inspect]

    # How many objects a way down made, and how many of them the profile knows.
    def fall(way)
      deep = Deep.new
      assert_raise(SystemStackError) { deep.public_send(way) }
      made = rows(HeapProfile.snapshot, class_name: "Hash").select { |sample| sample.frames.first.label == "Deep##{way}" }
      [deep.made, made.sum(&:alloc_objects)]
    end

    def assert_every_fall_is_counted(ways = WAYS)
      ways.each do |way|
        HeapProfile.start(interval: 1, depth: 64)
        made, found = fall(way)
        assert_operator made, :>, 20, way
        assert_equal made, found, way
        assert_equal 0, HeapProfile.stat(:dropped), way
        HeapProfile.stop
      end
    end
  RUBY

  def test_objects_made_on_the_way_to_system_stack_error_are_exact
    in_child(DEEP + "assert_every_fall_is_counted")
  end

  # No call on the way of inspect asks how much stack is left, so this falls to the last byte. Not in a thread: there stock
  # MRI 3.4 passes the rescue by, or waits for ever for its own lock (doc/upstream-bugs/overflow-in-c-hangs.rb).
  def test_objects_made_until_the_last_byte_of_stack_are_counted_or_dropped
    in_child(DEEP + <<~'RUBY')
      HeapProfile.start(interval: 1, depth: 64)
      made, found = fall(:by_inspect)
      assert_operator made, :>, 20
      assert_include 0..HeapProfile.stat(:dropped), made - found
    RUBY
  end

  def test_objects_made_on_the_way_to_system_stack_error_are_exact_in_threads_and_fibers
    in_child(DEEP + <<~'RUBY')
      Thread.new { assert_every_fall_is_counted }.join
      Fiber.new { assert_every_fall_is_counted }.resume
      Enumerator.new { |yielder| assert_every_fall_is_counted; yielder << 1 }.next
    RUBY
  end

  # Whose machine stack ends long before the VM's, and the other way round.
  def test_objects_made_on_the_way_to_system_stack_error_are_exact_with_stacks_of_other_sizes
    [["RUBY_THREAD_MACHINE_STACK_SIZE", 64 << 10], ["RUBY_THREAD_MACHINE_STACK_SIZE", 8 << 20],
     ["RUBY_THREAD_VM_STACK_SIZE", 64 << 10]].each do |name, size|
      in_child(DEEP + "Thread.new { assert_every_fall_is_counted(%i[by_method by_block by_eval by_gsub by_hash by_send]) }.join",
               env: { name => size.to_s })
    end
  end

  def test_objects_made_on_the_way_to_system_stack_error_are_exact_at_any_depth_kept
    in_child(DEEP + <<~'RUBY')
      [1, 65_535].each do |depth|
        %i[by_block by_send].each do |way|
          HeapProfile.start(interval: 1, depth: depth, memory: 512 << 20)
          made, found = Fiber.new { fall(way) }.resume
          assert_equal made, found
          HeapProfile.stop
        end
      end
    RUBY
  end

  def test_program_goes_on_after_system_stack_errors_and_its_profile_is_written
    profile_script(<<~'RUBY') do |out, _, ran|
      class Item; end
      def down = ([Item.new]; down)
      def after = Array.new(30) { Item.new }
      2.times { begin down; rescue SystemStackError; end }
      $kept = after
      print :done
    RUBY
      assert_equal "done", ran.out
      profile = read_profile(out)
      assert_equal 30, profile.total(class_name: "Item", label: "Object#after")
      assert_operator profile.total(:alloc_objects, class_name: "Item", label: "Object#down"), :>, 5000
    end
  end

  # To overflow there would leave the VM locked for ever. An object that has no room for its sample is made without.
  def test_an_object_that_the_vm_lock_is_held_for_overflows_no_stack
    in_child(<<~'RUBY')
      require "-test-/heapprof_heap"
      GC.disable # each page is new
      HeapProfile.start(interval: 1)
      assert_equal true, Thread.new { HeapProfHeap.make_at_stack_end(6 << 10) }.value
      assert_equal 1, HeapProfile.stat(:dropped)
    RUBY
  end

  # C code that recurses by itself overflows its stack wherever it is, by SIGSEGV; it must not be in
  # the middle of our work. MRI itself does not survive that in the middle of its own (about once in
  # a hundred), so of six children two have to: chance fails this in 10^-8.
  def test_overflow_in_c_code_raises_system_stack_error_as_ever
    script = <<~'RUBY'
      ObjectSpace::HeapProfile.start(interval: 1)
      begin
        Marshal.load("\x04\b".b + "[\x06".b * 1_000_000 + "0")
      rescue SystemStackError => e
        print e.message
      end
      GC.start
      ObjectSpace::HeapProfile.snapshot(gc: true).count
    RUBY
    survived = 0
    6.times do
      out, _, status = EnvUtil.invoke_ruby([clean({}), "--disable-gems", "-e", script], "", true, true, timeout: TIMEOUT / 10)
      survived += 1 if status.success? && out == "stack level too deep"
      break if survived == 2
    rescue Timeout::Error
      next
    end
    assert_equal 2, survived
  end

  # ---- deeper than depth ----

  ITEM = <<~'RUBY'
    class Item; end
    def recurse(n) = n == 0 ? Item.new : recurse(n - 1)
    def frames(profile) = rows(profile, class_name: "Item").map { |sample| sample.frames.map(&:label) }.uniq
  RUBY

  def test_cut_stacks_are_marked_and_counted_at_depth_1_and_512
    in_child(ITEM + <<~'RUBY')
      [1, 512].each do |depth|
        HeapProfile.start(interval: 1, depth: depth)
        before = HeapProfile.stat(:truncated)
        kept = Array.new(40) { recurse(600) }
        cut = HeapProfile.stat(:truncated) - before
        assert_equal [["Class#new"] + ["Object#recurse"] * (depth - 1) + ["[truncated]"]], frames(HeapProfile.snapshot)
        assert_operator cut, :>=, 40, "each Item's stack is cut"
        assert_equal 40, kept.size
        HeapProfile.stop
      end
    RUBY
  end

  # The number of the stat goes up by one for each cut stack, and by none for whole ones.
  def test_number_of_cut_stacks_is_exact
    in_child(ITEM + <<~'RUBY')
      def truncated = HeapProfile.stat(:truncated)
      HeapProfile.start(interval: 1, depth: 100)
      kept = Array.new(100)
      base = truncated
      i = 0
      (kept[i] = recurse(50); i += 1) while i < 50
      assert_equal base, truncated
      (kept[i] = recurse(200); i += 1) while i < 100
      assert_equal base + 50, truncated
      profile = HeapProfile.snapshot
      whole, cut = rows(profile, class_name: "Item").partition { |sample| sample.frames.last.label == "<main>" }
      assert_equal [50, 50], [whole.sum(&:inuse_objects), cut.sum(&:inuse_objects)]
      assert_equal ["[truncated]"], cut.map { |sample| sample.frames.last.label }.uniq
    RUBY
  end

  def test_file_marks_cut_stacks_and_tells_their_number
    profile_script(<<~'RUBY', settings: "interval=1,depth=20") do |out, _, ran|
      class Item; end
      def recurse(n) = n == 0 ? Item.new : recurse(n - 1)
      $kept = Array.new(30) { recurse(50) }
    RUBY
      profile = read_profile(out)
      items = profile.where(class_name: "Item")
      assert_equal 30, items.sum(&:inuse_objects)
      assert_equal [["[truncated]", 21]], items.map { |sample| [sample.frames.last.label, sample.frames.size] }.uniq
      assert_equal 1, profile.comments.grep(/\Atruncated stacks: (\d+)\z/) { $1.to_i }.count { |count| count >= 30 }
      assert_clean ran
    end
  end

  def test_file_without_cut_stacks_says_so
    profile_script("$kept = Object.new") do |out,|
      assert_include read_profile(out).comments, "truncated stacks: 0"
    end
  end

  # A VM stack of 1 MiB ends before 12,000 calls; 8 MiB is room enough.
  def test_recursion_of_10_000_calls_is_whole_at_the_greatest_depth
    in_child(ITEM + <<~'RUBY', env: { "RUBY_THREAD_VM_STACK_SIZE" => (8 << 20).to_s })
      HeapProfile.start(interval: 1, depth: 65_535)
      kept = Thread.new { recurse(10_000) }.value
      assert_equal [["Class#new"] + ["Object#recurse"] * 10_001 + ["block in <main>"]], frames(HeapProfile.snapshot)
      assert_equal 0, HeapProfile.stat(:truncated)
      assert_equal 10_003, HeapProfile.allocation_stack(kept).size
    RUBY
  end

  def test_stacks_deeper_than_the_greatest_depth_are_cut
    in_child(ITEM + <<~'RUBY', env: { "RUBY_THREAD_VM_STACK_SIZE" => (32 << 20).to_s })
      HeapProfile.start(interval: 1, depth: 65_535)
      kept = Thread.new { recurse(70_000) }.value
      found = frames(HeapProfile.snapshot)
      assert_equal [65_536, "[truncated]"], [found[0].size, found[0].last]
      assert_equal 65_536, HeapProfile.allocation_stack(kept).size
    RUBY
  end
end
