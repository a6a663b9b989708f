# frozen_string_literal: true

# blocks.rb - for the scripts that tests of the allocator's blocks run in child processes: bytes by
# who asked for them, and estimates over many seeds.

require_relative "child"

# The functions of -test-/heapprof_blocks and _plain: what the VM asks for beside them is not theirs.
OF_BLOCKS = /\A(blocks|plain)_\w+ \(heapprof_\1\.so\)\z/

# [allocated, in use] bytes that C functions of that name asked for below a method of main's.
def malloc_bytes(profile, label, caller = OF_BLOCKS)
  rows = rows(profile, label: "Object##{label}").select { |row| row.caller&.match?(caller) }
  [rows.sum(&:alloc_malloc_space), rows.sum(&:inuse_malloc_space)]
end

def snapshot = HeapProfile.snapshot

def in_use(label, caller = OF_BLOCKS) = malloc_bytes(snapshot, label, caller).last

# That many bytes in blocks of one size, at the default interval.
def assert_bytes(bytes, estimate, block, message)
  sigma = block * Estimator.sigma(bytes.fdiv(block), block, 65_536)
  assert_in_delta bytes, estimate, Estimator::SIGMAS * sigma, message
end

INTERVAL = 65_536

# Starts with many seeds; asks for so many blocks of each size, and gives them back. Asked and start
# are of the script's own (block_cases.rb).
def assert_right_on_average(counts)
  counts.each_key { |size| eval("def of_#{size}(count) = Array.new(count) { Asked.malloc(#{size}) }") }
  zs = Hash.new { |hash, size| hash[size] = [] }
  scaled(60).times do |seed|
    start(malloc_interval: INTERVAL, seed: seed)
    counts.each do |size, count|
      blocks = send("of_#{size}", count)
      sizes = blocks.map { |block| Asked.bytes(block) }
      sigma = sizes.max * Estimator.sigma(count, sizes.max, INTERVAL)
      zs[size] << (in_use("of_#{size}") - sizes.sum) / sigma if sigma > 1
      blocks.each { |block| Asked.free(block) }
      assert_equal 0, in_use("of_#{size}")
    end
    HeapProfile.stop
  end
  zs.each do |size, z|
    assert_operator z.sum.abs / z.size, :<=, 3.5 / Math.sqrt(z.size), "mean z of #{size} bytes"
    assert_operator z.map(&:abs).max, :<=, Estimator::SIGMAS, "z of #{size} bytes"
  end
end
