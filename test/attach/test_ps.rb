# frozen_string_literal: true
#
# test_ps.rb - heapprof ps: which Rubies there are, and what each is doing.

require_relative "lib/attached"

class TestHeapprofPs < Test::Unit::TestCase
  include Attached

  def test_ps_says_what_each_ruby_is_doing
    name = "shop#{Process.pid}"
    beside("$0 = #{name.dump}\nThread.new { sleep }\ndef spin = ($ready.call; loop { 1 + 1 })\nspin", env: { "RUBY_HEAPPROF" => "1,out=" }) do |pid|
      threads_until(pid) { |all| labels(all.first).include?("Object#spin") }
      row = ps.find { |each| each["pid"] == pid }
      assert_equal [name, name, 2, true, nil], row.values_at("title", "program", "threads", "profiled", "error")
      assert_match(/-e:\d+ in '(block in )?Object#spin'|'Kernel#loop'/, row["now"])
      assert_include 100_000..row["rss_bytes"], row["live_heap_bytes"]
      assert_match(/^ +#{pid} +2 .* yes  .*#{name}$/, heapprof("ps").out)
    end
    beside("$0 = #{name.dump}\n$ready.call; sleep") do |pid|
      threads_until(pid) { |all| labels(all.first).first == "Kernel#sleep" }
      row = ps.find { |each| each["pid"] == pid }
      assert_equal [1, false, "idle"], row.values_at("threads", "profiled", "now")
    end
  end

  # As GC.stat_heap has it, and what has been allocated since.
  def test_ps_has_the_live_heap_of_the_collector
    script = <<~'RUBY'
      $kept = Array.new(100_000) { Object.new }
      GC.start
      GC.disable
      heaps = GC.stat_heap
      live = heaps.sum { |_, heap| (heap[:total_allocated_objects] - heap[:total_freed_objects]) * heap[:slot_size] }
      $stdout.syswrite("ready\n#{live}\n")
      sleep
    RUBY
    beside(script) do |pid, _, output|
      live = output.gets.to_i
      row = ps.find { |each| each["pid"] == pid }
      assert_include live..live + 100_000, row["live_heap_bytes"]
    end
  end

  def test_ps_lists_the_largest_first_and_fits_the_terminal
    beside("$kept = 'x' * 50_000_000\n$ready.call; sleep") do |large|
      beside("$ready.call; sleep") do |small|
        pids = ps.map { |row| row["pid"] }
        assert_operator pids.index(large), :<, pids.index(small)
        out, = Open3.capture3(ENVIRONMENT.merge("COLUMNS" => "80"), PROGRAM, "ps")
        assert_operator out.lines.map { |line| line.chomp.size }.max, :<=, 80
      end
    end
  end

  def test_ps_says_why_a_process_cannot_be_read
    needs_other_users
    beside("$ready.call; sleep") do |pid|
      out, = Open3.capture3(ENVIRONMENT, "setpriv", "--reuid=65534", "--clear-groups", PROGRAM, "ps", "--json")
      row = JSON.parse(out).find { |each| each["pid"] == pid }
      assert_equal [nil, nil], row.values_at("now", "profiled")
      assert_match(/\Anot permitted: it belongs to user 0/, row["error"])
    end
  end

  private

  # As root there may be processes that nobody may read: that is told.
  def ps
    ran = heapprof("ps", "--json")
    assert_equal 0, ran.status, ran.err
    ran.json
  end
end
