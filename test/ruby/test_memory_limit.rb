# frozen_string_literal: true

# test_memory_limit.rb - when the system refuses memory (ulimit -v): the program gets its
# NoMemoryError and goes on as without the profiler, samples that could not be kept are counted, and
# at exit the profile is written whole or one line says why not.
#
# What the profiler's own budget refuses is test_newobj.rb's and the unit tests' matter.

require_relative "lib/heapprof_test"

class TestHeapProfMemoryLimit < Test::Unit::TestCase
  include HeapProfTest

  def setup
    omit "where malloc fails a debug build of MRI ends by a [BUG]" if DEBUG_BUILD
  end

  LIMIT = <<~'RUBY'
    class Item; end
    def make(count) = Array.new(count) { |i| eval("[Item.new]", nil, "/file_#{i % 50}.rb", i + 1) }
    def vm_bytes(key = "VmSize") = File.read("/proc/self/status")[/^#{key}:\s+(\d+)/, 1].to_i << 10

    # From now on so many bytes of address space can be had in addition. There are free slots in the
    # heap: without one for the NoMemoryError MRI ends the process.
    def limit(bytes)
      Array.new(50_000) { [] }.clear
      GC.start
      Process.setrlimit(:AS, vm_bytes + bytes, Process.getrlimit(:AS)[1])
    end

    def unlimit = Process.setrlimit(:AS, Process.getrlimit(:AS)[1], Process.getrlimit(:AS)[1])

    # Takes all of that but so many bytes. Pages, not strings: malloc would keep what is given back.
    Warning[:experimental] = false
    def hoard(rest)
      hoard, size = [], 1 << 20
      while size >= IO::Buffer::PAGE_SIZE
        begin
          hoard << IO::Buffer.new(size, IO::Buffer::MAPPED)
        rescue SystemCallError, NoMemoryError
          size /= 2
        end
      end
      while rest > 0 && (largest = hoard.shift)
        rest -= largest.size
        largest.free
      end
      hoard
    end

    def release(hoard) = hoard.each(&:free).clear
  RUBY

  # ---- a program that runs out of memory ----

  def test_program_gets_no_memory_error_and_goes_on
    in_directory do |directory|
      path = write_file("script.rb", LIMIT + <<~'RUBY')
        limit(30 << 20)
        3.times do
          all = []
          begin
            loop { all << "x" * 1_000_000 }
          rescue NoMemoryError => e
            all.clear
            puts "#{e.class}: #{e.message}"
          end
          GC.start
        end
        begin
          "x" * (1 << 40)
        rescue NoMemoryError => e
          puts e.message
        end
        $kept = Array.new(50) { Item.new }
        puts $kept.size
      RUBY
      [nil, "interval=1", "interval=1,memory=1g", "interval=4k"].each do |settings|
        ran = run_ruby("--disable-gems", path, heapprof: settings && "#{settings},out=p.pb.gz")
        assert_clean ran, out: "NoMemoryError: failed to allocate memory\n" * 3 + "failed to allocate memory\n50\n"
        next unless settings
        profile = read_profile("p.pb.gz")
        assert_equal 50, profile.total(class_name: "Item") if settings.include?("interval=1")
        assert_include profile.comments, "dropped samples: 0"
        File.delete("p.pb.gz")
      end
    end
  end

  # ulimit -v for the whole of the process: what it needs, and a little more for the profiler.
  def test_program_under_a_limit_from_the_start_ends_as_without_the_profiler
    script = LIMIT + "kept = make(2000); puts kept.size; STDERR.puts vm_bytes('VmPeak') if ARGV[0]"
    in_directory do
      peak = Integer(run_ruby("--disable-gems", "-", "peak", stdin: script).err)
      [5 << 20, 8 << 20, 64 << 20].each do |more|
        plain = run_ruby("--disable-gems", "-", stdin: script, rlimit_as: peak + (1 << 20))
        assert_clean plain, out: "2000\n"
        ran = run_ruby("--disable-gems", "-", stdin: script, rlimit_as: peak + more,
                       heapprof: "interval=1,memory=1m,out=p.pb.gz")
        assert_equal [plain.out, true], [ran.out, ran.status.success?], ran.err
        assert_profile_or_line ran
      end
    end
  end

  # ---- the profile at exit ----

  # A whole file, and nothing on stderr unless samples were dropped; or one line and no file. Returns
  # whether there is a file.
  def assert_profile_or_line(ran)
    files = Dir.glob("*.gz*")
    if files.empty?
      assert_one_line(/\Aruby: heap profiler: the profile was not written: .*(out of memory|Cannot allocate memory)/, ran.err)
    else
      profile = read_profile("p.pb.gz")
      dropped = if !profile.comments.include?("dropped samples: 0") then /\Aruby: heap profiler: samples were dropped .*\n/
                elsif !profile.comments.include?("doubled intervals: 0") then /\Aruby: heap profiler: the profile has fewer samples than were asked for: .*\n/
                else //
                end
      assert_equal [%w[p.pb.gz], ""], [files, ran.err.sub(dropped, "")]
      assert_operator profile.total(:alloc_objects), :>, 1000
      File.delete("p.pb.gz")
    end
    !files.empty?
  end

  def test_profile_is_written_whole_or_one_line_says_why_not
    in_directory do
      path = write_file("script.rb", LIMIT + <<~'RUBY')
        kept = make(1500)
        GC.start
        limit(40 << 20)
        $hoard = hoard(Integer(ARGV[0]))
        print :done
        $stdout.flush
        exit 7
      RUBY
      rests = [300_000, 600_000, 1_000_000, 1_500_000, 2_000_000, 3_000_000, 30_000_000]
      written = rests.map do |rest|
        ran = run_ruby("--disable-gems", path, rest.to_s, heapprof: "interval=1,out=p.pb.gz")
        assert_equal ["done", 7], [ran.out, ran.status.exitstatus], ran.err
        assert_profile_or_line ran
      end
      assert_equal [false, true], [written.first, written.last], "at one end there is too little memory, at the other enough"
    end
  end

  # ---- a program that uses the profiler ----

  def test_samples_that_memory_is_refused_for_are_dropped_and_counted
    in_child(LIMIT + <<~'RUBY')
      Array.new(300_000) { [] }.clear # slots for all that follows
      GC.disable
      count = scaled(100_000)
      kept = Array.new(count)
      hoard = (limit(2 << 20); hoard(0))
      HeapProfile.start(interval: 1)
      i = 0
      (kept[i] = Item.new; i += 1) while i < count
      stat = HeapProfile.stat
      assert_operator stat[:dropped], :>, 0
      assert_equal stat[:total_samples], stat[:live_samples] + stat[:dropped]
      release(hoard)
      unlimit
      more = Array.new(100) { Item.new }
      profile = HeapProfile.snapshot
      found = total(profile, class_name: "Item")
      assert_includes count - stat[:dropped]..count - 1, found - more.size
      assert_equal more.size, more.count { |item| HeapProfile.allocation_stack(item) }
      assert_equal count, kept.compact.size
    RUBY
  end

  # Each label is a site. What is dead of them is one site afterwards, of the same stack, and what is alive keeps its labels.
  def test_labels_of_the_dead_are_given_up_before_stacks_are
    in_child(LIMIT + <<~'RUBY')
      labels = Array.new(8000) { |i| HeapProfile::Label.new(a: i % 100, b: i / 100) }
      lose = ->(label) { HeapProfile.label(label) { Item.new } }
      keep = ->(label) { HeapProfile.label(label) { Item.new } }
      kept = Array.new(labels.size)
      Array.new(300_000) { [] }.clear # slots for all that follows
      HeapProfile.start(interval: 1, malloc_interval: 0, memory: 1 << 30)
      keep.call(labels[0]) # its stack is known
      labels.each(&lose) # then there are names of all labels, and entries for as many samples: only sites need memory
      GC.start
      assert_equal labels.size + 1, HeapProfile.snapshot.count { |row| row.class_name == "Item" }
      GC.disable
      hoard = (limit(2 << 20); hoard(0))
      i = 0
      (kept[i] = keep.call(labels[i]); i += 1) until HeapProfile.stat(:folded) > 0 || i == labels.size
      folded = HeapProfile.stat(:folded)
      release(hoard)
      unlimit
      assert_operator folded, :>=, labels.size - 1
      rows = HeapProfile.snapshot.select { |row| row.class_name == "Item" || row.class_name == "[folded]" }
      alive, dead = rows.partition { |row| row.inuse_objects > 0 }
      assert_equal [["Item", {}, 1], ["Item", {}, labels.size]], dead.map { |row| [row.class_name, row.labels, row.alloc_objects.round] }.sort_by(&:last)
      assert_equal labels.first(i).map(&:to_h), alive.map(&:labels).sort_by { |of| [of[:b].to_i, of[:a].to_i] }
    RUBY
  end

  # From no memory to enough: each call works or raises an error that names the reason, and harms nothing.
  def test_every_method_works_or_raises_no_memory_error
    in_directory do
      in_child(LIMIT + <<~'RUBY')
        HeapProfile.start(interval: 1, memory: 1 << 30)
        kept = make(1500)
        held = HeapProfile.snapshot
        GC.start
        io = Object.new
        def io.write(bytes) = bytes.bytesize
        calls = {
          snapshot: -> { HeapProfile.snapshot },
          snapshot_gc: -> { HeapProfile.snapshot(gc: true) },
          write: -> { held.write("p.pb.gz") },
          write_io: -> { held.write(io) },
          each: -> { held.first(10) },
          allocation_stack: -> { HeapProfile.allocation_stack(kept[0][0]) },
          stat: -> { HeapProfile.stat },
        }
        limit(40 << 20)
        outcomes = calls.transform_values { [] }
        [0, 100_000, 300_000, 1_000_000, 2_000_000, 4_000_000, 30_000_000].each do |rest|
          hoard = hoard(rest)
          calls.each do |name, call|
            call.call
            outcomes[name] << :worked
          rescue NoMemoryError, Errno::ENOMEM => e
            outcomes[name] << e.class
          end
          release(hoard)
        end
        unlimit
        calls.each_value(&:call)
        outcomes.each { |name, all| assert_equal :worked, all.last, name.to_s }
        %i[snapshot write write_io].each { |name| assert_not_equal :worked, outcomes[name].first, name.to_s }
        assert_equal kept.size, total(HeapProfile.snapshot, class_name: "Item")
        assert_equal %w[p.pb.gz], Dir.children(".")
      RUBY
      assert_operator read_profile("p.pb.gz").samples.size, :>, 0
    end
  end

  def test_start_without_memory_works_or_raises_and_stop_leaves_nothing
    in_child(LIMIT + <<~'RUBY')
      limit(10 << 20)
      [20_000, 100_000, 300_000, 1_000_000].each do |rest|
        hoard = hoard(rest)
        begin
          HeapProfile.start(interval: 1)
          50.times { Item.new }
          HeapProfile.stat
        rescue NoMemoryError
          nil
        end
        release(hoard)
        HeapProfile.stop
        assert_equal false, HeapProfile.running?
      end
      unlimit
      HeapProfile.start(interval: 1)
      kept = Array.new(100) { Item.new }
      assert_equal kept.size, total(HeapProfile.snapshot, class_name: "Item")
    RUBY
  end
end
