# frozen_string_literal: true

# test_owners.rb - snapshot(owners: true): which objects and tables hold the allocator's memory, what memsize
# says of the same, and what nobody holds and grows.

require_relative "lib/heapprof_test"

class TestHeapProfOwners < Test::Unit::TestCase
  include HeapProfTest

  SETUP = <<~RUBY
    require "-test-/heapprof_blocks"
    Blocks = HeapProfBlocks

    # What was asked for below a method and is not free; the VM asks there for its caches, too.
    def blocks(profile, label)
      rows(profile, label: "Object#\#{label}").select { |row| row.caller && row.inuse_malloc_space > 0 }
    end

    CACHES = /\\A(Class|\\[VM\\] .*)\\z/

    def owned(profile, label) = blocks(profile, label).select(&:owner).grep_v(->(row) { CACHES =~ row.owner })

    # Bytes in use below a method by the class of who holds them.
    def by_owner(profile, label)
      blocks(profile, label).group_by(&:owner).transform_values { |rows| rows.sum(&:inuse_malloc_space) }
    end
  RUBY

  def test_each_kind_of_object_owns_its_blocks
    in_child(SETUP + <<~'RUBY')
      Point = Struct.new(*(:a..:z), *(:aa..:dz))
      Wide = Class.new
      HeapProfile.start(interval: 1)
      def strings = Array.new(100) { "x" * 5000 }
      def arrays = Array.new(100) { Array.new(200, 1) }
      def hashes = Array.new(100) { |i| (0..50).to_h { |n| [n, i] } }
      def structs = Array.new(100) { Point.new(1) }
      def holders = Array.new(100) { Blocks::Holder.new(300) }
      def integers = Array.new(100) { 3**4000 }
      def objects = Array.new(100) { Wide.new.tap { |wide| 120.times { |i| wide.instance_variable_set("@v#{i}", i) } } }
      kept = { strings:, arrays:, hashes:, structs:, holders:, integers:, objects: }
      classes = { strings: "String", arrays: "Array", hashes: "Hash", structs: "Point",
                  holders: "HeapProfBlocks::Holder", integers: "Integer", objects: "Wide" }
      bytes = { strings: 5001, arrays: 200 * 8, structs: Point.members.size * 8, holders: 300 }

      profile = HeapProfile.snapshot(gc: true, owners: true)
      classes.each do |label, class_name|
        owned = by_owner(profile, label)
        assert_operator owned.fetch(class_name), :>=, (bytes[label] || 400) * 100, "#{label}: #{owned}"
        assert_operator owned.fetch(nil, 0), :<=, owned.fetch(class_name) / 20 + 8000, "#{label}: #{owned}" # caches
      end
      assert_equal 7, kept.size
    RUBY
  end

  # Nearly all that a site asked for has an owner, and the table there has that name.
  def test_the_vms_own_tables_are_owners
    in_child(SETUP + <<~'RUBY')
      HeapProfile.start(interval: 1)
      def keys = (1..80_000).to_h { |i| ["key number #{i}", i] }
      def symbols = Array.new(20_000) { |i| :"symbol number #{i}" }
      def ivars = Array.new(20_000) { |i| String.new("a variable").tap { |string| string.instance_variable_set(:@i, i) } }
      def ids = Array.new(20_000) { Object.new.tap(&:object_id) }
      def finalizers = Array.new(20_000) { Object.new.tap { |object| ObjectSpace.define_finalizer(object, Blocks) } }
      def names = Array.new(20_000) { |i| Object.new.tap { |object| object.instance_variable_set("@only_#{i}", i) } }
      def constants = eval(Array.new(2000) { |i| "K#{i} = #{i}; def k#{i} = K#{i}; k#{i}" }.join("\n"))
      def Blocks.call(*) = nil
      kept = [keys, symbols, ivars, ids, finalizers, names, constants]
      tables = { keys: ["interned strings", 900_000], ivars: ["generic ivars", 900_000],
                 ids: ["object ids", 900_000], finalizers: ["finalizers", 900_000],
                 names: ["symbols", 200_000], constants: ["constant caches", 100_000] }

      profile = HeapProfile.snapshot(gc: true, owners: true)
      tables.each do |label, (table, bytes)|
        owned = by_owner(profile, label)
        assert_operator owned.fetch("[VM] #{table}", 0), :>=, bytes, "#{label}: #{owned}"
        assert_operator owned.fetch(nil, 0), :<=, owned.values.sum / 50, "#{label}: #{owned}"
      end
      assert_operator by_owner(profile, :ivars)["String"], :>=, 20_000 * 8
      assert_operator by_owner(profile, :symbols).fetch("[VM] symbols"), :>=, 900_000
      refute_includes by_owner(profile, :symbols), "T_HASH(hidden)"
      assert_equal 7, kept.size
    RUBY
  end

  def test_code_and_classes_own_their_arrays
    in_child(SETUP + <<~'RUBY')
      HeapProfile.start(interval: 1)
      def code = eval(Array.new(1000) { |i| <<~CODE }.join)
        class C#{i}
          X, @a, @@b = #{i}, 1, 2
          def m(a, b = 1, *c, d: 4, **e) = [a + X, b, yield, @a, d.to_s] rescue @@b
        end
        C#{i}.new.m(1) { |x, y = 2| x }
      CODE
      code
      owned = by_owner(HeapProfile.snapshot(gc: true, owners: true), :code)
      assert_operator owned["T_IMEMO(iseq)"], :>=, 1000 * 1500
      assert_operator owned["Class"], :>=, 1000 * 500
      assert_operator owned.fetch(nil, 0), :<=, owned.values.sum / 50, owned.to_s
    RUBY
  end

  def test_the_owners_own_stack
    in_child(SETUP + <<~'RUBY')
      HeapProfile.start(interval: 1)
      def made = Array.new(50) { [] }
      def filled(arrays) = arrays.each { |array| 300.times { |i| array << i } }
      arrays = filled(made)
      filled = owned(HeapProfile.snapshot(owners: true), :filled)
      assert_equal ["Array"], filled.map(&:owner).uniq
      filled.each { |row| assert_include row.owner_frames.map(&:label), "Object#made" }
      assert_equal 50, arrays.size
    RUBY
  end

  def test_a_borrowed_block_is_the_lenders
    in_child(SETUP + <<~'RUBY')
      HeapProfile.start(interval: 1)
      def lent = ("x" * 10_000).freeze
      string = lent
      parts = Array.new(10) { |i| string[i..] }
      rows = owned(HeapProfile.snapshot(owners: true), :lent)
      assert_equal ["String"], rows.map(&:owner)
      assert_include rows.first.owner_frames.map(&:label), "Object#lent"
      assert_equal 10, parts.size
    RUBY
  end

  def test_without_owners_none_are_told
    in_child(SETUP + <<~'RUBY')
      HeapProfile.start(interval: 1)
      def strings = Array.new(10) { "x" * 5000 }
      kept = strings
      assert_equal ["String"], owned(HeapProfile.snapshot, :strings).map(&:owner).uniq
      profile = HeapProfile.snapshot(owners: false)
      assert_equal [[nil, nil, false]], blocks(profile, :strings).map { |row| [row.owner, row.owner_frames, row.native_leak] }.uniq
      assert_equal 0, profile.sum(&:memsize)
      assert_equal 10, kept.size
    RUBY
  end

  # What the allocator gives is up to 15 bytes more than was asked for, by the block.
  def test_memsize_agrees_at_interval_1
    in_child(SETUP + <<~'RUBY')
      Point = Struct.new(*(:a..:z), *(:aa..:dz))
      Wide = Class.new
      HeapProfile.start(interval: 1)
      def objects
        Array.new(200) do |i|
          wide = Wide.new
          120.times { |v| wide.instance_variable_set("@v#{v}", v) }
          ["x" * (i * 100), Array.new(i * 3, 0), (0..i).to_h { |n| [n, n] }, Point.new(1), 3**(i * 50), wide]
        end
      end
      kept = objects
      profile = HeapProfile.snapshot(gc: true, owners: true)
      below = rows(profile, label: "Object#objects")
      %w[String Array Hash Point Integer Wide].each do |name|
        slots, count, memsize = below.select { |row| row.class_name == name }.then do |rows|
          [rows.sum(&:inuse_slot_space), rows.sum(&:inuse_objects), rows.sum(&:memsize)]
        end
        malloc = below.select { |row| row.owner == name }.sum(&:inuse_malloc_space)
        assert_operator malloc, :>, 0, name
        assert_include 0..count * 2 * 16, slots + malloc - memsize, "#{name}: #{[slots, malloc, memsize]}"
      end
      assert_equal 200, kept.size
    RUBY
  end

  def test_memsize_is_of_the_samples_alone
    in_child(SETUP + <<~'RUBY')
      HeapProfile.start(interval: 20_000, seed: 1)
      def strings = Array.new(10_000) { "x" * 1000 }
      kept = strings
      rows = rows(HeapProfile.snapshot(owners: true), label: "Object#strings", class_name: "String")
      samples = rows.sum(&:memsize).fdiv(1001 + MEMSIZE)
      assert_in_delta 10_000 * SLOTS.first / 20_000.0, samples, 30
      assert_equal 10_000, kept.size
    RUBY
  end

  # What an extension does in its memsize function is neither sampled, nor does it start a GC, in
  # which the objects that are looked at would die.
  def test_a_memsize_function_may_allocate
    [%w[1 ruby], %w[1 all], %w[5000 ruby]].each do |interval, malloc|
      in_child(SETUP + <<~RUBY)
        HeapProfile.start(interval: #{interval}, malloc: :#{malloc})
        kept = Array.new(500) { Blocks::Greedy.new(5000) }
        garbage = Array.new(2000) { Blocks::Greedy.new(5000) }
        garbage.clear
        3.times do
          samples = HeapProfile.stat(:total_samples)
          GC.stress = true
          profile = HeapProfile.snapshot(owners: true)
          GC.stress = false
          assert_operator HeapProfile.stat(:total_samples) - samples, :<, 5000
          rows = profile.select { |row| row.class_name == "HeapProfBlocks::Greedy" && row.inuse_objects > 0 }
          memsize = rows.sum(&:memsize)
          assert_equal 0, memsize % (4711 + MEMSIZE)
          assert_operator memsize, :>=, 500 * (4711 + MEMSIZE) if #{interval} == 1
          GC.start
        end
        assert_equal false, GC.disable
        HeapProfile.snapshot(owners: true)
        assert_equal true, GC.enable
        assert_equal 500, kept.size
        GC.start # debug builds check the object graph at the end, and MRI's that nobody allocates while the GC is off in a sweep
      RUBY
    end
  end

  LEAKS = SETUP + <<~'RUBY'
    LEFT_OVER = 5 * 1008 # of blocks that a word left over somewhere seems to hold

    def leaked = Blocks.malloc(1000).tap { |block| (@leaked ||= []) << block }
    def held = Blocks::Holder.new(1000)
    def text = "x" * 1000
    def listed(list) = list << ("y" * 1000)
    def once = Array.new(500) { Blocks.malloc(1000) }

    def suspects(profile) = profile.select(&:native_leak)
    def work(times, kept = [])
      times.times do
        20.times { leaked; kept << held; kept << text; listed(kept) }
        GC.start
      end
      kept
    end
  RUBY

  def test_what_leaks_and_grows_is_a_suspect
    in_child(LEAKS + <<~'RUBY')
      HeapProfile.start(interval: 1)
      once
      kept = work(10)
      suspects = suspects(HeapProfile.snapshot(gc: true, native_leaks: true))
      suspects.each { |row| assert_include row.frames.map(&:label), "Object#leaked" }
      assert_equal ["blocks_malloc (heapprof_blocks.so)"], suspects.map(&:caller).uniq
      assert_in_delta @leaked.sum { |block| Blocks.bytes(block) }, suspects.sum(&:inuse_malloc_space), LEFT_OVER
      assert_equal 600, kept.size
    RUBY
  end

  def test_report_marks_them_also_in_a_difference
    in_child(LEAKS + <<~'RUBY')
      require "stringio"
      def report(profile) = StringIO.new.tap { |io| profile.report(io, group: :site, limit: 0) }.string
      HeapProfile.start(interval: 1)
      kept = work(5)
      before = HeapProfile.snapshot(gc: true, native_leaks: true)
      kept.concat(work(5))
      after = HeapProfile.snapshot(gc: true, native_leaks: true)
      [after, after - before].each do |profile|
        marked = report(profile).lines.grep(/native_leak/)
        assert_equal ["blocks_malloc (heapprof_blocks.so) native_leak"], marked.map { |line| line[/  (\S.*)\n/, 1][/blocks.*/] }.uniq
        assert_match(/str_enc_new \(ruby\) for String$/, report(profile))
      end
      bytes = (after - before).select(&:native_leak).sum(&:inuse_malloc_space)
      assert_in_delta @leaked.last(100).sum { |block| Blocks.bytes(block) }, bytes, LEFT_OVER
      assert_equal 600, kept.size
    RUBY
  end

  def test_young_blocks_are_no_suspects_yet
    in_child(LEAKS + <<~'RUBY')
      HeapProfile.start(interval: 1)
      work(2)
      assert_empty suspects(HeapProfile.snapshot(gc: true, native_leaks: true))
    RUBY
  end

  def test_a_leak_shows_at_a_larger_interval
    in_child(LEAKS + <<~'RUBY')
      HeapProfile.start(interval: 16_384, seed: 3)
      kept = nil
      10.times { 400.times { leaked }; kept = work(1) }
      suspects = suspects(HeapProfile.snapshot(gc: true, native_leaks: true))
      assert_equal ["blocks_malloc (heapprof_blocks.so)"], suspects.map(&:caller).uniq
      assert_not_nil kept
    RUBY
  end

  # Nokogiri's nodes, which an object's struct leads to, were accused of 87 MB.
  def test_nobody_is_a_suspect_unless_asked
    in_child(LEAKS + <<~'RUBY')
      HeapProfile.start(interval: 1)
      work(10)
      assert_empty suspects(HeapProfile.snapshot(gc: true, owners: true))
      assert_not_empty suspects(HeapProfile.snapshot(gc: true, native_leaks: true))
    RUBY
  end

  REACHED = SETUP + <<~'RUBY'
    require "-test-/heapprof_leak"
    CHAIN = HeapProfLeak::Chain.new
    def held(bytes) = CHAIN.add(bytes)
    def kept(bytes) = HeapProfLeak.keep(bytes)
    def lost(bytes) = HeapProfLeak.lose(bytes)

    # A word left over somewhere may seem to hold one of those that are lost, or some of the library's. In a debug build there
    # are more such words: up to ten of the fifty largest seemed to be held in 100 runs, none in 60 without.
    def assert_reached(profile, bytes)
      held, kept, lost = %i[held kept lost].map { |label| by_owner(profile, label) }
      assert_operator held["HeapProfLeak::Chain"], :>=, 0.9 * bytes, held.to_s
      assert_operator kept.fetch(nil, 0), :<=, 0.1 * bytes, kept.to_s
      assert_operator lost[nil], :>=, (debug_build? ? 0.7 : 0.9) * bytes, lost.to_s
      suspects = profile.select(&:native_leak)
      assert_equal [["Object#lost"]], suspects.map { |row| row.frames.map(&:label).grep(/#(held|kept|lost)/) }.uniq
      assert_operator suspects.sum(&:inuse_malloc_space), :>=, 0.5 * bytes
    end

    def grow(bytes, each)
      10.times do
        each.times { held(bytes); kept(bytes); lost(bytes) }
        GC.start
      end
    end
  RUBY

  def test_what_a_struct_or_a_library_leads_to_is_held
    in_child(REACHED + <<~'RUBY')
      HeapProfile.start(interval: 1)
      grow(1000, 20)
      assert_reached HeapProfile.snapshot(gc: true, native_leaks: true), 200 * (1000 + 16)
    RUBY
  end

  # To read what pointers lead to takes time in proportion to all memory: a file at exit did for minutes.
  def test_owners_alone_follow_no_pointers_of_extensions
    in_child(REACHED + <<~'RUBY')
      HeapProfile.start(interval: 1)
      grow(1000, 20)
      held, kept = %i[held kept].map { |label| by_owner(HeapProfile.snapshot(gc: true, owners: true), label) }
      assert_empty (held.keys + kept.keys).compact.grep(/Chain|\[C\]/)
      [held, kept].each { |owners| assert_operator owners[nil], :>=, 0.9 * 200 * (1000 + 16), owners.to_s }
    RUBY
  end

  # Before each mapping but the stack, which grows, something seems to be a block that ends far behind it. Our tables
  # are there, with the address of each block, and hundreds of megabytes that MRI has reserved.
  def test_what_only_looks_like_a_long_block_holds_nothing_that_lies_behind_it
    in_child(REACHED + <<~'RUBY')
      HeapProfile.start(interval: 1)
      grow(1000, 20)
      mappings = File.read("/proc/self/maps")[/.*(?=^.*\[stack\])/m].scan(/^(\h+)-(\h+)/).map { |range| range.map(&:hex) }
      gaps = mappings.each_cons(2).filter_map { |(_, last), (first, _)| first if first - last > 4096 }
      assert_operator gaps.count { |first| HeapProfLeak.seem(first - 4096) }, :>, 0
      assert_reached HeapProfile.snapshot(gc: true, native_leaks: true), 200 * (1000 + 16)
    RUBY
  end

  def test_nobody_is_a_suspect_when_there_is_too_much_to_read
    in_child(REACHED + <<~'RUBY')
      HeapProfile.start(interval: 1)
      grow(1000, 20)
      assert_not_empty HeapProfile.snapshot(gc: true, native_leaks: true).select(&:native_leak)
      held(300 << 20)
      assert_not_empty HeapProfile.snapshot(gc: true, native_leaks: true).select(&:native_leak)
      CHAIN.write(300 << 20)
      assert_empty HeapProfile.snapshot(gc: true, native_leaks: true).select(&:native_leak)
    RUBY
  end

  # The descriptor, and up to 64 MiB beside it, were kept until the next snapshot.
  def test_the_search_gives_back_what_it_needed
    in_child(REACHED + <<~'RUBY')
      def memory_files = Dir["/proc/self/fd/*"].map { |file| File.readlink(file) rescue nil }.grep(/mem\z/)
      HeapProfile.start(interval: 1)
      grow(1000, 20)
      5.times do
        assert_not_empty HeapProfile.snapshot(gc: true, native_leaks: true).select(&:native_leak)
        assert_empty memory_files
      end
    RUBY
  end

  # The links of the lists are not.
  def test_also_by_way_of_what_is_not_sampled
    in_child(REACHED + <<~'RUBY')
      HeapProfile.start(interval: 1 << 20, malloc_interval: 65_536, seed: 5)
      grow(300_000, 5)
      assert_reached HeapProfile.snapshot(gc: true, native_leaks: true), 50 * 300_000
    RUBY
  end

  def test_labels_in_the_file
    profile_script(<<~RUBY, "-r-test-/heapprof_blocks") do |out, _, _|
      def leaked = HeapProfBlocks.malloc(1000)
      def kept = $kept << ("x" * 3000)
      $kept = []
      10.times { 20.times { leaked; kept }; GC.start }
      ObjectSpace::HeapProfile.snapshot(gc: true, native_leaks: true).write("suspects.pb.gz")
    RUBY
      suspects = read_profile(File.join(File.dirname(out), "suspects.pb.gz"))
      leaked = suspects.where(label: "Object#leaked").select { |sample| sample.caller&.match?(/blocks_malloc/) }
      assert_equal ["suspect"], leaked.map(&:native_leak).uniq
      profile = read_profile(out)
      leaked = profile.where(label: "Object#leaked").select { |sample| sample.caller&.match?(/blocks_malloc/) }
      assert_equal [[nil, nil]], leaked.map { |sample| [sample.native_leak, sample.owner] }.uniq
      kept = profile.where(label: "Object#kept").select { |sample| sample.owner == "String" }
      assert_equal [nil], kept.map(&:native_leak).uniq
      assert_operator kept.sum(&:inuse_malloc_space), :>=, 200 * 3001
      assert_match(/\AString#\* .*script\.rb:2\z/, kept.first.owner_allocated_by)
      strings = profile.where(label: "Object#kept", class_name: "String")
      assert_operator strings.sum { |sample| sample.memsize.to_i }, :>=, 200 * 3041
    end
  end

  def test_owners_0_leaves_them_out_of_the_file
    profile_script("$kept = Array.new(10) { 'x' * 3000 }", settings: "interval=1,owners=0") do |out, _, _|
      profile = read_profile(out)
      assert_equal [[nil, nil]], profile.samples.map { |sample| [sample.owner, sample.memsize] }.uniq
    end
  end

  # A walk that began between the end of another and its snapshot had forgotten what that had found.
  def test_while_other_ractors_walk
    in_child(SETUP + <<~'RUBY')
      Warning[:experimental] = false
      HeapProfile.start(interval: 1)
      def strings = Array.new(500) { "x" * 5000 }
      kept = strings
      heap = Array.new(20_000) { Object.new }
      GC.start
      GC.disable
      times = scaled(100)
      ractors = Array.new(3) do
        Ractor.new(times) { |times| times.times { ObjectSpace::HeapProfile.snapshot(owners: true) } }
      end
      owned = Array.new(times) { by_owner(HeapProfile.snapshot(owners: true), :strings).fetch("String", 0) }
      assert_operator owned.min, :>=, 500 * 5001, owned.to_s
      ractors.each(&:take)
      assert_equal [500, 20_000], [kept.size, heap.size]
    RUBY
  end

  # A GC between two slices takes nothing away from what was found before, and nothing is to be walked again at
  # once: what holds a block all the time is found, and so is a leak.
  def test_gcs_come_between_the_slices
    in_child(LEAKS + <<~'RUBY')
      HeapProfile.start(interval: 1)
      def strings = Array.new(2000) { "z" * 5000 }
      kept = [strings, work(10)]
      heap = Array.new(scaled(200_000)) { Object.new }
      GC.start
      done = false
      collections = GC.count
      thread = Thread.new do
        until done
          GC.start(full_mark: false)
          sleep 0.001 # or its time slices come between ours
        end
      end
      3.times do
        profile = HeapProfile.snapshot(native_leaks: true)
        assert_operator by_owner(profile, :strings).fetch("String"), :>=, 2000 * 5001
        suspects = suspects(profile)
        suspects.each { |row| assert_include row.frames.map(&:label), "Object#leaked" }
        assert_in_delta @leaked.sum { |block| Blocks.bytes(block) }, suspects.sum(&:inuse_malloc_space), LEFT_OVER
      end
      done = true
      thread.join
      assert_operator GC.count, :>, collections + 3
      assert_equal [2, scaled(200_000)], [kept.size, heap.size]
    RUBY
  end

  # Objects die, move and are born between two slices.
  def test_while_other_threads_allocate_and_compact
    in_child(SETUP + <<~'RUBY')
      HeapProfile.start(interval: 1)
      def strings = Array.new(2000) { "x" * 5000 }
      kept = strings
      garbage = Array.new(scaled(100_000)) { Object.new }
      done = false
      threads = [Thread.new { (Array.new(50) { "y" * 2000 }; sleep 0.001) until done },
                 Thread.new { (GC.compact; sleep 0.001) until done }]
      3.times do
        profile = HeapProfile.snapshot(owners: true)
        owned = by_owner(profile, :strings)
        assert_operator owned.fetch("String"), :>=, 2000 * 5001
        assert_empty owned.keys.grep_v(CACHES) - ["String", "Array", nil]
      end
      done = true
      threads.each(&:join)
      assert_equal [2000, scaled(100_000)], [kept.size, garbage.size]
    RUBY
  end
end
