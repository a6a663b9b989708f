# frozen_string_literal: true
#
# test_memcheck.rb - RUBY_HEAPPROF=memcheck=1: what is left of malloc's blocks when all that is Ruby's has been freed. What
# the program says of it is in ../memcheck.

require_relative "lib/heapprof_test"

class TestHeapProfMemcheck < Test::Unit::TestCase
  include HeapProfTest

  # A row of the file: blocks, bytes, blocks and bytes it leads to; its labels; its frames, the innermost first.
  Row = Struct.new(:values, :labels, :frames)

  def test_the_file_has_what_is_left_with_stacks_and_who_asked
    left = check(<<~RUBY)
      require "-test-/heapprof_leak"
      def forget = HeapProfLeak.call
      3.times { forget }
    RUBY
    lost = left.select { |row| row.labels["leak"] == "definite" }
    assert_equal 1, lost.size, left.inspect
    assert_equal [3, 0, 0], lost[0].values.values_at(0, 2, 3)
    assert_operator lost[0].values[1], :>=, 3 * 1024
    assert_equal({ "class" => "[heapprof_leak.so]", "caller" => "leak_call (heapprof_leak.so)", "leak" => "definite",
                   "of" => "extension" }, lost[0].labels)
    assert_equal ["HeapProfLeak.call", "Object#forget", "block in <main>", "Integer#times", "<main>"], lost[0].frames
  end

  def test_nothing_is_lost_of_a_program_that_loses_nothing
    left = check(<<~RUBY)
      require "json"
      KEPT = Array.new(1000) { |i| { "a" => i.to_s * 50 } }
      JSON.parse(JSON.generate(KEPT))
      Thread.new { Fiber.new { $last = "x" * 10_000 }.resume }.join
      ObjectSpace::WeakMap.new[KEPT] = KEPT
      define_method(:made) { eval("1 + 1") }
    RUBY
    assert_empty left.reject { |row| row.labels["leak"] == "reachable" }
    assert_empty left.reject { |row| row.labels["of"] == "core" }
  end

  def test_each_process_has_a_file_of_its_own
    in_directory do
      ran = run_ruby("--disable-gems", "-e", "fork { }; Process.wait", heapprof: "memcheck=1,out=%p.pb.gz")
      assert_clean ran
      assert_equal 2, Dir["*.pb.gz"].size
    end
  end

  def test_it_is_written_however_the_program_ends_but_by_exit!
    { "exit 3" => 1, "raise 'oops'" => 1, "Process.kill(:TERM, $$); sleep" => 1, "exit!" => 0 }.each do |script, files|
      in_directory do
        run_ruby("--disable-gems", "-e", script, heapprof: "memcheck=1,out=left.pb.gz")
        assert_equal files, Dir["*"].size, script
      end
    end
  end

  def test_the_profiler_is_off_then_and_cannot_be_started_again
    in_directory do
      script = <<~RUBY
        at_exit { p ObjectSpace::HeapProfile.running? }
        ObjectSpace.define_finalizer("".dup, proc do
          p ObjectSpace::HeapProfile.running?
          ObjectSpace::HeapProfile.start
        rescue => error
          puts error.class
        end)
      RUBY
      ran = run_ruby("--disable-gems", "-e", script, heapprof: "memcheck=1,out=left.pb.gz")
      assert_equal "true\nfalse\nRuntimeError\n", ran.out
    end
  end

  # All objects are sampled, too: the tables grow by mremap while a sample is entered.
  def test_tables_that_grow_are_no_blocks
    in_directory do
      ran = run_ruby("--disable-gems", "-e", <<~'RUBY', heapprof: "memcheck=1,out=%p.pb.gz,interval=1,memory=1g")
        calls = (1..3000).map { |i| eval("-> { 'a#{i}'.dup }") }
        2.times { calls.each(&:call); GC.start }
        puts "ok"
      RUBY
      assert_equal ["ok\n", ""], [ran.out, ran.err]
    end
  end

  def test_where_samples_had_to_be_thinned_nothing_is_decided
    in_directory do
      script = "A = Array.new(100_000) { |i| \"%0700d\" % i }"
      ran = run_ruby("--disable-gems", "-e", script, heapprof: "memcheck=1,memory=8m,out=left.pb.gz")
      assert_one_line(/fewer samples than were asked for: one every \d+ bytes allocated, because memory=\d+ was full/, ran.err)
      comments = pprof("-raw", "left.pb.gz").scan(/^Comment: (.*)/).flatten
      assert_includes comments, "memcheck: not decided"
    end
  end

  private

  def check(script)
    rows = nil
    profile_script(script, settings: "memcheck=1,seed=1") do |file|
      text = pprof("-raw", file)
      assert_match(/^Comment: memcheck: decided$/, text)
      rows = rows_of(text)
    end
    rows
  end

  def rows_of(text)
    names = text[/^Locations\n(.*?)^Mappings/m, 1].scan(/^ *(\d+): 0x0 M=1 (.*) \S*:\d+ s=\d+\(\)$/).to_h
    text[/^Samples:\n.*?\n(.*?)^Locations/m, 1].scan(/^([ \d]+): ([\d ]+)\n +(.*)$/).map do |values, stack, labels|
      Row.new(values.split.map(&:to_i), labels.scan(/(\w+):\[(.*?)\](?= \w+:\[|$)/).to_h, stack.split.map { |number| names[number] })
    end
  end
end
