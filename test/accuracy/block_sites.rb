# frozen_string_literal: true

# block_sites.rb - who asks for memory, in the programs: sites by name.
#
#     malloc_100       blocks of one size: asked for in one way, freed in one way
#     string           grows, step by step
#     shrunk_string    and then gives back, and grows again

require "-test-/heapprof_blocks"
require "-test-/heapprof_plain"
require_relative "../ruby/lib/child"

module Accuracy
  # Takes a thing to the next step. What the VM asks for below these methods has other callers.
  module Ask
    WORDS = ("word" * 16).freeze

    module_function

    def chain(address, bytes)
      address ? HeapProfBlocks.realloc(address, bytes) : HeapProfBlocks.malloc(bytes)
    end

    def plain_chain(address, bytes)
      HeapProfPlain.realloc(address, bytes)
    end

    def string(string, bytes)
      string ||= +""
      return HeapProfBlocks.resize(string, bytes) if bytes < string.bytesize
      string << WORDS while string.bytesize < bytes
      string
    end

    def array(array, size)
      array ||= []
      array.push(nil) while array.size < size
      array.pop while array.size > size
      array
    end

    def hash(hash, size)
      hash ||= {}
      hash[hash.size] = true while hash.size < size
      hash.size > size ? hash.keep_if { |key,| key < size }.rehash : hash
    end

    SIZES = { "16" => 16, "100" => 100, "1000" => 1000, "8000" => 8000,
              "64k" => 1 << 16, "1M" => 1 << 20, "64M" => 64 << 20 }.freeze
    KINDS = { malloc: "HeapProfBlocks.malloc", calloc: "HeapProfBlocks.calloc", passed: "HeapProfBlocks.malloc",
              held: "HeapProfBlocks::Holder.new", plain: "HeapProfPlain.malloc" }.freeze

    KINDS.to_a.product(SIZES.to_a) do |(kind, function), (size, bytes)|
      module_eval("def self.#{kind}_#{size}(_, _) = #{function}(#{bytes})", __FILE__, __LINE__)
    end
  end

  # Which method of Ask asks, in which steps; which C functions do so there; how many blocks the thing
  # has, and whether they move as they grow or new ones are made; what frees it, or nil: the collector.
  BlockSite = Struct.new(:name, :method, :steps, :caller, :blocks, :moves, :free) do
    # Takes the thing to the next step; nil: makes it.
    def ask(thing, step) = Ask.public_send(method, thing, step)

    def drop(thing)
      extension, function = free
      extension&.public_send(function, thing)
    end

    # [address, bytes] of one of its blocks.
    def block(thing, number)
      address = address(thing, number)
      [address, address == 0 ? 0 : HeapProfBlocks.bytes(address)]
    end

    # [allocated, in use] bytes of a profile's rows.
    def total(rows)
      mine = rows.select do |row|
        caller.match?(row.caller) && row.frames.any? { |frame| frame.label == "Accuracy::Ask.#{method}" }
      end
      bytes(mine)
    end

    # The same of what its C functions asked for at no stack.
    def without_stack(rows)
      bytes(rows.select { |row| caller.match?(row.caller) && row.frames.empty? })
    end

    # As the table says it.
    def size = steps.size == 1 ? name[/[^_]+\z/] : "grows"

    private

    def bytes(rows) = [rows.sum(&:alloc_malloc_space), rows.sum(&:inuse_malloc_space)]

    def address(thing, number)
      return thing if Integer === thing
      number == 0 ? HeapProfBlocks.of(thing) : HeapProfBlocks.bins(thing)
    end
  end

  # Ractors read these, too.
  module BlockSites
    EXTENSION = /\(heapprof_(blocks|plain)\.so\)\z/

    FREE = [HeapProfBlocks, :free].freeze
    FREED = Ractor.make_shareable({
      malloc: FREE, calloc: FREE, passed: [HeapProfBlocks, :start_free], held: nil,
      plain: [HeapProfPlain, :free]
    })

    BYTES = [100, 300, 700, 1500, 3000, 7000].freeze
    GROWING = Ractor.make_shareable({
      chain: [BYTES, EXTENSION, 1, true, FREE],
      large_chain: [[1 << 20, 8 << 20, 64 << 20], EXTENSION, 1, true, FREE],
      plain_chain: [BYTES, EXTENSION, 1, true, [HeapProfPlain, :free]],
      string: [[60, 100, 180, 300, 500, 900, 1600, 3000, 5000], /str_/, 1, true, nil],
      array: [[10, 20, 30, 50, 80, 130, 200, 320, 500, 800], /ary_/, 1, true, nil],
      hash: [[10, 20, 40, 80, 160, 320], /st_init_existing_table_with_size/, 2, false, nil]
    })

    module_function

    def named(name)
      kind = name.to_s.delete_prefix("shrunk_").to_sym
      return one_size(name) unless GROWING.key?(kind)
      steps, *rest = GROWING[kind]
      BlockSite.new(name, kind.to_s.delete_prefix("large_"), kind == name ? steps : shrunk(steps), *rest)
    end

    def one_size(name)
      BlockSite.new(name, name.to_s, [0], EXTENSION, 1, true, FREED.fetch(name[/[a-z]+/].to_sym))
    end

    def shrunk(steps) = steps + [steps.last * 2 / 5, steps.last / 2 + 1]
  end
end
