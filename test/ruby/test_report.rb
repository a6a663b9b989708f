# frozen_string_literal: true

# test_report.rb - what a profile says as text (vm/report.c): stacks as lines, and the table of report. That it is
# what heapprof says of the file: test/cli/test_in_ruby.rb.

require_relative "lib/heapprof_test"

class TestHeapProfReport < Test::Unit::TestCase
  include HeapProfTest

  SETUP = <<~'RUBY'
    require "stringio"
    class Item; end
    def make(count) = Array.new(count) { Item.new }
    def profile(count = 100)
      HeapProfile.start(interval: 1)
      kept = make(count)
      HeapProfile.snapshot(gc: true, rss: true)
    ensure
      HeapProfile.stop
      kept.clear
    end
  RUBY

  # ---- to_collapsed ----

  def test_to_collapsed_has_a_line_a_stack_with_the_outermost_function_first
    in_child(SETUP + <<~'RUBY')
      profile = profile()
      %i[inuse_space inuse_objects alloc_space alloc_malloc_space rss_space].each do |type|
        text = profile.to_collapsed(type)
        assert_equal [Encoding::UTF_8, true], [text.encoding, text.valid_encoding?]
        sums = text.lines(chomp: true).group_by { |line| line[/\A(.*) \d+\z/, 1] }.transform_values { |lines| lines.sum { |line| line[/\d+\z/].to_i } }
        rows = profile.group_by { |row| row.frames.map(&:label).reverse.join(";") }.transform_values { |alike| alike.sum(&type) }
        assert_equal rows.reject { |stack, value| value.zero? || stack.empty? }, sums.except("[no frame]")
      end
      assert_equal profile.to_collapsed(:inuse_space), profile.to_collapsed
      assert_match(/^<main>;.*;Object#make;.*;Class#new \d+$/, profile.to_collapsed)
    RUBY
  end

  def test_to_collapsed_of_what_is_no_type_raises
    in_child(SETUP + <<~'RUBY')
      assert_raise_with_message(ArgumentError, /nonsense is no sample type/) { profile.to_collapsed(:nonsense) }
      assert_raise(ArgumentError) { profile.to_collapsed("inuse_space") }
    RUBY
  end
end
