# frozen_string_literal: true

# test_labels.rb - what the program says about what it is doing (vm/labels): label, label! and labels; what fibers, threads and others
# inherit; and that each sample of a profile has the labels of the moment at which it was allocated.

require_relative "lib/heapprof_test"

class TestHeapProfLabels < Test::Unit::TestCase
  include HeapProfTest

  LABELS = <<~'RUBY'
    HP = ObjectSpace::HeapProfile
    def now = HP.labels
    # The labels of the objects of a class that are alive, with how many there are.
    def labels_of(profile, name)
      profile.select { |sample| sample.class_name == name && sample.inuse_objects > 0 }
             .group_by(&:labels).transform_values { |samples| samples.sum(&:inuse_objects).round }
    end
  RUBY

  def labelled(code) = in_child(LABELS + code)

  def test_a_block_has_its_labels_and_those_around_it
    labelled(<<~'RUBY')
      assert_equal({}, now)
      result = HP.label(endpoint: "/cart", tenant: :b2b) do
        assert_equal({ endpoint: "/cart", tenant: "b2b" }, now)
        HP.label(tenant: nil, shard: 7) { assert_equal({ endpoint: "/cart", shard: "7" }, now) }
        assert_equal({ endpoint: "/cart", tenant: "b2b" }, now)
        :result
      end
      assert_equal :result, result
      assert_equal({}, now)
    RUBY
  end

  def test_a_label_is_made_once_and_used_again
    labelled(<<~'RUBY')
      cart = HP::Label.new(endpoint: "/cart")
      assert_equal({ endpoint: "/cart" }, cart.to_h)
      assert_equal '#<ObjectSpace::HeapProfile::Label {endpoint: "/cart"}>', cart.inspect
      assert cart.frozen? && Ractor.shareable?(cart)
      HP.label(tenant: "b2b") { HP.label(cart) { assert_equal({ endpoint: "/cart", tenant: "b2b" }, now) } }
      GC.disable
      before = GC.stat(:total_allocated_objects)
      1000.times { HP.label(cart) {} }
      assert_operator GC.stat(:total_allocated_objects) - before, :<, 100
    RUBY
  end

  def test_label_with_an_exclamation_mark_stays_until_its_state_is_restored
    labelled(<<~'RUBY')
      before = HP.label!(job: "Mailer")
      assert_equal({ job: "Mailer" }, now)
      inner = HP.label!(tenant: "b2b")
      assert_equal({ job: "Mailer", tenant: "b2b" }, now)
      HP.label!(inner)
      assert_equal({ job: "Mailer" }, now)
      HP.label!(before)
      assert_equal({}, now)
    RUBY
  end

  # The thread has a lease of the block's labels, which is a number, too. There are so many that none is the number of a set.
  def test_in_a_thread_an_exclamation_mark_returns_the_labels_of_before_too
    labelled(<<~'RUBY')
      30.times { |i| HP.label(a: 1) { Thread.new { now }.join } }
      HP.label(a: 1) do
        Thread.new do
          before = HP.label!(b: 2)
          assert_equal({ a: "1" }, before.to_h)
          HP.label(before) { assert_equal({ a: "1", b: "2" }, now) }
          HP.label!(before)
          assert_equal({ a: "1" }, now)
          Thread.new { HP.label(before) { assert_equal({ a: "1" }, now) } }.join
        end.join
      end
    RUBY
  end

  def test_however_a_block_is_left_the_labels_are_those_of_before
    labelled(<<~'RUBY')
      HP.label(a: 1) do
        begin; HP.label(b: 2) { raise "x" }; rescue RuntimeError; end
        catch(:out) { HP.label(b: 2) { throw :out } }
        [1].each { HP.label(b: 2) { break } }
        -> { HP.label(b: 2) { return } }.call rescue nil
        thread = Thread.new { HP.label(b: 2) { sleep } rescue now }
        Thread.pass until thread.stop?
        thread.raise("x")
        assert_equal({ a: "1" }, thread.value)
        assert_equal({ a: "1" }, now)
      end
      $VERBOSE = nil # callcc is obsolete
      require "continuation"
      HP.label(c: 1) { callcc { |continuation| @again = continuation } }
      assert_equal({}, now)
      again, @again = @again, nil
      again&.call
      assert_equal({}, now)
    RUBY
  end

  def test_what_is_no_label_is_told_by_name
    labelled(<<~'RUBY')
      { { class: "A" } => /:class/, { "thread" => "A" } => /"thread"/, { a: [] } => /:a.*, not of class Array/, { 1 => "A" } => /not 1/,
        { inherit: :never } => /:keep/, { "" => "A" } => /1 to 63/,
        { "ü".encode("ISO-8859-1") => "A" } => /in UTF-8/, "a" => /of class String/ }.each do |labels, message|
        assert_raise_with_message(ArgumentError, message) { HP.label(labels) { flunk } }
        assert_raise_with_message(ArgumentError, message) { HP.label!(labels) }
      end
      assert_equal({}, now)
      assert_raise(LocalJumpError) { HP.label(a: 1) }
      assert_equal({}, now)
    RUBY
  end

  def test_values_are_text_of_at_most_128_bytes
    labelled(<<~'RUBY')
      HP.label(a: 1.5, b: true, c: "x" * 200, d: "\xff", e: "a\0b", f: "ü".encode("UTF-16LE"), "g" => :s, h: "") do
        assert_equal({ a: "1.5", b: "true", c: "x" * 128, d: "\\xFF", e: "a b", f: "ü", g: "s", h: "(empty)" }, now)
      end
    RUBY
  end

  def test_values_beyond_the_limit_are_other
    labelled(<<~'RUBY')
      seen = Array.new(1500) { |i| HP.label(id: i) { now[:id] } }
      assert_equal (0...1000).map(&:to_s), seen.first(1000)
      assert_equal ["(other)"], seen.last(500).uniq
      assert_equal "7", HP.label(id: 7) { now[:id] }
    RUBY
  end

  def test_fibers_have_the_labels_of_the_code_that_made_them
    labelled(<<~'RUBY')
      fiber = HP.label(a: 1) { Fiber.new { Fiber.yield now; HP.label(b: 2) { Fiber.yield now }; now } }
      assert_equal({ a: "1" }, fiber.resume)
      HP.label(c: 3) { assert_equal({ a: "1", b: "2" }, fiber.resume) }
      assert_equal({}, now)
      assert_equal({ a: "1" }, fiber.resume)
    RUBY
  end

  def test_an_enumerator_has_the_labels_of_who_calls_it
    labelled(<<~'RUBY')
      each = HP.label(a: 1) { Enumerator.new { |out| loop { out << now } }.tap(&:next) }
      assert_equal({ b: "2" }, HP.label(b: 2) { each.next })
      assert_equal({}, each.next)
    RUBY
  end

  def test_a_thread_has_the_labels_until_the_block_ends_that_made_it
    labelled(<<~'RUBY')
      asks, answers = Queue.new, Queue.new
      pool = -> { Thread.new { answers << now while asks.pop } }
      ask = -> { asks << true; answers.pop }
      HP.label(a: 1) do
        HP.label(b: 2) { pool.call; assert_equal({ a: "1", b: "2" }, ask.call) }
        assert_equal({ a: "1" }, ask.call)
      end
      assert_equal({}, ask.call)
      asks << nil
    RUBY
  end

  def test_a_thread_that_keeps_its_labels_and_one_that_was_made_outside_of_a_block
    labelled(<<~'RUBY')
      asks, answers = Queue.new, Queue.new
      HP.label(a: 1, inherit: :keep) { Thread.new { answers << now while asks.pop } }
      asks << true
      assert_equal({ a: "1" }, answers.pop)
      HP.label!(service: "web")
      other = HP.label(a: 1) { Thread.new { sleep; now } }
      Thread.pass until other.stop?
      assert_equal({ service: "web" }, other.wakeup.value)
      assert_equal({ service: "web" }, Thread.new { now }.value)
    RUBY
  end

  def test_threads_of_threads_and_of_fibers_have_them_as_long
    labelled(<<~'RUBY')
      asks, answers = Queue.new, Queue.new
      HP.label(a: 1) do
        Thread.new { Thread.new { answers << now while asks.pop } }.join
        asks << true
        assert_equal({ a: "1" }, answers.pop)
      end
      asks << true
      assert_equal({}, answers.pop)
      asks << nil
      HP.label(a: 1) { Fiber.new { Thread.new { answers << now while asks.pop } }.resume }
      asks << true
      assert_equal({}, answers.pop)
    RUBY
  end

  def test_ractors_and_finalizers_have_none_and_a_forked_child_has_them
    labelled(<<~'RUBY')
      Warning[:experimental] = false
      $seen = nil
      HP.label(a: 1) do
        assert_equal({}, Ractor.new { ObjectSpace::HeapProfile.labels }.take)
        ObjectSpace.define_finalizer(+"x", proc { $seen = now })
        GC.start until $seen
        assert_equal({}, $seen)
        assert_equal({ a: "1" }, Marshal.load(IO.popen("-") { |io| io ? io.read : print(Marshal.dump(now)) }))
      end
    RUBY
  end

  def test_each_object_of_a_profile_has_the_labels_of_its_allocation
    labelled(<<~'RUBY')
      class Kept; end
      HP.label!(service: "web")
      HP.start(interval: 1)
      kept = Array.new(3) { Kept.new }
      HP.label(endpoint: "/cart") { kept += Array.new(5) { Kept.new } }
      thread = Thread.new { Thread.current.name = "worker"; kept += Array.new(7) { Kept.new } }
      thread.join
      expected = { { service: "web" } => 3, { service: "web", endpoint: "/cart" } => 5, { service: "web", thread: "worker" } => 7 }
      profile = HP.snapshot(gc: true)
      assert_equal expected, labels_of(profile, "Kept")
      profile.write("profile.pb.gz")
      assert_equal expected, labels_of(HP.load("profile.pb.gz"), "Kept")
      assert_equal profile, HP.load("profile.pb.gz")
      HP.label(endpoint: "/pay") { kept += Array.new(2) { Kept.new } }
      GC.compact
      assert_equal({ { service: "web", endpoint: "/pay" } => 2 }, labels_of(HP.snapshot(gc: true) - profile, "Kept"))
      assert_equal expected.merge({ service: "web", endpoint: "/pay" } => 2), labels_of(HP.snapshot, "Kept")
    RUBY
  end

  def test_blocks_of_malloc_have_them_too
    labelled(<<~'RUBY')
      HP.start(interval: 1)
      HP.label(endpoint: "/cart") { $kept = "x" * 1_000_000 }
      rows = HP.snapshot(owners: false).select { |sample| sample.inuse_malloc_space > 900_000 }
      assert_equal [{ endpoint: "/cart" }], rows.map(&:labels)
    RUBY
  end

  def test_a_name_of_a_thread_is_cut_at_a_character
    labelled(<<~'RUBY')
      HP.start(interval: 1)
      class Item; end
      Kept = Thread.new { Thread.current.name = "x" + "ü" * 100; Item.new }.value
      assert_equal({ { thread: "x" + "ü" * 63 } => 1 }, labels_of(HP.snapshot, "Item"))
    RUBY
  end

  def test_the_files_of_a_value_without_text_have_text
    labelled(<<~'RUBY')
      require "stringio"
      HP.start(interval: 1)
      class Item; end
      Kept = HP.label(tenant: "") { Item.new }
      profile = HP.snapshot
      file = StringIO.new
      profile.write(file)
      [profile, HP.load(StringIO.new(file.string))].each do |each|
        assert_equal({ { tenant: "(empty)" } => 1 }, labels_of(each, "Item"))
      end
    RUBY
  end

  def test_a_run_that_begins_in_a_block_knows_its_labels
    labelled(<<~'RUBY')
      class Kept; end
      HP.label(a: 1) do
        2.times do
          HP.start(interval: 1)
          $kept = Kept.new
          assert_equal({ { a: "1" } => 1 }, labels_of(HP.snapshot, "Kept"))
          HP.stop
        end
      end
    RUBY
  end

  # ---- what is easily forgotten ----

  # An error in the k-th event that a tracer sees on its way, for each k. Left out are our own lines: an error in an `ensure` ends any
  # `ensure`, and Thread#raise does not come there, for nothing there looks at interrupts.
  def test_an_error_at_any_moment_leaves_no_label
    labelled(<<~'RUBY')
      raised = 0
      (0..).each do |k|
        seen = 0
        tracer = TracePoint.new do |at|
          next if at.event == :line && at.path.start_with?("<internal:")
          (seen += 1) > k && tracer.disable && raise("x")
        end
        begin
          tracer.enable { HP.label(a: 1) { HP.label(b: 2) { now.to_s } } }
        rescue RuntimeError
          raised += 1
        end
        assert_equal({}, now, "after #{k} events")
        break if seen <= k
      end
      assert_operator raised, :>, 10
    RUBY
  end

  def test_a_thread_that_is_raised_into_at_random_keeps_no_label
    labelled(<<~'RUBY')
      class Interrupted < StandardError; end
      caught, left = 0, []
      Thread.report_on_exception = false # the last error may come when all is done
      work = lambda do
        while caught < 500
          begin
            Thread.handle_interrupt(Interrupted => :immediate) { HP.label(a: 1) { HP.label(b: caught) { Thread.pass } } while true }
          rescue Interrupted
            caught += 1
            left << now unless now.empty?
          end
        end
      end
      thread = Thread.handle_interrupt(Interrupted => :never) { Thread.new(&work) }
      while thread.alive?
        thread.raise(Interrupted)
        Thread.pass
      end
      assert_empty left
      assert_operator caught, :>=, 500
    RUBY
  end

  # The thread of Timeout is made by the first timeout of the process, here in a block, and lives on. Raising is its work.
  def test_the_thread_of_timeout_does_not_keep_the_labels_of_the_first_timeout
    labelled(<<~'RUBY')
      require "timeout"
      seen = []
      Thread.current.define_singleton_method(:raise) { |*error| seen << now && super(*error) }
      expire = -> { Timeout.timeout(0.001) { HP.label(b: 2) { sleep } } }
      HP.label(a: 1) do
        assert_raise(Timeout::Error, &expire)
        assert_equal({ a: "1" }, now)
      end
      assert_equal({}, now)
      assert_raise(Timeout::Error, &expire)
      assert_equal({}, now)
      assert_equal [{ a: "1" }, {}], seen
    RUBY
  end

  def test_labels_in_at_exit_and_at_an_exit_out_of_a_block
    in_directory do
      script = <<~'RUBY'
        HP = ObjectSpace::HeapProfile
        class Kept; end
        at_exit { HP.label(job: "exit") { $kept << Kept.new } }
        at_exit { p HP.labels; $kept << Kept.new }
        HP.label(a: 1) { $kept = [Kept.new]; exit }
      RUBY
      ran = run_ruby("--disable-gems", "-e", script, heapprof: "interval=1,out=at_exit.pb.gz")
      assert_equal ["{}\n", ""], [ran.out, ran.err]
      assert_equal [[], [%w[a 1]], [%w[job exit]]], read_profile("at_exit.pb.gz").where(class_name: "Kept").map { |sample| sample.given.to_a }.sort
    end
  end

  def test_a_profile_that_stops_and_starts_in_a_block_has_its_labels_each_time
    labelled(<<~'RUBY')
      class Kept; end
      HP.start(interval: 1)
      HP.label(a: 1) do
        $kept = [Kept.new]
        HP.stop
        HP.label(b: 2) do
          $kept << Kept.new # nobody sees this one
          HP.start(interval: 1)
          $kept << Kept.new
        end
        $kept << Kept.new
        assert_equal({ { a: "1", b: "2" } => 1, { a: "1" } => 1 }, labels_of(HP.snapshot, "Kept"))
        assert_equal({ a: "1" }, now)
      end
      $kept << Kept.new
      assert_equal({ { a: "1", b: "2" } => 1, { a: "1" } => 1, {} => 1 }, labels_of(HP.snapshot, "Kept"))
    RUBY
  end

  def test_objects_that_move_keep_their_labels
    labelled(<<~'RUBY')
      class Kept; end
      HP.start(interval: 1)
      kept = Array.new(300) { |i| HP.label(endpoint: "/#{i % 3}") { Kept.new } }
      expected = (0..2).to_h { |i| [{ endpoint: "/#{i}" }, 100] }
      2.times { GC.verify_compaction_references(toward: :empty, expand_heap: true) }
      assert_equal expected, labels_of(HP.snapshot, "Kept")
      kept.select!.with_index { |_, i| i % 3 == 0 }
      GC.compact
      assert_equal({ { endpoint: "/0" } => 100 }, labels_of(HP.snapshot(gc: true), "Kept"))
    RUBY
  end

  # Of another program, with one label that is in both.
  def test_a_difference_of_two_files_with_other_labels
    in_directory do
      script = <<~'RUBY'
        class Kept; end
        $kept = ARGV.drop(1).map { |pair| pair.split("=") }.map do |endpoint, count|
          ObjectSpace::HeapProfile.label(endpoint: endpoint) { Array.new(count.to_i) { Kept.new } }
        end
        ObjectSpace::HeapProfile.snapshot.write(ARGV[0])
      RUBY
      File.write("script.rb", script)
      { "old.pb.gz" => %w[/other=1 /cart=30 /gone=20], "new.pb.gz" => %w[/new=40 /cart=35 /other=1] }.each do |file, pairs|
        assert_clean run_ruby("--disable-gems", "script.rb", file, *pairs, heapprof: "interval=1,out=")
      end
      labelled(<<~'RUBY')
        grown = HP.load("new.pb.gz") - HP.load("old.pb.gz")
        rows = grown.select { |row| row.class_name == "Kept" && row.inuse_objects != 0 }
        assert_equal({ "/cart" => 5, "/gone" => -20, "/new" => 40 }, rows.to_h { |row| [row.labels[:endpoint], row.inuse_objects.round] })
      RUBY
    end
  end

  # ---- names that come late ----

  LATE = LABELS + <<~'RUBY'
    class Kept; end
    $kept = []
    def keep(number) = number.times { $kept << Kept.new }
    def endpoints = labels_of(HP.snapshot(gc: true), "Kept").transform_keys { |labels| labels[:endpoint] }
    def request(name)
      HP.label(late: :endpoint) do
        keep 3
        yield if block_given?
        HP.label(endpoint: name) { keep 2 } if name
        keep 1
      end
    end
    HP.start(interval: 1)
  RUBY

  def late(code) = in_child(LATE + code)

  def test_a_block_that_is_named_late_has_the_name_from_its_beginning_to_its_end
    late(<<~'RUBY')
      request("/cart") { assert_equal({ endpoint: "(before routing)" }, now) }
      assert_equal({}, now)
      request("/cart")
      request("/pay")
      request(nil)
      assert_equal({ "/cart" => 12, "/pay" => 6, "(before routing)" => 4 }, endpoints)
      HP.label(late: :endpoint) do
        HP.label(endpoint: "/pay") {}
        assert_equal({ endpoint: "/pay" }, now)
        keep 1
        HP.label(endpoint: "/other") { keep 1 } # the first name is the block's
        keep 1
      end
      assert_equal({ "/cart" => 12, "/pay" => 8, "/other" => 1, "(before routing)" => 4 }, endpoints)
      GC.verify_internal_consistency
    RUBY
  end

  def test_an_exclamation_mark_a_label_and_c_name_it_as_well
    late(<<~'RUBY')
      cart = HP::Label.new(endpoint: "/cart")
      HP.label(late: :endpoint) { keep 2; HP.label!(endpoint: "/pay"); keep 1 }
      HP.label(late: :endpoint) { keep 3; HP.label(cart) { keep 1 } }
      assert_equal({ "/pay" => 3, "/cart" => 4 }, endpoints)
      assert_equal({}, now)
    RUBY
  end

  def test_requests_at_the_same_time_do_not_mix
    late(<<~'RUBY')
      fibers = 300.times.map do |i|
        Fiber.new { request("/#{i}") { Fiber.yield } }
      end
      fibers.each(&:resume)
      fibers.last(200).each(&:resume) # the oldest of 300 have been given up: 255 may wait
      counts = endpoints
      100.upto(299) { |i| assert_equal 6, counts["/#{i}"], i }
      assert_equal 300, counts["(before routing)"]
      threads = 4.times.map { |i| Thread.new { 20.times { request("/thread #{i}") { Thread.pass } } } }
      threads.each(&:join)
      counts = endpoints
      4.times { |i| assert_equal 120, counts["/thread #{i}"] }
    RUBY
  end

  def test_blocks_in_blocks_wait_for_their_own_keys
    late(<<~'RUBY')
      HP.label(late: :endpoint) do
        keep 1
        HP.label(late: :job) { keep 2; HP.label(job: "Mailer") { keep 4 } }
        HP.label(late: :tenant) { keep 8 }
        HP.label(late: :endpoint) { keep 16 }
        HP.label(endpoint: "/cart") {}
      end
      cart = { endpoint: "/cart" }
      expected = { cart => 17, cart.merge(job: "Mailer") => 6, cart.merge(tenant: "(before routing)") => 8 }
      assert_equal expected, labels_of(HP.snapshot(gc: true), "Kept")
      HP.label(late: :endpoint) { HP.label(late: :job) { $kept = [Kept.new]; HP.label(endpoint: "/pay") {} } }
      assert_equal({ { endpoint: "/pay", job: "(before routing)" } => 1 }, labels_of(HP.snapshot(gc: true), "Kept"))
    RUBY
  end

  def test_what_is_made_in_a_block_that_is_named_late_follows_it
    late(<<~'RUBY')
      asks, answers = Queue.new, Queue.new
      fiber = thread = nil
      HP.label(late: :endpoint) do
        fiber = Fiber.new { Fiber.yield now; keep 1; now }
        assert_equal({ endpoint: "(before routing)" }, fiber.resume)
        thread = Thread.new { answers << now while asks.pop }
        Thread.new { keep 2; HP.label(endpoint: "/cart") { keep 4 } }.join
        asks << true
        assert_equal({ endpoint: "/cart" }, answers.pop)
        keep 8
      end
      assert_equal({ endpoint: "/cart" }, fiber.resume)
      asks << true
      assert_equal({}, answers.pop)
      assert_equal({ "/cart" => 15 }, endpoints)
      HP.label(late: :endpoint) do
        ObjectSpace.define_finalizer(+"x", proc { HP.label(endpoint: "/finalizer") {} })
        GC.start
        Warning[:experimental] = false
        Ractor.new { ObjectSpace::HeapProfile.label(endpoint: "/ractor") {} }.take
        assert_equal({ endpoint: "(before routing)" }, now)
      end
    RUBY
  end

  def test_blocks_of_malloc_and_what_is_dead_are_named_late
    late(<<~'RUBY')
      HP.label(late: :endpoint) do
        $kept = "x" * 1_000_000
        1000.times { Kept.new }
        HP.label(endpoint: "/cart") {}
      end
      rows = HP.snapshot(gc: true, owners: false)
      assert_equal [{ endpoint: "/cart" }], rows.select { |sample| sample.inuse_malloc_space > 900_000 }.map(&:labels)
      made = rows.select { |sample| sample.class_name == "Kept" }
      assert_equal({ { endpoint: "/cart" } => 1000 }, made.group_by(&:labels).transform_values { |samples| samples.sum(&:alloc_objects).round })
    RUBY
  end

  def test_a_run_that_begins_or_ends_before_the_name
    late(<<~'RUBY')
      HP.label(late: :endpoint) do
        keep 1
        HP.stop
        $kept.clear
        HP.start(interval: 1)
        keep 2
        HP.label(endpoint: "/cart") {}
        assert_equal({ "/cart" => 2 }, endpoints)
      end
      HP.label(late: :endpoint) { keep 3; HP.stop; HP.label(endpoint: "/pay") {} }
      HP.start(interval: 1)
      begin
        HP.label(late: :endpoint) { keep 4; raise "x" }
      rescue RuntimeError
        keep 5
      end
      assert_equal({ "(before routing)" => 4, nil => 5 }, endpoints)
    RUBY
  end

  def test_late_is_one_key_of_a_block
    late(<<~'RUBY')
      [-> { HP.label!(late: :endpoint) }, -> { HP::Label.new(late: :endpoint) }].each do |wrong|
        assert_equal "label: late: wants a block of label", assert_raise(ArgumentError, &wrong).message
      end
      assert_equal "label: the key :class is heapprof's own", assert_raise(ArgumentError) { HP.label(late: :class) {} }.message
      assert_match(/a key is a Symbol or a String, not/, assert_raise(ArgumentError) { HP.label(late: [:a]) {} }.message)
      assert_equal({}, now)
    RUBY
  end

  def test_inherit_is_of_a_block
    labelled(<<~'RUBY')
      [-> { HP.label!(a: 1, inherit: :keep) }, -> { HP::Label.new(a: 1, inherit: :keep) }].each do |wrong|
        assert_equal "label: inherit: wants a block of label", assert_raise(ArgumentError, &wrong).message
      end
      assert_equal({}, now)
    RUBY
  end

  def test_what_is_beyond_the_limits_is_counted
    in_directory do
      script = <<~'RUBY'
        HP = ObjectSpace::HeapProfile
        HP.snapshot.write("none.pb.gz")
        10.times { |i| HP.label(id: i) {} }
        20.times { |i| HP.label("key #{i}": 1) {} }
        print HP.stat.values_at(:other_labels, :left_out_labels), HP.stat(:other_labels)
        HP.snapshot.write("some.pb.gz")
        HP.load("some.pb.gz").write("loaded.pb.gz")
      RUBY
      ran = run_ruby("--disable-gems", "-e", script, heapprof: "interval=1,labels=3,out=at_exit.pb.gz")
      assert_equal "[7, 5]7", ran.out
      assert_equal ["labels: id has more values than labels= of RUBY_HEAPPROF allows", "labels: key 15 is left out"],
                   ran.err.lines.map { |line| line[/\Aruby: heap profiler: (.*?)(?:,|:(?= there))/, 1] }
      assert_empty read_profile("none.pb.gz").comments.grep(/labels/)
      %w[some loaded].each do |name|
        assert_equal ["labels that became (other): 7", "labels left out: 5"], read_profile("#{name}.pb.gz").comments.grep(/labels/)
      end
    end
  end

  # Four threads at work, while another one takes profiles. Who gets the 1000 values is a matter of luck, but not how many get them.
  MANY = <<~'RUBY'
    HP = ObjectSpace::HeapProfile
    class Kept; end
    VALUES, THREADS = 10_000, 4
    numbers, kept = Queue.new((0...VALUES).to_a).close, Queue.new
    HP.stat(:memory_budget) == 64 << 20 or abort "no budget"
    ended = false
    watching = Thread.new { HP.snapshot(gc: true) until ended }
    Array.new(THREADS) do |i|
      Thread.new do
        while (number = numbers.pop)
          HP.label(user: "user #{number}", endpoint: "/#{number % 3}") { kept << Kept.new << "x" * 1000 }
          Thread.pass if number % 10 == i
        end
      end
    end.each(&:join)
    ended = true
    watching.join
    # Known values are still known.
    HP.label(endpoint: "/1") { HP.labels == { endpoint: "/1" } or abort "endpoint is lost" }
    rows = HP.snapshot(gc: true).select { |row| row.class_name == "Kept" && row.inuse_objects > 0 }
    sums = ->(key) { rows.group_by { |row| row.labels[key] }.transform_values { |of_value| of_value.sum(&:inuse_objects).round } }
    print Marshal.dump([sums[:user], sums[:endpoint], HP.stat.values_at(:other_labels, :left_out_labels, :dropped), HP.stat(:memory_peak)])
    HP.snapshot.write("many.pb.gz")
  RUBY

  def test_ten_thousand_values_under_load_are_bounded_and_their_sums_are_right
    in_directory do
      ran = run_ruby("--disable-gems", "-e", MANY, heapprof: "interval=1,memory=64M,out=")
      assert_equal ["labels: user has more values than labels= of RUBY_HEAPPROF allows"], ran.err.lines.map { |line| line[/profiler: (.*?),/, 1] }
      users, endpoints, counts, peak = Marshal.load(ran.out)
      assert_equal 9000, users.delete("(other)")
      assert_equal [1000, [1]], [users.size, users.values.uniq]
      assert_equal({ "/0" => 3334, "/1" => 3333, "/2" => 3333 }, endpoints)
      assert_equal [9000, 0, 0], counts
      assert_operator peak, :<=, 64 << 20
      assert_equal ["labels that became (other): 9000"], read_profile("many.pb.gz").comments.grep(/labels/)
    end
  end

  # With samples in place of all objects, within 5.7 sigma, and with a budget that is too small for them.
  def test_ten_thousand_values_at_the_budget_keep_their_sums
    in_directory do
      ran = run_ruby("--disable-gems", "-e", MANY.sub("64 << 20", "2 << 20"), heapprof: "interval=40,memory=2M,seed=1,out=")
      users, endpoints, counts, peak = Marshal.load(ran.out)
      assert_operator users.size, :<=, 1001
      assert_equal [9000, 0, 0], counts
      assert_operator peak, :<=, 2 << 20
      interval = read_profile("many.pb.gz").comments.grep(/\Ainterval/).first[/\d+/].to_i
      assert_operator interval, :>, 40
      sigma = ->(count) { Math.sqrt(count / (Math.exp(40.0 / interval) - 1)) }
      { users["(other)"] => 9000, users.values.sum => 10_000, endpoints["/0"] => 3334, endpoints["/1"] => 3333 }
        .each { |estimate, count| assert_in_delta count, estimate.to_i, 5.7 * sigma[count] }
    end
  end

  # Dead sites beyond counting, 900 sets of labels. Some sites go, and the rest stands for them: each choice of one site every T bytes adds
  # at most T times its bytes to the variance, and T doubles at least from choice to choice. No site stands for less than the last T.
  def test_at_the_budget_what_is_dead_keeps_its_labels
    [1, 2].each do |megabytes|
      labelled(<<~RUBY)
        class Item; end
        methods = Array.new(200) { |i| eval("def made_\#{i} = Item.new") }
        HP.start(interval: 1, malloc_interval: 0, memory: #{megabytes} << 20, seed: 1)
        endpoints = { "/cart" => 1, "/pay" => 2, "/home" => 3 }
        300.times do |tenant|
          endpoints.each { |name, count| HP.label(endpoint: name, tenant: tenant) { methods.each { |m| count.times { send(m) } } } }
          GC.start if tenant % 5 == 0
        end
        stat = HP.stat
        assert_equal 0, stat[:dropped]
        assert_operator stat[:folded], :>, 100_000
        assert_operator stat[:memory_peak], :<=, #{megabytes} << 20
        rows = HP.snapshot(gc: true).select { |row| row.class_name == "Item" }
        threshold = rows.map(&:alloc_space).max
        bytes = rows.group_by { |row| row.labels[:endpoint] }.transform_values { |of_name| of_name.sum(&:alloc_space) }
        assert_equal endpoints.keys, bytes.keys.sort_by { |name| endpoints[name] }
        endpoints.each do |name, count|
          truth = count * 300 * 200 * 40
          assert_in_delta truth, bytes[name], 5.7 * Math.sqrt(2.0 * threshold * truth), name
        end
      RUBY
    end
  end
end
