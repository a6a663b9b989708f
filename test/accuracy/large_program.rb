# frozen_string_literal: true

# large_program.rb - the process that `large` looks at, and how far its estimates may be off.
#
# The string is asked for in doublings, eight pieces that stand at one line. Of an array all is asked
# for at once; it is no sample once in e^160 times. The small objects are known by their slots.

require_relative "../ruby/lib/estimator"

module Accuracy
  module Large
    MB = 1 << 20
    INTERVAL = 65_536
    FIRST = 100 * MB / 128
    PIECES = [FIRST, *Array.new(7) { |i| FIRST << i }].freeze
    ARRAYS = Array.new(10, 10 * MB).freeze
    SMALL = 1_000_000

    # unit: of the numbers, bytes or objects.
    Kind = Struct.new(:name, :unit, :sigma)

    def self.sigma_of_bytes(pieces)
      Math.sqrt(pieces.sum { |bytes| (bytes * Estimator.sigma(1, bytes, INTERVAL))**2 })
    end

    KINDS = [
      Kind.new("one 100 MB string", "B", sigma_of_bytes(PIECES)),
      Kind.new("ten 10 MB arrays", "B", sigma_of_bytes(ARRAYS)),
      Kind.new("a million small objects", "objects", Estimator.sigma(SMALL, GC.stat_heap(0, :slot_size), INTERVAL))
    ].freeze

    class Small; end

    WORDS = ("large" * 13_000).freeze

    module_function

    def string
      string = String.new(capacity: FIRST)
      string << WORDS while string.bytesize < 100 * MB - WORDS.size
      string
    end

    def arrays = ARRAYS.map { |bytes| Array.new(bytes / 8) }

    def small = Array.new(SMALL) { Small.new }

    # The true number and the estimate of each kind.
    def keep(seed)
      require "-test-/heapprof_blocks"
      require_relative "../ruby/lib/child"
      HeapProfile.start(seed: seed)
      kept = [string, arrays, small]
      rows = HeapProfile.snapshot(gc: true)
      [[held(kept[0]), bytes(rows, :string)],
       [kept[1].sum { |array| held(array) }, bytes(rows, :arrays)],
       [kept[2].size, total(rows, class_name: "Accuracy::Large::Small")]]
    end

    def held(object) = HeapProfBlocks.bytes(HeapProfBlocks.of(object))

    def bytes(rows, label) = total(rows, :inuse_malloc_space, label: "Accuracy::Large.#{label}")
  end
end
