# frozen_string_literal: true

# test_fiber.rb - fibers: each sample has the stack of the fiber that allocated, from its own first
# frame on and with nothing of whoever resumed it; and a fiber's objects live as long as it does.

require_relative "lib/heapprof_test"

class TestHeapProfFiber < Test::Unit::TestCase
  include HeapProfTest

  METHODS = <<~'RUBY'
    class Item; end
    def in_fiber(i, count) = count.times { Item.new; Fiber.yield i }
    def outside(count) = count.times { Item.new }
    %w[red green blue].each { |c| eval("def #{c}(count) = count.times { Item.new; yield }") }

    def allocated(label, profile = HeapProfile.snapshot)
      total(profile, :alloc_objects, class_name: "Item", label: "Object##{label}")
    end

    # The stacks of the objects that were allocated under that method, innermost first.
    def stacks(label, profile = HeapProfile.snapshot)
      rows(profile, class_name: "Item", label: "Object##{label}").map { |s| s.frames.map(&:label) }.uniq
    end
  RUBY

  # ---- switching ----

  def test_objects_have_the_stack_of_their_fiber_which_begins_with_its_block
    in_child(METHODS + <<~'RUBY')
      HeapProfile.start(interval: 1)
      fibers = Array.new(10) { |i| Fiber.new { in_fiber(i, 100) } }
      100.times { fibers.each { |fiber| fiber.resume; outside(1) } }
      assert_equal [1000, 1000], [allocated("in_fiber"), allocated("outside")]
      assert_equal [["Class#new", "block in Object#in_fiber", "Integer#times", "Object#in_fiber", "block (2 levels) in <main>"]],
                   stacks("in_fiber")
      assert_equal [["Class#new", "block in Object#outside", "Integer#times", "Object#outside", "block (2 levels) in <main>",
                     "Array#each", "block in <main>", "Integer#times", "<main>"]], stacks("outside")
    RUBY
  end

  def test_objects_have_the_stack_of_their_fiber_when_control_is_transferred
    in_child(METHODS + <<~'RUBY')
      HeapProfile.start(interval: 1)
      ring = {}
      %w[red green blue].each_cons(2) { |from, to| ring[from] = to }
      ring["blue"] = "red"
      fibers = {}
      main = Fiber.current
      ring.each do |colour, following|
        fibers[colour] = Fiber.new { send(colour, 200) { fibers[following].transfer }; main.transfer }
      end
      fibers["red"].transfer
      ring.each_key do |colour|
        assert_equal 200, allocated(colour), colour
        assert_equal [["Class#new", "block in Object##{colour}", "Integer#times", "Object##{colour}", "block (2 levels) in <main>"]],
                     stacks(colour)
      end
    RUBY
  end

  def test_objects_have_the_stack_of_the_innermost_of_nested_fibers
    in_child(METHODS + <<~'RUBY')
      def nest(depth)
        Item.new
        return if depth == 0
        Fiber.new { nest(depth - 1) }.resume
        Item.new
      end
      HeapProfile.start(interval: 1)
      nest(30)
      assert_equal 61, allocated("nest")
      assert_equal [["Class#new", "Object#nest", "<main>"], ["Class#new", "Object#nest", "block in Object#nest"]],
                   stacks("nest").sort
    RUBY
  end

  def test_objects_have_the_stack_of_their_fiber_when_threads_switch_as_well
    in_child(METHODS + <<~'RUBY', env: { "RUBY_THREAD_TIMESLICE" => "1" })
      HeapProfile.start(interval: 1)
      threads = %w[red green blue].map do |colour|
        Thread.new do
          fibers = Array.new(5) { Fiber.new { send(colour, scaled(300)) { Thread.pass; Fiber.yield } } }
          fibers.each(&:resume).select!(&:alive?) until fibers.empty?
        end
      end
      threads.each(&:join)
      %w[red green blue].each do |colour|
        assert_equal 5 * scaled(300), allocated(colour), colour
        assert_equal [["Class#new", "block in Object##{colour}", "Integer#times", "Object##{colour}", "block (4 levels) in <main>"]],
                     stacks(colour)
      end
    RUBY
  end

  def test_objects_have_the_stack_of_their_fiber_while_the_heap_is_collected_and_compacted
    in_child(METHODS + <<~'RUBY')
      HeapProfile.start(interval: 1)
      fibers = Array.new(10) { |i| Fiber.new { in_fiber(i, 40) } }
      40.times do |round|
        fibers.each(&:resume)
        GC.start(full_mark: round.even?, immediate_mark: false, immediate_sweep: false)
        GC.compact if round % 10 == 0
      end
      assert_equal 400, allocated("in_fiber")
      assert_equal [["Class#new", "block in Object#in_fiber", "Integer#times", "Object#in_fiber", "block (2 levels) in <main>"]],
                   stacks("in_fiber")
    RUBY
  end

  # ---- enumerators ----

  def test_objects_of_an_external_enumerator_have_the_generators_stack
    in_child(METHODS + <<~'RUBY')
      def generate(yielder) = loop { yielder << Item.new }
      def walk(count) = count.times { |i| yield Item.new, i }
      HeapProfile.start(interval: 1)
      generator = Enumerator.new { |yielder| generate(yielder) }
      walker = to_enum(:walk, 100)
      100.times { generator.next; generator.peek; walker.next; outside(1) }
      assert_raise(StopIteration) { walker.next }
      assert_equal [101, 100, 100], [allocated("generate"), allocated("walk"), allocated("outside")]
      assert_equal ["Class#new", "block in Object#generate", "Kernel#loop", "Object#generate", "block in <main>"],
                   stacks("generate")[0].first(5)
      assert_equal ["Class#new", "block in Object#walk", "Integer#times", "Object#walk"], stacks("walk")[0].first(4)
      (stacks("generate") + stacks("walk")).each { |stack| assert_not_include stack, "<main>" }
    RUBY
  end

  def test_objects_of_lazy_chained_and_nested_enumerators_are_exact
    in_child(METHODS + <<~'RUBY')
      def generate(yielder) = loop { yielder << Item.new }
      def source = Enumerator.new { |yielder| generate(yielder) }
      HeapProfile.start(interval: 1)
      assert_equal 50, source.lazy.map { |item| [item] }.reject(&:empty?).first(50).size
      zipped = source.take(30).zip(source.lazy.first(30))
      chain = (source.lazy.take(20) + source.lazy.take(20)).each_entry
      40.times { chain.next }
      product = Enumerator.produce(Item.new) { Item.new }
      10.times { product.next }
      assert_equal 50 + 30 + 30 + 40, allocated("generate")
      assert_equal 50 + 30 + 30 + 40 + 10, total(HeapProfile.snapshot, :alloc_objects, class_name: "Item")
      assert_equal 30, zipped.size
    RUBY
  end

  # ---- the end of a fiber ----

  def test_what_a_fiber_holds_is_in_use_until_the_fiber_is_dropped
    in_child(METHODS + <<~'RUBY')
      def held(count)
        kept = Array.new(count) { Item.new }
        Fiber.yield
        kept.size
      end
      def inuse = total(HeapProfile.snapshot(gc: true), class_name: "Item", label: "Object#held")
      HeapProfile.start(interval: 1)
      fibers = Array.new(20) { Fiber.new { held(50) }.tap(&:resume) }
      assert_equal 1000, inuse
      10.times { assert_equal 50, fibers.pop.resume }      # ends
      assert_in_delta 500, inuse, 50
      5.times { fibers.pop.kill }                          # is ended
      assert_in_delta 250, inuse, 50
      fibers.clear                                         # is forgotten
      assert_operator inuse, :<=, 50
      assert_equal 1000, allocated("held")
    RUBY
  end

  def test_fibers_that_end_by_an_exception_are_counted
    in_child(METHODS + <<~'RUBY')
      HeapProfile.start(interval: 1)
      raised = 0
      30.times do |i|
        fiber = Fiber.new { in_fiber(0, 10) }
        (i % 10).times { fiber.resume }
        fiber.raise(IOError) rescue raised += 1
      end
      assert_equal 30, raised
      assert_equal (0...10).sum * 3, allocated("in_fiber")
    RUBY
  end

  def test_fibers_whose_stacks_are_used_again_are_all_counted
    in_child(METHODS + <<~'RUBY')
      HeapProfile.start(interval: 1)
      count = scaled(5000)
      count.times { |i| Fiber.new { send(%w[red green blue][i % 3], 1) {} }.resume }
      profile = HeapProfile.snapshot
      %w[red green blue].each_with_index do |colour, i|
        assert_equal count / 3 + (i < count % 3 ? 1 : 0), allocated(colour, profile)
        assert_equal [["Class#new", "block in Object##{colour}", "Integer#times", "Object##{colour}", "block (2 levels) in <main>"]],
                     stacks(colour, profile)
      end
    RUBY
  end

  # ---- a fiber and the profiler's run ----

  def test_fiber_may_start_snapshot_and_stop
    in_child(METHODS + <<~'RUBY')
      controller = Fiber.new do
        HeapProfile.start(interval: 1)
        Fiber.yield
        profile = HeapProfile.snapshot(gc: true)
        HeapProfile.stop
        profile
      end
      controller.resume
      outside(30)
      Fiber.new { red(20) {} }.resume
      profile = controller.resume
      assert_equal [30, 20], [allocated("outside", profile), allocated("red", profile)]
      assert_equal false, HeapProfile.running?
    RUBY
  end

  def test_block_under_profile_may_switch_fibers_and_be_left_in_one
    in_child(METHODS + <<~'RUBY')
      fiber = Fiber.new { HeapProfile.profile(interval: 1) { Fiber.yield; outside(5) } }
      fiber.resume
      red(7) {}
      profile = fiber.resume
      assert_equal [5, 7], [allocated("outside", profile), allocated("red", profile)]

      left = Fiber.new { HeapProfile.profile(interval: 1) { Fiber.yield } }
      left.resume
      assert_predicate HeapProfile, :running?
      left.kill
      assert_equal false, HeapProfile.running?
    RUBY
  end

  # ---- a scheduler ----

  # MRI's own for its tests: fibers that wait for time, pipes, queues, threads and processes.
  MRI = File.expand_path("../../..", EnvUtil.method(:rubybin).source_location[0])
  SCHEDULER = METHODS + "require #{File.join(MRI, 'test/fiber/scheduler.rb').dump}\n"

  def test_objects_have_the_stack_of_their_fiber_under_a_scheduler
    in_child(SCHEDULER + <<~'RUBY')
      def sleeper(count) = count.times { Item.new; sleep 0.0001 }
      def reader(io) = (Item.new while io.read(1))
      def writer(io, count) = count.times { Item.new; io.write("x"); sleep 0 }
      def producer(queue, count) = (count.times { Item.new; queue << 1; Fiber.yield_to_others }; queue.close)
      def consumer(queue) = (Item.new while queue.pop)
      def joiner(count) = count.times { Item.new; Thread.new { red(1) {} }.join }
      def locker(mutex, count) = count.times { mutex.synchronize { Item.new; sleep 0 } }
      def Fiber.yield_to_others = Fiber.scheduler.kernel_sleep(0)

      HeapProfile.start(interval: 1)
      Thread.new do
        Fiber.set_scheduler(Scheduler.new)
        input, output = IO.pipe
        queue, mutex = Queue.new, Mutex.new
        Fiber.schedule { sleeper(50) }
        Fiber.schedule { reader(input) }
        Fiber.schedule { writer(output, 40); output.close }
        Fiber.schedule { producer(queue, 30) }
        2.times { Fiber.schedule { consumer(queue) } }
        Fiber.schedule { joiner(10) }
        3.times { Fiber.schedule { locker(mutex, 20) } }
      end.join
      profile = HeapProfile.snapshot
      wanted = { "sleeper" => 50, "reader" => 40, "writer" => 40, "producer" => 30, "consumer" => 30, "joiner" => 10,
                 "locker" => 60, "red" => 10 }
      assert_equal wanted, wanted.to_h { |label, _| [label, allocated(label, profile)] }
      assert_equal wanted.values.sum, total(profile, :alloc_objects, class_name: "Item")
      roots = wanted.to_h { |label, _| [label, stacks(label, profile).map(&:last).uniq] }
      assert_equal [["block (3 levels) in <main>"]], roots.values_at("consumer", "locker").uniq
      assert_equal [["block (2 levels) in <main>"]], roots.values_at("sleeper", "reader", "writer", "producer", "joiner").uniq
      assert_equal ["block (2 levels) in Object#joiner"], roots["red"]
    RUBY
  end

  # The hooks run in the event loop or in the fiber that waits; what they allocate is theirs.
  def test_profile_is_written_by_a_fiber_while_others_are_scheduled
    in_directory do
      in_child(SCHEDULER + <<~'RUBY')
        HeapProfile.start(interval: 1)
        sizes = []
        Thread.new do
          Fiber.set_scheduler(Scheduler.new)
          Fiber.schedule { 20.times { red(1) { sleep 0 } } }
          Fiber.schedule { 5.times { |i| sizes << HeapProfile.snapshot(gc: true).write("#{i}.gz"); sleep 0 } }
          Fiber.schedule { File.open("io.gz", "wb") { |file| sizes << HeapProfile.snapshot.write(file) } }
        end.join
        assert_equal 6, sizes.size
        assert_equal sizes.sort, Dir.children(".").map { |file| File.size(file) }.sort
        assert_equal 20, allocated("red")
      RUBY
      Dir.each_child(".") { |file| assert_operator read_profile(file).samples.size, :>, 0 }
    end
  end
end
