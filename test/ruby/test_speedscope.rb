# frozen_string_literal: true

# test_speedscope.rb - speedscope opens every kind of file (scripts/speedscope). What the other tests
# write is opened by make check-viewers.

require_relative "lib/heapprof_test"

class TestHeapProfSpeedscope < Test::Unit::TestCase
  include HeapProfTest

  SPEEDSCOPE = File.expand_path("../../scripts/speedscope", __dir__)

  # Strings that die, a buffer that nobody has touched, threads' stacks: where values were negative.
  PROGRAM = <<~'RUBY'
    class Item; end
    HeapProfile = ObjectSpace::HeapProfile
    $kept = [Array.new(3000) { [Item.new, "x" * 1000] }, String.new(capacity: 100_000_000)]
    Array.new(3000) { "y" * 1000 }
    $threads = Array.new(20) { Thread.new { Thread.stop } }
    Thread.pass until $threads.all?(&:stop?)
    HeapProfile.snapshot.write("plain.pb.gz")
    HeapProfile.snapshot(gc: true, native_leaks: true, rss: true).write("all.pb.gz")
    Array.new(2000) { |i| eval("def m#{i} = [#{i}]\n" * 5); send("m#{i}") } if ARGV[0] == "fold"
  RUBY

  # The weights it shows, by name of the file.
  def open_in_speedscope(paths)
    out, err, status = Open3.capture3(SPEEDSCOPE, *paths)
    assert status.success?, err
    out.lines.to_h { |line| line.split.then { |name, weight| [name, weight.to_i] } }
  end

  def assert_opens
    paths = Dir["*.pb.gz"].sort
    weights = paths.to_h { |path| [path, read_profile(path).samples.sum(&:inuse_space)] }
    assert_equal weights, open_in_speedscope(paths)
    assert weights.values.all?(&:positive?), weights.inspect
  end

  %w[interval=1 interval=512k interval=4k,rss=0,owners=0 interval=16k,gc=0 interval=4k,malloc=all].each do |settings|
    define_method("test_opens_files_of_#{settings}") do
      profile_script(PROGRAM, settings: settings) { assert_opens }
    end
  end

  def test_opens_a_file_of_folded_sites
    in_directory do |directory|
      path = write_file("script.rb", PROGRAM)
      ran = run_ruby("--disable-gems", path, "fold", heapprof: "interval=1,memory=1m,out=#{directory}/exit.pb.gz")
      assert ran.status.success?, ran.err
      assert_operator read_profile("exit.pb.gz").comments.join[/folded sites: (\d+)/, 1].to_i, :>, 0
      assert_opens
    end
  end

  # It has no way to show what shrank: the README says so.
  def test_refuses_a_difference_that_shrank
    in_directory do
      ran = run_ruby("--disable-gems", "-e", <<~'RUBY')
        HeapProfile = ObjectSpace::HeapProfile
        HeapProfile.start(interval: 1)
        $kept = "x" * 5000
        before = HeapProfile.snapshot(gc: true)
        $kept = nil
        (HeapProfile.snapshot(gc: true) - before).write("difference.pb.gz")
      RUBY
      assert_clean ran
      _, err, status = Open3.capture3(SPEEDSCOPE, "difference.pb.gz")
      assert_not_predicate status, :success?
      assert_match(/positive weights/, err)
    end
  end
end
