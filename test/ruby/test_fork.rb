# frozen_string_literal: true

# test_fork.rb - the child of a fork (vm/fork.c): it keeps the samples it inherited, which are as
# alive there, goes on sampling by random numbers of its own, and leaves its parent alone.

require_relative "lib/heapprof_test"

class TestHeapProfFork < Test::Unit::TestCase
  include HeapProfTest

  # Runs the block in a child and returns what it returned.
  IN_FORK = <<~'RUBY'
    class Item; end
    def make(count) = Array.new(count) { Item.new }

    def in_fork
      reader, writer = IO.pipe(binmode: true)
      pid = fork do
        writer.write(Marshal.dump(yield))
        writer.close
        exit!(0)
      end
      writer.close
      result = reader.read
      assert_predicate Process.wait2(pid)[1], :success?
      Marshal.load(result)
    end

    def inuse = total(HeapProfile.snapshot(gc: true), class_name: "Item")
  RUBY

  def test_child_keeps_the_samples_and_goes_on
    in_child(IN_FORK + <<~'RUBY')
      HeapProfile.start(interval: 1)
      kept = make(300)
      before, after, running = in_fork do
        before = inuse
        more = make(200)
        [before, inuse, HeapProfile.running? && more.size]
      end
      assert_equal [300, 500, 200], [before, after, running]
      assert_equal kept.size, inuse
    RUBY
  end

  def test_samples_freed_in_the_child_are_alive_in_the_parent_and_the_other_way_round
    in_child(IN_FORK + <<~'RUBY')
      HeapProfile.start(interval: 1)
      kept = make(300)
      left = in_fork do
        kept.clear
        inuse
      end
      assert_operator left, :<=, 3
      assert_equal 300, inuse
      assert_equal 300, kept.size
    RUBY
  end

  def test_child_draws_other_random_numbers_than_its_parent_and_its_siblings
    in_child(IN_FORK + <<~'RUBY')
      [nil, 42].each do |seed|
        HeapProfile.start(interval: 2000, seed: seed)
        allocate = -> { before = HeapProfile.stat(:total_samples); make(20_000); HeapProfile.stat(:total_samples) - before }
        counts = Array.new(4) { in_fork { Array.new(5) { allocate.call } } } << Array.new(5) { allocate.call }
        assert_equal counts.size, counts.uniq.size, counts.inspect
        HeapProfile.stop
      end
    RUBY
  end

  def test_estimates_in_a_child_are_right
    in_child(IN_FORK + <<~'RUBY')
      HeapProfile.start(interval: 1000, seed: 3)
      kept = make(5000)
      found = in_fork do
        kept.concat(make(5000))
        total(HeapProfile.snapshot, class_name: "Item")
      end
      assert_in_delta 10_000, found, Estimator.allowance(10_000, SLOTS[0], 1000)
      assert_equal 5000, kept.size
    RUBY
  end

  def test_child_may_stop_and_start_without_its_parent_knowing
    in_child(IN_FORK + <<~'RUBY')
      HeapProfile.start(interval: 1)
      kept = make(100)
      found = in_fork do
        HeapProfile.stop
        HeapProfile.start(interval: 1)
        more = make(50)
        [inuse, more.size]
      end
      assert_equal [50, 50], found
      assert_equal [true, 100, 100], [HeapProfile.running?, inuse, kept.size]
    RUBY
  end

  def test_fork_of_a_fork_and_fork_in_a_thread
    in_child(IN_FORK + <<~'RUBY')
      HeapProfile.start(interval: 1)
      kept = make(100)
      assert_equal [120, 100], in_fork { more = make(20); [in_fork { inuse }, inuse - more.size] }
      assert_equal 100, Thread.new { in_fork { inuse } }.value
      assert_equal 100, kept.size
    RUBY
  end

  def test_fork_while_marking_and_sweeping_go_on
    in_child(IN_FORK + <<~'RUBY')
      HeapProfile.start(interval: 1)
      kept = make(1000)
      20.times do |i|
        GC.start(immediate_mark: i.even?, immediate_sweep: false)
        make(10)
        assert_equal 1000, in_fork { GC.start; kept.size }
      end
      GC.start
      assert_operator inuse, :>=, 1000
    RUBY
  end

  def test_both_write_files_of_their_own
    profile_script(<<~'RUBY', settings: "interval=1") do |out, path, ran|
      class Early; end
      class Late; end
      $kept = Array.new(30) { Early.new }
      pid = fork do
        ENV["unused"] = "1"
        $kept.concat(Array.new(20) { Late.new })
        exit 0
      end
      Process.wait(pid)
      File.rename(File.join(Dir.pwd, "profile.pb.gz"), File.join(Dir.pwd, "child.pb.gz"))
    RUBY
      child, parent = read_profile(File.join(File.dirname(out), "child.pb.gz")), read_profile(out)
      assert_equal [30, 20], [child.total(class_name: "Early"), child.total(class_name: "Late")]
      assert_equal [30, 0], [parent.total(class_name: "Early"), parent.total(class_name: "Late")]
      assert_equal [path], child.frames_of("<main>").map(&:path).uniq - [""]
    end
  end

  def test_daemon_writes_its_profile
    in_directory do |directory|
      ran = run_ruby("--disable-gems", "-e", "Process.daemon(true); at_exit { File.write('done', $$) }",
                     heapprof: "interval=1k,out=%p.pb.gz")
      assert_clean ran
      EnvUtil.timeout(TIMEOUT) { sleep 0.01 until Dir.glob("[0-9]*.pb.gz").any? && File.size?("done") }
      assert_path_exist File.join(directory, "#{File.read('done')}.pb.gz")
    end
  end
end
