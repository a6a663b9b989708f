# frozen_string_literal: true
#
# test_snapshot.rb - heapprof snapshot: the heap profile of another process is what that process would take itself.

require_relative "lib/attached"

class TestHeapprofSnapshot < Test::Unit::TestCase
  include Attached

  # What is kept, and what has died; in names that are nobody else's.
  WORK = <<~'RUBY'
    class Kept; end
    class Dead; end
    module Shop
      def self.keep(n) = n.times.map { Kept.new }
      def self.waste(n) = n.times { Dead.new }
      def self.text(n) = n.times.map { |i| "x" * (1000 + i) }
    end
    $kept = [Shop.keep(5_000), Shop.text(500)]
    Shop.waste(5_000)
    1000.times { Array.new(10) } # so that no object of Shop's is just being made
  RUBY

  # Both profiles of one moment: the process's own, and ours, taken while it waits.
  def both(script, *arguments, settings: "interval=256")
    in_directory do |directory|
      own = "#{directory}/own.pb.gz"
      script += <<~RUBY
        $stdin.gets if $ready.call
        ObjectSpace::HeapProfile.snapshot.write(#{own.dump})
        $stdout.syswrite("written\\n")
        $stdin.read
      RUBY
      beside(script, *arguments, env: { "RUBY_HEAPPROF" => "#{settings},out=" }) do |pid, input, output|
        sleep 0.1 # it waits for us now
        ran = heapprof("snapshot", pid, "-o", "outside.pb.gz")
        assert_equal 0, ran.status, ran.err
        assert_match(/\Aheapprof snapshot: wrote .*outside.pb.gz: \d+ samples alive/, ran.err)
        input.puts
        assert_equal "written\n", output.gets
        yield profile("outside.pb.gz"), profile(own), pid
      end
    end
  end

  # Values by class and stack.
  def profile(file)
    parsed = JSON.parse(heapprof!("convert", file, "--to=json").out)
    functions, locations = parsed["functions"], parsed["locations"]
    rows = {}
    parsed["samples"].each do |sample|
      stack = sample["locations"].map { |at| locations[at]["lines"].map { |number, line| [functions[number]["name"], line] } }
      rows[[stack, sample["labels"]]] = sample["values"]
    end
    [rows, parsed["sample_types"], parsed["comments"]]
  end

  # Values are rounded so that all of them add up, so each may be one more or less where others have come.
  def assert_same_rows(own, outside)
    expected, got = of_the_script(own[0]), of_the_script(outside[0])
    assert_equal expected.keys.sort_by(&:inspect), got.keys.sort_by(&:inspect)
    expected.each { |key, values| values.zip(got[key]) { |value, other| assert_in_delta value, other, 1, key.inspect } }
  end

  # Of those that the script is about; the snapshot itself allocates.
  def of_the_script(rows)
    rows.select { |(stack, _), _| stack.flatten(1).any? { |name, _| name.to_s.start_with?("Shop.") } }
  end

  def test_it_is_the_profile_that_the_process_takes
    ["", "GC.start\n"].each do |last|
      both(WORK + last) do |outside, own, pid|
        assert_equal own[1], outside[1]
        assert_same_rows own, outside
        assert_operator of_the_script(own[0]).size, :>, 3
        assert_includes outside[2], "pid: #{pid}"
        assert_includes outside[2], "interval: 256 bytes"
      end
    end
  end

  def test_every_object
    both(WORK, settings: "interval=1") do |outside, own, _|
      assert_same_rows own, outside
    end
  end

  # Dead objects that a lazy sweep has not come to are in neither.
  def test_in_the_midst_of_a_sweep
    script = WORK + "GC.start(immediate_sweep: false)\n"
    both(script, settings: "interval=64") do |outside, own, _|
      assert_same_rows own, outside
    end
  end

  def test_when_the_budget_has_been_used_up
    script = WORK + "$more = 20_000.times.map { |i| Object.const_set(%(C\#{i}), Class.new).new }\n"
    both(script, settings: "interval=1,memory=2m") do |outside, own, _|
      assert_same_rows own, outside
    end
  end

  # A process that never stops allocating: each snapshot is one that existed.
  def test_a_process_that_allocates_all_the_time
    script = <<~'RUBY'
      class Pair; end
      def pairs = loop { $pairs = [Pair.new, Pair.new] }
      20_000.times { Pair.new }
      $ready.call
      pairs
    RUBY
    in_directory do
      beside(script, env: { "RUBY_HEAPPROF" => "interval=1,out=" }) do |pid|
        5.times do |i|
          ran = heapprof("snapshot", pid, "-o", "s#{i}.pb.gz")
          assert_equal 0, ran.status, ran.err
          top = heapprof!("top", "s#{i}.pb.gz", "--by=alloc_objects", "--group=class", "--json").json["rows"]
          assert_includes top.first(10).map { |row| row["what"] }, "Pair"
        end
      end
    end
  end

  def test_one_after_the_other
    in_directory do
      beside("class Leak; end\n$leak = []\n$ready.call\nloop { 100.times { $leak << Leak.new }; sleep 0.05 }",
             env: { "RUBY_HEAPPROF" => "interval=1,out=" }) do |pid|
        recorder = Process.spawn(PROGRAM, "snapshot", pid.to_s, "--every", "0.3", "--keep", "2", "-o", "leak-%n.pb.gz", err: File::NULL)
        sleep 2
        Process.kill(:INT, recorder)
        Process.wait(recorder)
        assert_equal 0, $?.exitstatus
        files = Dir["leak-*.pb.gz"].sort_by { |file| file[/\d+/].to_i }
        assert_equal 2, files.size
        ran = heapprof("snapshot", pid, "-o", "last.pb.gz", "--diff", files.first)
        assert_equal 0, ran.status, ran.err
        assert_match "Leak", ran.out
      end
    end
  end

  def test_a_process_that_is_not_profiled
    beside("$ready.call; sleep") do |pid|
      assert_refused 1, /nothing is profiled there: start it with RUBY_HEAPPROF=1/, "snapshot", pid
    end
  end

  def test_wrong_options
    assert_refused 2, /expected a PID/, "snapshot"
    assert_refused 2, /--every=0/, "snapshot", Process.pid, "--every=0"
    assert_refused 1, /there is no such process/, "snapshot", 4194304
    beside("$ready.call; sleep", env: { "RUBY_HEAPPROF" => "1,out=" }) do |pid|
      assert_refused 2, /--output=%q/, "snapshot", pid, "-o", "%q"
      assert_refused 1, /No such file/, "snapshot", pid, "-o", "no/such/file.pb.gz"
    end
  end
end
