# frozen_string_literal: true

# test_fork.rb - the child of a fork (vm/fork.c), whichever way it was forked and whatever went on
# in its parent: it keeps the samples it inherited, which are as alive there, goes on sampling by
# random numbers of its own, writes a file of its own, and leaves its parent alone.

require_relative "lib/heapprof_test"

class TestHeapProfFork < Test::Unit::TestCase
  include HeapProfTest

  # Runs the block in a child and returns what it returned.
  IN_FORK = <<~'RUBY'
    class Item; end
    def make(count) = Array.new(count) { Item.new }

    def in_fork(just_before = nil)
      reader, writer = IO.pipe(binmode: true)
      just_before&.call
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

  # ---- forks at awkward moments ----

  def test_fork_inside_a_block_under_profile
    in_child(IN_FORK + <<~'RUBY')
      def count(profile) = total(profile, class_name: "Item")
      def result_of(pid, reader) = (reader.read.tap { Process.wait(pid) })

      # The child runs a block of its own, or goes on with the parent's to its end.
      inner = nil
      profile = HeapProfile.profile(interval: 1) do
        $kept = make(40)
        inner = in_fork { $kept.concat(make(2)); inuse }
      end
      assert_equal [42, 40], [inner, count(profile)]

      reader, writer = IO.pipe
      pid = nil
      profile = HeapProfile.profile(interval: 1) do
        $kept = make(30)
        pid = fork
        $kept.concat(make(3)) unless pid
      end
      if pid.nil?
        writer.write "#{count(profile)} #{HeapProfile.running?} #{HeapProfile.stat.values.sum}"
        exit!(0)
      end
      writer.close
      assert_equal ["33 false 0", 30, false], [result_of(pid, reader), count(profile), HeapProfile.running?]

      # Both leave it by an exception.
      reader, writer = IO.pipe
      begin
        HeapProfile.profile(interval: 1) { pid = fork; raise pid ? "parent" : "child" }
      rescue RuntimeError => e
        unless pid
          writer.write "#{e.message} #{HeapProfile.running?}"
          exit!(0)
        end
        writer.close
        assert_equal ["child false", "parent", false], [result_of(pid, reader), e.message, HeapProfile.running?]
      end
    RUBY
  end

  # The threads that flush do not exist in the child, whatever they were about to do.
  def test_fork_while_other_threads_flush
    in_directory do
      in_child(IN_FORK + <<~'RUBY')
        HeapProfile.start(interval: 1)
        $code = 1000.times.flat_map { |i| eval("Array.new(3) { Object.new }", nil, "code#{i}.rb", i + 1) }
        profile = HeapProfile.snapshot
        kept = make(100)
        flushes = 0
        going_on = true
        threads = [
          -> { profile.write("same.pb.gz") },
          -> { File.open("io.pb.gz", "wb") { |file| profile.write(file) } },
          -> { HeapProfile.snapshot.write("new.pb.gz") },
          -> { HeapProfile.snapshot(gc: true).write("same.pb.gz") },
        ].map { |flush| Thread.new { (flush.call; flushes += 1) while going_on } }

        used = HeapProfile.stat(:memory_used)
        5.times do |i|
          found = in_fork do
            more = make(50)
            before = inuse
            HeapProfile.snapshot.write("child#{i}.pb.gz")
            profile.write("inherited#{i}.pb.gz")
            memory = HeapProfile.stat(:memory_used)
            more.clear
            after = inuse
            HeapProfile.stop
            HeapProfile.start(interval: 1)
            more = make(70)
            [before, memory, after, inuse, HeapProfile.stat(:dropped), more.size]
          end
          assert_equal [150, 100, 70, 0, 70], found.values_at(0, 2, 3, 4, 5)
          # What the threads allocate is in the account too, but it is not counted twice.
          assert_operator found[1], :>=, used / 2
          assert_operator found[1], :<=, 2 * HeapProfile.stat(:memory_used)
        end
        going_on = false
        threads.each(&:join)
        assert_operator flushes, :>=, 4
        assert_equal 100, kept.size
        assert_empty Dir.glob(".heapprof-*")
      RUBY
      files = Dir.glob("*.pb.gz")
      assert_operator files.size, :>=, 12
      files.each { |path| assert_operator pprof("-top", path).lines.size, :>, 1, path }
      inherited = files.grep(/inherited/).map { |path| pprof("-raw", path) } << pprof("-raw", "same.pb.gz")
      assert_operator inherited.uniq.size, :<=, 2 # the thread with a snapshot of its own may have been last
    end
  end

  def test_forks_from_several_threads_at_once
    in_child(IN_FORK + <<~'RUBY')
      HeapProfile.start(interval: 1)
      kept = make(100)
      busy = true
      noise = Thread.new { Array.new(100) { |i| i.to_s * 50 } while busy }
      found = Array.new(4) do |n|
        Thread.new { Array.new(3) { in_fork { more = make(n); [inuse - more.size, more.size] } } }
      end.map(&:value)
      busy = false
      noise.join
      found.each_with_index { |results, n| assert_equal [[100, n]], results.uniq }
      assert_equal [100, 100], [kept.size, inuse]
    RUBY
  end

  def test_fork_from_callbacks
    in_child(IN_FORK + <<~'RUBY')
      HeapProfile.start(interval: 1)
      kept = make(100)
      found = {}
      child = ->(name) { found[name] ||= in_fork { more = make(7); inuse - more.size } }

      trap(:USR1) { child.(:signal) }
      Process.kill(:USR1, $$)
      Thread.pass until found[:signal]
      TracePoint.new(:c_call) { child.(:trace) }.enable { $$.to_s }
      ObjectSpace.each_object(Module) { child.(:walk) }
      2.times { ObjectSpace.define_finalizer(Object.new, proc { child.(:finalizer) }) }
      GC.start
      Enumerator.new { |y| y << child.(:enumerator) }.next
      assert_equal %i[enumerator finalizer signal trace walk], found.keys.sort
      assert_equal [100], found.values.uniq
      assert_equal [100, 100], [kept.size, inuse]
    RUBY
  end

  # The child ends the GC that its parent began, each in its own memory.
  def test_samples_are_exact_on_both_sides_of_a_fork_amid_a_gc
    in_child(IN_FORK + <<~'RUBY')
      def on_heap = ObjectSpace.each_object(Item).count
      def inuse_now = total(HeapProfile.snapshot, class_name: "Item")

      ballast = Array.new(scaled(100_000)) { [] }
      garbage = scaled(30_000)
      gcs = [{ immediate_mark: false, immediate_sweep: false }, { immediate_sweep: false }, {}]
      HeapProfile.profile(interval: 1) { in_fork(-> {}) { on_heap + inuse_now } } # what is allocated once
      states = []
      gcs.product([false, true], [false, true]) do |settings, compact, disabled|
        HeapProfile.start(interval: 1)
        kept = make(300)
        make(garbage).clear
        Array.new(30_000) { [] }.clear
        GC.auto_compact = compact
        GC.disable if disabled
        found = in_fork(-> { GC.start(**settings) }) do
          state = GC.latest_gc_info(:state)
          early = inuse_now
          make(5000).clear
          GC.enable
          more = make(10)
          GC.start
          [state, early, without_gc { inuse_now == on_heap }, more.size]
        end
        states << found[0] # marking may have ended by a step in between
        assert_equal [true, 10], found.last(2)
        unknown = found[0] == :marking ? garbage : 0 # as garbage, yet
        assert_in_delta 300 + unknown, found[1], 3 # the machine stack may hold a few
        GC.enable
        GC.auto_compact = false
        make(5000).clear
        GC.start
        without_gc { assert_equal on_heap, inuse_now }
        assert_equal 300, kept.size
        HeapProfile.stop
      end
      assert_equal scaled(100_000), ballast.size
      reached = debug_build? ? %i[none sweeping] : %i[marking none sweeping] # a small heap is marked in one step
      assert_empty reached - states
    RUBY
  end

  # ---- random numbers ----

  def test_every_kind_of_child_draws_other_random_numbers
    in_child(IN_FORK + <<~'RUBY')
      COUNT = scaled(2000)
      def sampled = Array.new(COUNT) { Item.new }.map { |item| HeapProfile.allocation_stack(item) ? 1 : 0 }.join

      [nil, 42].each do |seed|
        HeapProfile.start(interval: 300, seed: seed)
        found = Array.new(3) { in_fork { [sampled, in_fork { sampled }] } }.flatten
        found += Array.new(3) { IO.popen("-") { |io| io ? io.read : print(sampled) } }
        found << in_fork { pid = Process._fork; pid == 0 ? exit!(0) : Process.wait(pid); sampled }
        reader, writer = IO.pipe
        Process.wait(fork { Process.daemon(true, true); writer.write(sampled); exit!(0) })
        writer.close
        found << reader.read << sampled
        assert_equal [COUNT], found.map(&:size).uniq
        assert_equal found.size, found.uniq.size
        # Streams that share no numbers agree where both sample or both do not: in p^2 + (1-p)^2 of all.
        p = Estimator.probability(SLOTS[0], 300)
        agreeing = p * p + (1 - p) * (1 - p)
        sigma = Math.sqrt(COUNT * agreeing * (1 - agreeing))
        found.combination(2) do |a, b|
          same = a.each_char.zip(b.each_char).count { |x, y| x == y }
          assert_in_delta COUNT * agreeing, same, Estimator::SIGMAS * sigma
        end
        HeapProfile.stop
      end
    RUBY
  end

  # ---- files: whose, and what is in them ----

  # For scripts whose processes tell their names, by which their profiles are found.
  FAMILY = <<~'RUBY'
    class Early; end
    class Late; end

    $late = []
    def process(name, late)
      File.write("name.#{$$}", name)
      $late.concat(Array.new(late) { Late.new })
    end

    def finish(pid) = Process.wait2(pid)[1]

    $early = Array.new(30) { Early.new }
    File.write("name.#{$$}", "parent")
  RUBY

  # Runs the script; its processes' profiles by their names. None may have one that did not tell.
  def family(script, heapprof: "interval=1,out=%p.pb.gz")
    in_directory do
      ran = run_ruby("--disable-gems", write_file("family.rb", FAMILY + script), heapprof: heapprof)
      assert_clean ran
      names = Dir.glob("name.*").to_h { |path| [path.delete_prefix("name."), File.read(path)] }
      EnvUtil.timeout(TIMEOUT) { sleep 0.01 until Dir.glob(".heapprof-*").empty? } # of a daemon
      profiles = Dir.glob("*.pb.gz").to_h { |path| [names.delete(path.delete_suffix(".pb.gz")), read_profile(path)] }
      assert_not_include profiles, nil
      yield profiles, names.values
    end
  end

  # Each has what was there before any fork, and so many of its own.
  def assert_family(late, profiles)
    found = profiles.transform_values { |profile| %w[Early Late].map { |name| profile.total(class_name: name) } }
    assert_equal late.transform_values { |count| [30, count] }.sort, found.sort
  end

  def test_each_process_however_forked_writes_what_it_inherited_and_its_own
    family(<<~'RUBY') do |profiles, without|
      finish fork { process("block", 1) }
      if (pid = fork) then finish pid
      else
        process("nil", 2)
        exit
      end
      finish Process.fork { process("Process.fork", 3) }
      if (io = IO.popen("-")) then io.read.then { io.close }
      else
        process("popen", 5)
        exit
      end
      Thread.new { finish fork { process("in a thread", 6) } }.join
      Fiber.new { finish fork { process("in a fiber", 7) } }.resume
      finish fork {
        process("child", 8)
        finish fork { process("grandchild", 100); finish fork { process("next", 1000) } }
      }
      pid = Process._fork
      if pid == 0
        process("_fork", 9)
        exit
      end
      finish pid
      Process.singleton_class.prepend(Module.new do
        def _fork
          pid = super
          $late << Late.new if pid == 0
          pid
        end
      end)
      finish fork { process("overridden", 10) }
      system("true")
    RUBY
      assert_empty without
      late = { "parent" => 0, "block" => 1, "nil" => 2, "Process.fork" => 3, "popen" => 5, "in a thread" => 6,
               "in a fiber" => 7, "child" => 8, "grandchild" => 108, "next" => 1108, "_fork" => 9, "overridden" => 11 }
      assert_family late, profiles
    end
  end

  def test_children_write_when_they_end_by_themselves_and_not_when_they_are_cut_off
    family(<<~'RUBY') do |profiles, without|
      at_exit { $late << Late.new } # the child's too
      finish fork { process("exit", 1); exit 3 }
      finish fork { $stderr.reopen(IO::NULL); process("exception", 2); raise "end" }
      finish fork { $stderr.reopen(IO::NULL); process("abort", 3); abort "end" }
      finish fork { process("main thread", 4); Thread.new { Thread.main.exit }.join }
      finish fork { process("exit!", 5); exit! }
      IO.popen("-") { |io| io ? io.read : process("popen's block", 5) } # ends by _exit, without at_exit blocks
      finish fork { process("killed", 6); Process.kill(:KILL, $$); sleep }
      finish fork { process("exec", 7); exec "true" }
      finish fork { process("failed exec", 8); begin; exec "/nonexistent"; rescue SystemCallError; end }
      finish fork { $stderr.reopen(IO::NULL); process("TERM", 9); Process.kill(:TERM, $$); sleep }
    RUBY
      assert_equal ["exec", "exit!", "killed", "popen's block"], without.sort
      late = { "parent" => 1, "exit" => 2, "exception" => 3, "abort" => 4, "main thread" => 5, "failed exec" => 9,
               "TERM" => 10 }
      assert_family late, profiles
    end
  end

  def test_what_runs_other_programs_writes_nothing
    family(<<~'RUBY') do |profiles, _|
      3.times do
        system("true")
        system("exit 1")
        `true`
        finish spawn("true")
        finish spawn(["true", "renamed"], in: IO::NULL, out: IO::NULL)
        finish spawn("cat", unsetenv_others: true, in: IO::NULL, chdir: "/", pgroup: true)
        IO.popen("true") { |io| io.read }
        IO.popen(["true"], "r+") { |io| io.read }
        open("| true", &:read) rescue NoMethodError # gone in Ruby 4
        system("/nonexistent")
        begin
          spawn("/nonexistent")
        rescue Errno::ENOENT
        end
      end
    RUBY
      assert_family({ "parent" => 0 }, profiles)
    end
  end

  def test_daemon_has_the_samples_of_the_process_it_was
    family(<<~'RUBY') do |profiles, without|
      finish fork {
        process("before", 1)
        Process.daemon(true)
        process("daemon", 20)
      }
      daemon = nil
      sleep 0.01 until (daemon ||= Dir.glob("name.*").find { |path| File.read(path) == "daemon" })
      sleep 0.01 until File.exist?("#{daemon[/\d+/]}.pb.gz")
    RUBY
      assert_equal ["before"], without
      assert_family({ "parent" => 0, "daemon" => 21 }, profiles)
    end
  end

  def test_both_write_files_of_their_own
    in_directory do
      path = write_file("script.rb", <<~'RUBY')
        class Early; end
        class Late; end
        $kept = Array.new(30) { Early.new }
        pid = fork do
          ENV["unused"] = "1"
          $kept.concat(Array.new(20) { Late.new })
          exit 0
        end
        Process.wait(pid)
        print pid
      RUBY
      ran = run_ruby("--disable-gems", path, heapprof: "interval=1,out=profile.pb.gz")
      assert_one_line(/out= has no %p: this forked process writes .*profile-#{ran.out}\.pb\.gz instead/, ran.err)
      child, parent = read_profile("profile-#{ran.out}.pb.gz"), read_profile("profile.pb.gz")
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
