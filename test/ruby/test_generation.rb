# frozen_string_literal: true

# test_generation.rb - the number by which a reader outside knows that what it keeps by addresses of code is
# void (vm/generation.h): read here as it is there, by the descriptor.

require_relative "lib/heapprof_test"

class TestHeapProfGeneration < Test::Unit::TestCase
  include HeapProfTest

  GENERATION = <<~'RUBY'
    require "fiddle"

    # What a global is now, by its entry in this process's own descriptor.
    def generation
      descriptor = Fiddle::Handle::DEFAULT["ruby_vm_descriptor"]
      _, _, _, begins, size, count = Fiddle::Pointer.new(descriptor)[0, 32].unpack("a16SSLLL")
      entries = Fiddle::Pointer.new(descriptor + begins)[0, size * count]
      address = count.times.filter_map do |i|
        name, kind, _, _, number = entries.unpack("a48SSLq", offset: size * i)
        number if kind == 3 && name.delete("\0") == "ruby_vm_code_generation"
      end
      assert_equal 1, address.size
      Fiddle::Pointer.new(address[0])[0, 8].unpack1("Q")
    end

    # Beneath frames that are gone then, so that nothing on the machine's stack is of them.
    def deep(levels, &block)
      levels == 0 ? block.call : deep(levels - 1, &block)
    end
    generation # Fiddle's own code is there
  RUBY

  def test_code_that_is_freed_is_counted
    in_child(<<~RUBY)
      #{GENERATION}
      GC.start
      before = generation
      deep(20) { 100.times { |i| eval("proc { \#{i} }.call") } }
      GC.start
      assert_operator generation, :>=, before + 150, "two iseqs each"
    RUBY
  end

  def test_methods_that_are_freed_are_counted
    in_child(<<~RUBY)
      #{GENERATION}
      GC.start
      before = generation
      deep(20) { 100.times { Class.new { attr_reader :one, :two } } }
      GC.start
      assert_operator generation, :>=, before + 150, "two methods each"
    RUBY
  end

  def test_nothing_is_counted_while_nothing_is_freed
    in_child(<<~RUBY)
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
