# frozen_string_literal: true

# test_memprof.rb - what the gem memprof did, by the same names (lib/heapprof/memprof.rb): start, stop, stats, track. Dumps are
# in test_memprof_dump.rb, trace and what it counts in test_memprof_trace.rb.

require_relative "lib/heapprof_test"

class TestHeapProfMemprof < Test::Unit::TestCase
  include HeapProfTest

  # What it has printed into a file: { "it.rb:LINE:CLASS" => count }.
  COUNTS = <<~'RUBY'
    def counts(path)
      File.readlines(path, chomp: true).to_h do |line|
        count, key = line.match(/\A {0,6}(\d+) (.+)\z/).captures
        [key.delete_prefix("#{Dir.pwd}/"), Integer(count)]
      end
    end
  RUBY

  # Its string literals are no objects that it makes.
  def in_memprof(script) = in_file(script, "heapprof/memprof", COUNTS, "--enable=frozen-string-literal")

  def test_stats_are_counts_by_line_and_class_the_most_first
    in_memprof(<<~'RUBY')
      class Item; end
      Memprof.start
      $kept = Array.new(12) { Item.new }
      $more = Array.new(700) { [nil] }
      Memprof.stats("s")
      assert_equal ["    701 #{Dir.pwd}/it.rb:4:Array\n", "     12 #{Dir.pwd}/it.rb:3:Item\n"], File.readlines("s").first(2)
      assert_equal({ "it.rb:4:Array" => 701, "it.rb:3:Item" => 12, "it.rb:3:Array" => 1 }, counts("s"))
      assert_equal 0o600, File.stat("s").mode & 0o777
    RUBY
  end

  # As the gem's own documentation has it: the last of ten is left.
  def test_the_dead_are_gone_after_a_gc
    in_memprof(<<~'RUBY')
      def make = 10.times { $last = Object.new }
      Memprof.start
      make
      Memprof.stats("before")
      GC.start
      Memprof.stats("after")
      assert_equal 10, counts("before")["it.rb:1:Object"]
      assert_include 1..2, counts("after")["it.rb:1:Object"]
    RUBY
  end

  def test_neither_the_layer_itself_nor_what_only_the_vm_sees_is_counted
    in_memprof(<<~'RUBY')
      Memprof.start
      $kept = Object.new
      5.times { Memprof.stats("s") }
      assert_equal({ "it.rb:2:Object" => 1 }, counts("s"))
    RUBY
  end

  def test_a_class_named_like_an_internal_type_is_counted
    in_memprof(<<~'RUBY')
      class T_DATA; end
      Memprof.start
      $kept = T_DATA.new
      Memprof.stats("s")
      assert_equal({ "it.rb:3:T_DATA" => 1 }, counts("s"))
    RUBY
  end

  def test_it_is_exact_beyond_the_default_budget
    in_memprof(<<~'RUBY')
      count = debug_build? ? 100_000 : 3_000_000
      Memprof.start
      $kept = Array.new(count) { Object.new }
      assert_operator HeapProfile.stat(:memory_used), :>, 64 << 20 unless debug_build?
      assert_equal [1, 0, 0], HeapProfile.stat.values_at(:interval_bytes, :doublings, :dropped)
      Memprof.stats("s")
      assert_equal count, counts("s")["it.rb:3:Object"]
    RUBY
  end

  def test_stats_with_a_bang_begins_anew
    in_memprof(<<~'RUBY')
      Memprof.start
      $kept = [Object.new]
      Memprof.stats!("first")
      Memprof.stats("then")
      $more = Object.new
      Memprof.stats("last")
      assert_equal({ "it.rb:2:Object" => 1, "it.rb:2:Array" => 1 }, counts("first"))
      assert_equal({}, counts("then"))
      assert_equal({ "it.rb:5:Object" => 1 }, counts("last"))
    RUBY
  end

  def test_without_a_file_it_is_stderr
    ran = run_ruby("--disable-gems", "-rheapprof/memprof", "-e", "Memprof.start; $kept = Object.new; Memprof.stats")
    assert_equal ["", "      1 -e:1:Object\n"], [ran.out, ran.err]
  end

  def test_start_and_stop_say_whether_they_did_anything
    in_memprof(<<~'RUBY')
      assert_equal [false, true, false, true, false], [Memprof.stop, Memprof.start, Memprof.start, Memprof.stop, Memprof.stop]
      assert_equal false, HeapProfile.running?
    RUBY
  end

  def test_stats_need_a_start_that_is_its_own
    in_memprof(<<~'RUBY')
      message = "objects are not followed; call Memprof.start first"
      %i[stats stats!].each { |name| assert_raise_with_message(RuntimeError, message) { Memprof.public_send(name, "s") } }
      assert_equal false, File.exist?("s")
      HeapProfile.start
      assert_raise_with_message(RuntimeError, message) { Memprof.stats }
      assert_raise_with_message(RuntimeError, /running already/) { Memprof.start }
      assert_raise_with_message(RuntimeError, /running already/) { Memprof.track { flunk } }
      assert_equal [false, true], [Memprof.stop, HeapProfile.running?]
      HeapProfile.stop
      Memprof.start
      HeapProfile.stop
      assert_raise_with_message(RuntimeError, message) { Memprof.stats }
      assert_equal true, Memprof.start
    RUBY
  end

  def test_a_file_that_cannot_be_written_is_an_error
    in_memprof(<<~'RUBY')
      Memprof.start
      assert_raise(Errno::ENOENT) { Memprof.stats("none/s") }
      assert_raise(Errno::ENOENT) { Memprof.stats!("none/s") }
      assert_equal [true, true], [Memprof.started?, Memprof.stop]
    RUBY
  end

  def test_track_is_all_three_for_a_block
    in_memprof(<<~'RUBY')
      $before = Object.new
      result = Memprof.track("t") do
        $kept = Array.new(100) { Object.new }
        100.times { Module.new }
      end
      $after = Object.new
      assert_nil result
      assert_equal [100, 100], counts("t").values_at("it.rb:3:Object", "it.rb:4:Module")
      assert_equal %w[3 4], counts("t").keys.map { |key| key[/:(\d+):/, 1] }.uniq.sort
      assert_equal false, HeapProfile.running?
      assert_raise_with_message(ArgumentError, /a block is needed/) { Memprof.track }
    RUBY
  end

  def test_track_within_start_and_stop_goes_on
    in_memprof(<<~'RUBY')
      Memprof.start
      $before = Object.new
      Memprof.track("t") { $kept = Object.new }
      assert_equal({ "it.rb:2:Object" => 1, "it.rb:3:Object" => 1 }, counts("t"))
      assert_equal true, Memprof.stop
    RUBY
  end

  def test_a_block_that_raises_is_followed_no_longer
    in_memprof(<<~'RUBY')
      assert_raise(IOError) { Memprof.track("t") { raise IOError } }
      assert_equal [false, false, false], [File.exist?("t"), Memprof.started?, HeapProfile.running?]
    RUBY
  end
end
