# frozen_string_literal: true

# block_cases.rb - what holds of blocks under each allocator, whoever is asked for them: MRI
# (test_malloc.rb) or the C library (test_interpose.rb).
#
# The SETUP of a class that includes this requires lib/blocks.rb and says what differs:
#
#     Asked                the extension that asks, -test-/heapprof_blocks or -test-/heapprof_plain
#     FUNCTIONS            its functions that return a new block
#     start(**options)     starts the profiler, with every block sampled unless options say less

require_relative "allocators"

module HeapProfBlockCases
  include HeapProfAllocators
  extend HeapProfAllocators::Cases

  under_each_allocator :every_byte_is_there_at_interval_1, <<~'RUBY'
    start
    FUNCTIONS.each do |function|
      eval "def of_#{function}(sizes) = sizes.map { |size| Asked.#{function}(size) }"
      blocks = send("of_#{function}", [0, 1, 16, 100, 4096, 100_000, 1 << 20, 64 << 20])
      bytes = blocks.sum { |block| Asked.bytes(block) }
      place = ["of_#{function}", /\A[a-z]+_#{function} \(heapprof_[a-z]+\.so\)\z/]
      assert_equal [bytes, bytes], malloc_bytes(snapshot, *place)
      blocks.each { |block| Asked.free(block) }
      assert_equal [bytes, 0], malloc_bytes(snapshot, *place)
    end
  RUBY

  under_each_allocator :growth_stands_where_it_was_asked_for_and_shrinking_gives_back, <<~'RUBY'
    start
    def first = Asked.malloc(1000)
    def second(block) = Asked.realloc(block, 300_000)
    def third(block) = Asked.realloc(block, 5_000_000)
    block = first
    sizes = [Asked.bytes(block)]
    block = second(block)
    sizes << Asked.bytes(block)
    block = third(block)
    sizes << Asked.bytes(block)
    assert_equal [sizes[0]] * 2, malloc_bytes(snapshot, :first)
    assert_equal [sizes[1] - sizes[0]] * 2, malloc_bytes(snapshot, :second)
    assert_equal [sizes[2] - sizes[1]] * 2, malloc_bytes(snapshot, :third)
    block = Asked.realloc(block, 200_000)
    assert_equal [sizes[0]] * 2, malloc_bytes(snapshot, :first)
    assert_equal [sizes[1] - sizes[0], Asked.bytes(block) - sizes[0]], malloc_bytes(snapshot, :second)
    assert_equal [sizes[2] - sizes[1], 0], malloc_bytes(snapshot, :third)
    Asked.free(block)
    assert_equal [0, 0, 0], [:first, :second, :third].map { |label| in_use(label) }
  RUBY

  # A block of before the start is not known, but what it grows by is.
  under_each_allocator :growth_of_a_block_of_before_the_start_is_all_that_is_known_of_it, <<~'RUBY'
    block = Asked.malloc(1000)
    size = Asked.bytes(block)
    start
    def grown(block) = Asked.realloc(block, 50_000)
    block = grown(block)
    growth = Asked.bytes(block) - size
    assert_equal [growth, growth], malloc_bytes(snapshot, :grown)
    Asked.free(block)
    assert_equal [growth, 0], malloc_bytes(snapshot, :grown)
  RUBY

  under_each_allocator :freed_by_another_thread, <<~'RUBY'
    start
    def asked = Asked.malloc(5000)
    blocks = Array.new(50) { asked }
    assert_operator in_use(:asked), :>=, 250_000
    blocks.each { |block| Asked.free_in_thread(block) }
    assert_equal 0, in_use(:asked)
  RUBY

  under_each_allocator :child_of_a_fork_keeps_its_blocks_and_frees_its_own, <<~'RUBY'
    start
    def before = Asked.malloc(1000)
    def after = Asked.malloc(3000)
    blocks = [before, before]
    bytes = blocks.map { |block| Asked.bytes(block) } # which may be more than was asked for
    pid = fork do
      Asked.free(blocks[0])
      more = after
      assert_equal [bytes.sum, bytes[1]], malloc_bytes(snapshot, :before)
      assert_equal [Asked.bytes(more)] * 2, malloc_bytes(snapshot, :after)
      Asked.free_in_thread(more)
      assert_equal 0, in_use(:after)
      exit!(true)
    end
    assert_predicate Process.wait2(pid)[1], :success?
    assert_equal [bytes.sum, bytes.sum], malloc_bytes(snapshot, :before)
    assert_equal [0, 0], malloc_bytes(snapshot, :after)
  RUBY

  under_each_allocator :later_run_knows_nothing_of_blocks_of_an_earlier_one, <<~'RUBY'
    def asked(bytes) = Asked.malloc(bytes)
    old = asked(1000)
    start
    first = asked(2000)
    Asked.free(old)
    HeapProfile.stop
    between = asked(3000)
    start
    assert_equal [0, 0], malloc_bytes(snapshot, :asked)
    [first, between].each { |block| Asked.free(block) }
    assert_equal [0, 0], malloc_bytes(snapshot, :asked)
    last = asked(4000)
    assert_equal [Asked.bytes(last)] * 2, malloc_bytes(snapshot, :asked)
  RUBY

  under_each_allocator :blocks_of_before_are_freed_meanwhile_and_after, <<~'RUBY'
    before = Array.new(100) { Asked.malloc(1000) }
    start
    def asked = Array.new(100) { Asked.malloc(1000) }
    meanwhile = asked
    before.each { |block| Asked.free(block) }
    assert_equal meanwhile.sum { |block| Asked.bytes(block) }, in_use(:asked)
    HeapProfile.stop
    meanwhile.each { |block| Asked.free(block) }
    start
    assert_equal 0, in_use(:asked)
  RUBY

  under_each_allocator :estimates_are_right_on_average, <<~'RUBY'
    COUNTS = { 16 => 20_000, 500 => 4000, 8000 => 500, 100_000 => 60, 3_000_000 => 3 }.freeze
    assert_right_on_average COUNTS
  RUBY
end
