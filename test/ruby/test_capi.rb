# frozen_string_literal: true

# test_capi.rb - the C API (include/ruby/heapprof.h, vm/api/capi.c) through an extension that passes
# on what it gets: test/ext/capi. Ruby's class is the measure where both tell the same.

require_relative "lib/heapprof_test"

class TestHeapProfCapi < Test::Unit::TestCase
  include HeapProfTest

  REQUIRE = "require '-test-/heapprof_capi'; class Item; end\n"

  def in_child(script)
    assert_separately([{ "RUBY_HEAPPROF" => nil }, "-r#{CHILD}"], *place, REQUIRE + script, timeout: TIMEOUT)
  end

  def test_default_config_is_the_documented_one
    in_child("assert_equal [65_536, 512, 64 << 20, nil, 2**64 - 1], HeapProfCAPI.default_config")
  end

  def test_start_with_null_takes_the_defaults
    in_child(<<~'RUBY')
      assert_equal 0, HeapProfCAPI.running_p
      assert_equal :started, HeapProfCAPI.start_default
      assert_operator HeapProfCAPI.running_p, :!=, 0
      assert_equal [65_536, 65_536, 64 << 20],
                   HeapProfCAPI.stat.values_at(:interval_bytes, :malloc_interval_bytes, :memory_budget)
      assert_equal true, HeapProfile.running?
    RUBY
  end

  def test_start_with_malloc_all
    in_child(<<~'RUBY')
      assert_equal :started, HeapProfCAPI.start_malloc_all
      assert_equal 1, HeapProfCAPI.stat[:malloc_all]
    RUBY
  end

  def test_second_start_says_running_and_changes_nothing
    in_child(<<~'RUBY')
      assert_equal :started, HeapProfCAPI.start(1, nil, nil, nil)
      kept = Item.new
      assert_equal :running, HeapProfCAPI.start(99, nil, nil, nil)
      assert_equal :running, HeapProfCAPI.start_default
      assert_equal 1, HeapProfCAPI.stat[:interval_bytes]
      assert_equal 1, total(HeapProfile.snapshot, class_name: "Item")
      assert_raise(RuntimeError) { HeapProfile.start }
      assert kept
    RUBY
  end

  def test_config_out_of_range_is_refused_and_changes_nothing
    in_child(<<~'RUBY')
      [[0, nil, nil], [(1 << 40) + 1, nil, nil], [(1 << 64) - 1, nil, nil], [nil, 0, nil], [nil, 65_536, nil],
       [nil, (1 << 32) - 1, nil], [nil, nil, 0], [nil, nil, (1 << 20) - 1],
       [nil, nil, nil, (1 << 40) + 1], [nil, nil, nil, (1 << 64) - 2]].each do |interval, depth, memory, malloc|
        assert_equal :bad_config, HeapProfCAPI.start(interval, depth, memory, nil, malloc),
                     [interval, depth, memory, malloc].inspect
        assert_equal 0, HeapProfCAPI.running_p
      end
      assert_equal :started, HeapProfCAPI.start(4096, nil, nil, nil)
      assert_equal :bad_config, HeapProfCAPI.start(0, nil, nil, nil)
      assert_equal 4096, HeapProfCAPI.stat[:interval_bytes]
    RUBY
  end

  # A caller compiled with another version of the header has structs of another size.
  SIZES = <<~'RUBY'
    FRESH = "\xAA".b * 8192
    def words(name, size) = HeapProfCAPI.sized(name, size).unpack("Q*")
    def start_words(*words)
      HeapProfCAPI.start_bytes(words.pack("Q*"))
    ensure
      HeapProfCAPI.stop
    end
  RUBY

  def test_older_callers_shorter_struct_is_filled_and_nothing_behind_it
    in_child(SIZES + <<~'RUBY')
      HeapProfCAPI.start(4096, 99, nil, nil)
      { "config" => [65_536], "stat" => [4096, 4096], "rss" => [] }.each do |name, expected|
        (16..HeapProfCAPI.size_of(name)).step(8) do |size|
          bytes = HeapProfCAPI.sized(name, size)
          assert_equal [FRESH[size..], size], [bytes[size..], bytes.unpack1("Q")], [name, size].inspect
          values = bytes.unpack("Q*")[1...size / 8].first(expected.size)
          assert_equal expected.first(values.size), values
          assert_operator bytes.unpack("Q*")[1], :>, 1 << 20 if name == "rss"
        end
      end
    RUBY
  end

  def test_newer_callers_longer_struct_has_0_for_what_this_ruby_does_not_know
    in_child(SIZES + <<~'RUBY')
      %w[config stat rss].each do |name|
        known = HeapProfCAPI.size_of(name)
        bytes = HeapProfCAPI.sized(name, 4096)
        assert_equal "\0".b * (4096 - known), bytes[known...4096], name
        assert_equal FRESH[4096..], bytes[4096..], name
        assert_equal name == "config" ? 4096 : known, bytes.unpack1("Q"), name
      end
    RUBY
  end

  def test_struct_of_no_possible_size_is_left_untouched
    in_child(SIZES + <<~'RUBY')
      %w[config stat rss].product([0, 8, 15, 4097, 2**64 - 1]) do |name, size|
        assert_equal FRESH, HeapProfCAPI.sized(name, size), [name, size].inspect
      end
    RUBY
  end

  def test_shorter_config_takes_the_defaults_of_what_it_lacks
    in_child(<<~'RUBY')
      in_force = -> { HeapProfCAPI.stat.values_at(:interval_bytes, :malloc_interval_bytes, :malloc_all, :memory_budget) }
      assert_equal :started, HeapProfCAPI.start_bytes([16, 4096].pack("Q*"))
      assert_equal [4096, 4096, 0, 64 << 20], in_force.()
      HeapProfCAPI.stop
      assert_equal :started, HeapProfCAPI.start_bytes([24, 4096, 0].pack("Q*"))
      assert_equal [4096, 0, 0, 64 << 20], in_force.()
    RUBY
  end

  def test_config_with_a_wrong_size_or_settings_that_this_ruby_does_not_know_is_refused
    in_child(SIZES + <<~'RUBY')
      known = HeapProfCAPI.size_of("config")
      longer = words("config", known + 16).first(known / 8 + 2)
      assert_equal :started, start_words(*longer)
      assert_equal :bad_config, start_words(*longer[..-2], 1)
      [0, 8, 15, 4097, 2**64 - 1].each { |size| assert_equal :bad_config, start_words(size, *longer.drop(1)) }
      assert_equal :bad_config, start_words(16, 0)
    RUBY
  end

  # ---- files while the program runs ----

  def test_a_signal_has_a_file_written
    in_directory do
      in_child(<<~'RUBY')
        assert_equal :started, HeapProfCAPI.start_files(nil, Signal.list["USR2"], 2, "own-%n.pb.gz", false, false)
        kept = Array.new(100) { Item.new }
        3.times do |i|
          Process.kill(:USR2, $$)
          sleep 0.01 until File.exist?("own-#{i + 1}.pb.gz")
        end
        HeapProfCAPI.stop
        files = Dir["own-*"].sort
        assert_equal %w[own-1.pb.gz own-3.pb.gz], files
        profile = HeapProfile.load(files.last)
        assert_equal 100, total(profile, class_name: "Item")
        assert_equal [nil], profile.map(&:owner).uniq
        assert_not_include profile.map(&:kind), :rss
        assert_equal 100, kept.size
      RUBY
    end
  end

  def test_files_are_written_every_so_often_with_owners_and_rss
    in_directory do
      in_child(<<~'RUBY')
        assert_equal :started, HeapProfCAPI.start_files(100, nil, nil, nil, nil, nil)
        kept = Array.new(100) { "x" * 1000 }
        sleep 0.01 until Dir["heapprof-#{$$}-*.pb.gz"].size > 1
        HeapProfCAPI.stop
        profile = HeapProfile.load(Dir["heapprof-#{$$}-*.pb.gz"].max_by { |file| file[/\d+(?=\.pb)/].to_i })
        assert_include profile.map(&:owner), "String"
        assert_include profile.map(&:kind), :rss
        assert_equal 100, kept.size
      RUBY
    end
  end

  def test_files_that_cannot_be_are_refused_and_nothing_changes
    in_child(<<~'RUBY')
      usr2 = Signal.list["USR2"]
      [[99], [604_800_001], [nil, Signal.list["KILL"]], [nil, 77], [nil, -1], [1000, nil, 100_001],
       [nil, nil, nil, "a.pb.gz"], [1000, nil, nil, ""], [1000, nil, nil, "%x"], [1000, nil, nil, "x" * 4096]].each do |settings|
        assert_equal :bad_config, HeapProfCAPI.start_files(*settings.values_at(0...6)), settings.inspect
        assert_equal 0, HeapProfCAPI.running_p
      end
      assert_equal :no_such_directory, HeapProfCAPI.start_files(1000, nil, nil, "/nowhere/a.pb.gz", nil, nil)
      assert_equal 0, HeapProfCAPI.running_p
      trap("USR2") { }
      assert_equal :bad_config, HeapProfCAPI.start_files(nil, usr2, nil, nil, nil, nil)
      trap("USR2", "DEFAULT")
      assert_equal :started, HeapProfCAPI.start_files(nil, usr2, nil, nil, nil, nil)
      assert_equal :running, HeapProfCAPI.start_files(nil, usr2, nil, nil, nil, nil)
    RUBY
  end

  def test_seed_makes_samples_reproducible
    in_child(<<~'RUBY')
      def count(seed)
        GC.start
        GC.disable
        HeapProfCAPI.start(1000, nil, nil, seed)
        i = 0
        i += "text".size while i < 40_000
        HeapProfCAPI.stat[:total_samples]
      ensure
        HeapProfCAPI.stop
        GC.enable
      end
      3.times { count(1) }
      assert_equal count(7), count(7)
      assert_operator Array.new(10) { |seed| count(seed) }.uniq.size, :>, 3
    RUBY
  end

  def test_interval_may_change_while_running
    in_child(<<~'RUBY')
      def before = Array.new(3000) { Item.new }
      def after = Array.new(3000) { Item.new }

      HeapProfCAPI.start(1, nil, nil, 1)
      old = before
      assert_equal true, HeapProfCAPI.set_interval(2000)
      assert_equal 2000, HeapProfile.stat(:interval_bytes)
      new = after
      profile = HeapProfile.snapshot
      assert_equal 3000, total(profile, class_name: "Item", label: "Object#before")
      estimate = total(profile, class_name: "Item", label: "Object#after")
      assert_in_delta 3000, estimate, Estimator.allowance(3000, SLOTS[0], 2000)
      sampled = new.count { |item| HeapProfile.allocation_stack(item) }
      assert_in_delta 3000 * Estimator.probability(SLOTS[0], 2000), sampled, 60
      assert_equal 3000, old.size
    RUBY
  end

  def test_malloc_interval_is_as_the_interval_unless_set
    in_child(<<~'RUBY')
      intervals = -> { HeapProfCAPI.stat.values_at(:interval_bytes, :malloc_interval_bytes) }
      { nil => [400, 300], 2**64 - 1 => [400, 300], 7 => [7, 7], 0 => [0, 0] }.each do |malloc_interval, expected|
        assert_equal :started, HeapProfCAPI.start(400, nil, nil, nil, malloc_interval)
        assert_equal [400, expected[0]], intervals.()
        HeapProfCAPI.set_interval(300)
        assert_equal [300, expected[1]], intervals.()
        HeapProfCAPI.stop
      end
    RUBY
  end

  def test_interval_stays_when_the_new_one_is_out_of_range_or_nothing_runs
    in_child(<<~'RUBY')
      assert_equal false, HeapProfCAPI.set_interval(1000)
      HeapProfCAPI.start(500, nil, nil, nil)
      [0, 2**40 + 1].each { |bytes| assert_equal false, HeapProfCAPI.set_interval(bytes) }
      assert_equal 500, HeapProfile.stat(:interval_bytes)
    RUBY
  end

  def test_allocation_stack_is_one_row_of_the_object_alone
    in_child(<<~'RUBY')
      assert_equal [0, []], HeapProfCAPI.allocation_stack(Item.new, 7)
      HeapProfCAPI.start(1, nil, nil, nil)
      items = Array.new(2) { Item.new }
      3.times { GC.start }
      result, rows = HeapProfCAPI.allocation_stack(items[1], 7)
      assert_equal 7, result
      class_name, frames, gc_age, *values = rows.fetch(0)
      slot = SLOTS[0]
      assert_equal ["Item", 2, 1, slot, 1, slot, slot, 0, slot, 0, nil, nil, [], false, 0, :objects], [class_name, gc_age, *values]
      assert_equal HeapProfile.allocation_stack(items[1]).map { |f| [f.path, f.lineno, f.label] }, frames
      assert_equal 1, rows.size
      assert_equal [0, []], HeapProfCAPI.allocation_stack(nil, 7)
    RUBY
  end

  def test_stop_forgets_and_may_be_called_at_any_time
    in_child(<<~'RUBY')
      assert_nil HeapProfCAPI.stop
      HeapProfCAPI.start(1, nil, nil, nil)
      kept = Item.new
      assert_nil HeapProfCAPI.stop
      assert_nil HeapProfCAPI.stop
      assert_equal 0, HeapProfCAPI.running_p
      assert_equal [0], HeapProfCAPI.stat.values.uniq
      HeapProfCAPI.start(1, nil, nil, nil)
      assert_equal 0, total(HeapProfile.snapshot, :alloc_objects, class_name: "Item")
      assert kept
    RUBY
  end

  def test_stat_tells_what_rubys_stat_tells
    in_child(<<~'RUBY')
      assert_equal HeapProfile.stat, HeapProfCAPI.stat
      HeapProfCAPI.start(1 << 30, nil, nil, nil, 1 << 29)
      assert_equal HeapProfile.stat, HeapProfCAPI.stat
      assert_equal 1 << 29, HeapProfCAPI.stat[:malloc_interval_bytes]
    RUBY
  end

  def test_snapshot_is_null_when_not_running_and_null_may_be_freed
    in_child(<<~'RUBY')
      assert_nil HeapProfCAPI.snapshot(false)
      assert_nil HeapProfCAPI.snapshot(true)
      assert_nil HeapProfCAPI.free_null
    RUBY
  end

  def test_rows_are_those_that_ruby_reads
    in_child(<<~'RUBY')
      HeapProfCAPI.start(1, nil, nil, nil)
      kept = Array.new(10) { Item.new }
      texts = Array.new(10) { "x" * 1000 }
      Array.new(20) { ["x" * 1000, Item.new] }.clear
      GC.start
      GC.disable
      profile, taken = HeapProfile.snapshot(owners: true), HeapProfCAPI.snapshot(2)
      HeapProfCAPI.stop
      result, rows = HeapProfCAPI.each(taken, 0, 0)
      assert_equal 0, result
      in_ruby = profile.map do |s|
        [s.class_name, s.frames.map { |f| [f.path, f.lineno, f.label] }, s.gc_age || -1,
         s.inuse_objects, s.inuse_space, s.alloc_objects, s.alloc_space, s.inuse_slot_space,
         s.inuse_malloc_space, s.alloc_slot_space, s.alloc_malloc_space, s.caller,
         s.owner, (s.owner_frames || []).map { |f| [f.path, f.lineno, f.label] }, s.native_leak, s.memsize, s.kind]
      end
      # Between the two snapshots Ruby has allocated, too.
      mine = ->(row) { row[0] == "Item" || row[11]&.start_with?("str_enc_new") && row[6] > 5000 }
      in_ruby, in_c = in_ruby.select(&mine), rows.select(&mine)
      assert_operator in_ruby.count { |row| row[11] }, :>=, 2
      assert_operator in_ruby.count { |row| !row[11] }, :>=, 2
      assert_operator in_ruby.count { |row| row[12] == "String" && row[13].any? }, :>=, 1
      assert_operator in_ruby.count { |row| row[15] >= 400 }, :>=, 1
      assert_equal in_ruby, in_c
      assert_equal 20, kept.size + texts.size
    RUBY
  end

  def test_difference_is_rubys
    in_child(<<~'RUBY')
      HeapProfCAPI.start(1, nil, nil, nil)
      $kept = Array.new(10) { Item.new }
      before = HeapProfCAPI.snapshot(true)
      $kept = Array.new(3) { Item.new }
      after = HeapProfCAPI.snapshot(true)
      _, rows = HeapProfCAPI.each(HeapProfCAPI.difference(after, before), 0, 0)
      items = rows.select { |row| row[0] == "Item" }
      assert_equal [-7, 3], [items.sum { |row| row[3] }, items.sum { |row| row[5] }]
      assert_equal [-1], rows.map { |row| row[2] }.uniq
      assert_equal [0, []], HeapProfCAPI.each(HeapProfCAPI.difference(after, after), 0, 0)
    RUBY
  end

  def test_snapshot_with_gc_has_only_what_is_reachable
    in_child(<<~'RUBY')
      HeapProfCAPI.start(1, nil, nil, nil)
      GC.disable
      Array.new(100) { Item.new }.clear
      _, rows = HeapProfCAPI.each(HeapProfCAPI.snapshot(false), 0, 0)
      assert_equal 100, rows.sum { |row| row[0] == "Item" ? row[3] : 0 }
      _, rows = HeapProfCAPI.each(HeapProfCAPI.snapshot(true), 0, 0)
      assert_operator rows.sum { |row| row[0] == "Item" ? row[3] : 0 }, :<=, 3
    RUBY
  end

  def test_each_stops_where_the_function_says_and_returns_what_it_returned
    in_child(<<~'RUBY')
      HeapProfCAPI.start(1, nil, nil, nil)
      kept = Array.new(100) { |i| eval("Object.new\n" * (i + 1)) }
      taken = HeapProfCAPI.snapshot(false)
      HeapProfCAPI.stop
      [[1, 5], [7, -3], [20, 1]].each do |stop_after, stop_with|
        result, rows = HeapProfCAPI.each(taken, stop_after, stop_with)
        assert_equal [stop_with, stop_after], [result, rows.size]
      end
      result, rows = HeapProfCAPI.each(taken, 0, 0)
      assert_equal 0, result
      assert_operator rows.size, :>, 20
      assert kept
    RUBY
  end

  def test_each_of_a_profile_without_rows_returns_0
    in_child(<<~'RUBY')
      HeapProfCAPI.start(1 << 40, nil, nil, nil, 0)
      assert_equal [0, []], HeapProfCAPI.each(HeapProfCAPI.snapshot(false), 1, 9)
    RUBY
  end

  def test_write_returns_the_bytes_or_minus_1_with_errno
    in_directory do
      in_child(<<~'RUBY')
        HeapProfCAPI.start(1, nil, nil, nil)
        kept = Array.new(10) { Item.new }
        taken = HeapProfCAPI.snapshot(true)
        bytes, error = HeapProfCAPI.write(taken, "p.pb.gz")
        assert_equal [File.size("p.pb.gz"), 0], [bytes, error]
        HeapProfCAPI.stop
        assert_equal [bytes, 0], HeapProfCAPI.write(taken, "after-stop.pb.gz")
        assert_equal [-1, Errno::ENOENT::Errno], HeapProfCAPI.write(taken, "missing/p.pb.gz")
        assert_equal [-1, Errno::EISDIR::Errno], HeapProfCAPI.write(taken, ".")
        assert_equal [-1, Errno::ENAMETOOLONG::Errno], HeapProfCAPI.write(taken, "n" * 300)
        assert_equal %w[after-stop.pb.gz p.pb.gz], Dir.children(".").sort
        assert_equal 10, kept.size
      RUBY
      assert_equal 10, read_profile("p.pb.gz").total(class_name: "Item")
    end
  end

  LABELS = <<~'RUBY'
    HP = ObjectSpace::HeapProfile
    def with(...) = HeapProfCAPI.label_with(...)
    # What the fiber has with that set.
    def labels_of(set)
      before = HeapProfCAPI.label_set(set)
      HP.labels
    ensure
      HeapProfCAPI.label_set(before)
    end
  RUBY

  def test_labels_are_those_of_ruby
    in_child(LABELS + <<~'RUBY')
      cart = with(0, "endpoint", "/cart")
      tenant = with(cart, "tenant", "b2b")
      assert_equal 0, HeapProfCAPI.label_set(tenant)
      assert_equal tenant, HeapProfCAPI.label_get
      assert_equal({ endpoint: "/cart", tenant: "b2b" }, HP.labels)
      HP.label(shard: 7) { assert_equal({ endpoint: "/cart", shard: "7", tenant: "b2b" }, HP.labels) }
      HP.label(tenant: nil) { assert_equal cart, HeapProfCAPI.label_get }
      assert_equal tenant, HeapProfCAPI.label_set(0)
      assert_equal({}, HP.labels)
      assert_equal cart, with(tenant, "tenant", nil)
      assert_equal 0, with(cart, "endpoint", nil)
      HP.label(late: :endpoint) do
        HeapProfCAPI.label_set(with(HeapProfCAPI.label_get, "endpoint", "/pay"))
        assert_equal({ endpoint: "/pay" }, HP.labels)
      end
    RUBY
  end

  def test_labels_of_any_bytes_are_text
    in_child(LABELS + <<~'RUBY')
      { "" => "(empty)", "a\0thread\0b" => "a thread b", "\xff" => "\\xFF", "ü" * 100 => "ü" * 64,
        "x" * 1_000_000 => "x" * 128 }.each do |value, kept|
        assert_equal({ a: kept }, labels_of(with(0, "a", value)))
      end
    RUBY
  end

  def test_labels_that_cannot_be_are_left_out
    in_child(LABELS + <<~'RUBY')
      cart = with(0, "endpoint", "/cart")
      ["thread", "class", "pid", "", "k" * 64, "k" * 1000, "\xff"].each do |key|
        assert_equal cart, with(cart, key, "x"), key
        assert_equal cart, with(cart, key, nil), key
      end
      assert_equal({ "k" * 63 => "x" }, labels_of(with(0, "k" * 63, "x")).transform_keys(&:to_s))
      [1000, 2**28, 2**31, 2**31 + 16, 2**32 - 1].each do |unknown|
        assert_equal({ a: "x" }, labels_of(with(unknown, "a", "x")))
        assert_equal 0, with(unknown, "a", nil)
        assert_equal({}, labels_of(unknown))
      end
    RUBY
  end

  def test_started_by_the_environment_it_is_running_and_can_be_read
    in_directory do
      script = REQUIRE + "p HeapProfCAPI.running_p != 0, HeapProfCAPI.start_default, HeapProfCAPI.stat[:interval_bytes], " \
                         "HeapProfCAPI.each(HeapProfCAPI.snapshot(false), 0, 0)[1].size > 100"
      ran = run_ruby("--disable-gems", "-e", script, heapprof: "interval=1,out=p.pb.gz")
      assert_clean ran, out: "true\n:running\n1\ntrue\n"
    end
  end
end
