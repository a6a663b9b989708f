# frozen_string_literal: true

# test_valgrind.rb - memory as valgrind sees it: with RUBY_FREE_AT_EXIT=1 the profiler leaves no
# block behind, and nothing of ours reads what is not ours or was never written.
#
# MRI's own collector does both: it marks the machine stack as it finds it. So what counts is a
# record with one of our functions in its stack, and no GC may run beneath one of them.

require_relative "lib/heapprof_test"

class TestHeapProfValgrind < Test::Unit::TestCase
  include HeapProfTest

  SCRIPT = <<~'RUBY'
    HeapProfile = ObjectSpace::HeapProfile
    class Item; end
    def make(count) = Array.new(count) { [Item.new, "x" * 100] }
    def read = HeapProfile.snapshot.each { |sample| sample.frames }

    kept = make(300)
    Class.new { def self.make_more = make(30) }.make_more
    Thread.new { make(50) }.join
    Fiber.new { make(20) }.resume
    GC.start
    read.write("a.pb.gz")
    read.write(File.open(File::NULL, "w"))
    HeapProfile.allocation_stack(kept[0][0])
    GC.compact
    begin
      HeapProfile.start
    rescue RuntimeError
      HeapProfile.stop
    end
    HeapProfile.start(interval: 100, depth: 3, memory: 1 << 20)
    eval((0...200).map { |i| "def method_#{i} = make(5); method_#{i}" }.join("\n"))
    GC.start
    held = read
    child = fork { exit! } # leaves behind what there is: so we know that valgrind sees our blocks
    Process.wait
    puts $$, child
    HeapProfile.stop
    HeapProfile.start(interval: 1)
    make(10)
  RUBY

  Record = Struct.new(:what, :stack) do
    def leak? = what.match?(/\d+ bytes? in [\d,]+ blocks?/)
    def ours? = stack.any? { |line| line.include?("heapprof") }
    def to_s = [what, *stack].join("\n")
  end

  # The errors and the blocks left that a log has, each with the stack of its first place.
  def records(log)
    paragraphs = File.read(log).gsub(/^==\d+== ?/, "").split(/^\s*\n/)
    paragraphs.filter_map do |paragraph|
      what, *stack = paragraph.lines(chomp: true)
      Record.new(what, stack.take_while { |line| line.match?(/\A +(at|by) 0x/) }) if stack.first&.match?(/\A +at 0x/)
    end
  end

  def test_nothing_is_left_and_nothing_is_read_that_was_not_written
    omit "a debug build takes too long" if DEBUG_BUILD
    in_directory do
      path = write_file("script.rb", SCRIPT)
      ran = under_valgrind(path)
      assert ran.status.success?, ran.err
      assert_operator File.size("exit.pb.gz"), :>, 0
      parent, child = ran.out.split.map { |pid| records("#{pid}.log").select(&:ours?) }
      assert_empty parent, parent.join("\n\n")
      left, errors = child.partition(&:leak?)
      assert_empty errors, errors.join("\n\n")
      assert_not_empty left, "valgrind does not see our blocks"
    end
  end

  def under_valgrind(path)
    command = ["valgrind", "--leak-check=full", "--show-leak-kinds=all", "--num-callers=100", "--log-file=%p.log",
               EnvUtil.rubybin, "--disable-gems", path]
    env = clean("RUBY_HEAPPROF" => "interval=1,gc=0,out=exit.pb.gz", "RUBY_FREE_AT_EXIT" => "1")
    Ran.new(*Open3.capture3(env, *command, stdin_data: ""))
  rescue Errno::ENOENT
    flunk "valgrind not found: install the Debian package valgrind"
  end
end
