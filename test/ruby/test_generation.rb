# frozen_string_literal: true

# test_generation.rb - the number by which a reader outside knows that what it keeps by addresses of code is
# void (vm/names/generation.h): read here as it is there, by the descriptor.

require_relative "lib/heapprof_test"

class TestHeapProfGeneration < Test::Unit::TestCase
  include HeapProfTest

  DESCRIPTOR = File.join(__dir__, "lib/descriptor.rb")
  GENERATION = <<~RUBY
    def generation = Descriptor.value("ruby_vm_code_generation")

    # Beneath frames that are gone then, so that nothing on the machine's stack is of them.
    def deep(levels, &block)
      levels == 0 ? block.call : deep(levels - 1, &block)
    end
  RUBY

  def test_code_that_is_freed_is_counted
    in_child(<<~RUBY, "-r#{DESCRIPTOR}")
      #{GENERATION}
      GC.start
      before = generation
      deep(20) { 100.times { |i| eval("proc { \#{i} }.call") } }
      GC.start
      assert_operator generation, :>=, before + 150, "two iseqs each"
    RUBY
  end

  def test_methods_that_are_freed_are_counted
    in_child(<<~RUBY, "-r#{DESCRIPTOR}")
      #{GENERATION}
      GC.start
      before = generation
      deep(20) { 100.times { Class.new { attr_reader :one, :two } } }
      GC.start
      assert_operator generation, :>=, before + 150, "two methods each"
    RUBY
  end

  def test_nothing_is_counted_while_nothing_is_freed
    in_child(<<~RUBY, "-r#{DESCRIPTOR}")
      #{GENERATION}
      GC.start
      GC.disable
      before = generation
      100.times { |i| eval("proc { \#{i} }.call") }
      100.times { Class.new { attr_reader :one } }
      assert_equal before, generation
    RUBY
  end
end
