# frozen_string_literal: true

# graph_bytes.rb - dumps of objects for the tests of `heapprof graph`, record by record as doc/graph-format.md has them;
# nothing is shared with what writes or reads them.
#
#   graph = GraphBytes.new
#   cache = graph.object("Hash", 160, tail: [[graph.symbol("a"), order]])      references to objects that come later: graph.later
#   graph.root(:GLOBAL, "$cache", cache)

require "zlib"

class GraphBytes
  PAGE = 0x7f0000010000
  SLOT = 40
  LABELS = %i[UNLABELLED IVAR CVAR CONSTANT MEMBER LOCAL FIELD OFFSET INDEX KEY VALUE STACK WEAK CLASS GLOBAL C_GLOBAL ROOT].each_with_index.to_h
  BLOCKS = { process: 1, strings: 2, stacks: 3, layouts: 4, roots: 5, objects: 6, moves: 7, footer: 8 }.freeze
  TAILS = { nil => 0, :indexed => 1, :paired => 2 }.freeze

  Immediate = Struct.new(:kind, :bits)

  def initialize(page: PAGE)
    @blocks = BLOCKS.keys.to_h { |name| [name, "".b] }
    @strings = {}
    @layouts = {}
    @stacks = 0
    @page = page
    @objects = [] # address, and a block that makes its record
    @reserved = 0
  end

  def number(value)
    bytes = "".b
    while value >= 128
      bytes << (value & 127 | 128)
      value >>= 7
    end
    bytes << value
  end

  def zigzag(value) = value.negative? ? -2 * value - 1 : 2 * value

  def string(text)
    return 0 if text.nil? || text.empty?
    @strings[text] ||= begin
      @blocks[:strings] << number(text.bytesize) << text.b
      @strings.size + 1
    end
  end

  def fact(key, value, block = :process)
    @blocks[block] << [key, value].map { |text| number(text.bytesize) + text.b }.join
  end

  # "/cart.rb:12 Cart#load", the innermost first; of a method in C ":0 Array#map".
  def stack(*frames)
    frames.reverse.inject(0) do |caller, frame|
      file, line, method = frame.match(/\A(.*):(\d+) (.*)\z/).captures
      @blocks[:stacks] << number(caller) << number(string(method)) << number(string(file)) << number(line.to_i)
      @stacks += 1
    end
  end

  def root(label, name, address, category: "globals")
    @blocks[:roots] << number(LABELS.fetch(label)) << number(string(name)) << number(string(category)) << number(address / 8)
  end

  def move(from, to) = @blocks[:moves] << number(from / 8) << number(to / 8)

  def symbol(text) = Immediate.new(2, string(text))
  def integer(value) = Immediate.new(1, zigzag(value))

  # The address of an object that will be made with at:.
  def later
    @reserved += 1
    @page + (@reserved - 1) / 1600 * 0x10000 + (@reserved - 1) % 1600 * SLOT
  end

  # class_of: the class's address. labels: { [:IVAR, "@a"] => address or immediate }; others the same, of a layout that lists
  # none; tail: references, or pairs.
  def object(class_name, bytes = SLOT, type: "T_OBJECT", at: later, class_of: 0, labels: {}, others: {}, tail: nil, bits: 0,
             text: nil, stack: nil, weight: 1, length: nil, hash: nil, doing: nil)
    kind = tail && (tail.first.is_a?(Array) ? :paired : :indexed)
    layout = layout_of(type, class_of, class_name, labels.keys, kind, others.any?)
    bits |= (bytes > SLOT ? 4 : 0) | (length ? 8 : 0) | (text ? 16 : 0) | (stack ? 32 : 0) | (hash ? 1024 : 0) | (doing ? 4096 : 0)
    record = number(layout) + number(bits)
    record << number(bytes - SLOT) if bytes > SLOT
    record << number(length) if length
    record << number(string(text)) if text
    record << number(stack) << number((weight * 1000).round) if stack
    record << number(string(doing)) if doing
    record << [hash].pack("Q<") if hash
    labels.each_value { |to| record << reference(at, to) }
    record << number(tail.size) << tail.flatten.map { |to| reference(at, to) }.join if tail
    if others.any?
      record << number(others.size)
      others.each { |(label, name), to| record << number(LABELS.fetch(label)) << number(string(name)) << reference(at, to) }
    end
    @objects << [at, record]
    at
  end

  # complete: false leaves the footer out.
  def bytes(complete: true)
    put_objects
    kinds = complete ? BLOCKS : BLOCKS.except(:footer)
    "\x89RBGRAF\n".b + [1].pack("V") + kinds.map { |name, kind| blocks(name, kind) }.join
  end

  private

  def blocks(name, kind)
    bytes = @blocks[name]
    return "" if bytes.empty? && name != :footer
    packed = Zlib.deflate(bytes, 1)
    [kind, 1, 0, bytes.bytesize, packed.bytesize, Zlib.crc32(packed)].pack("CCvVVV") + packed
  end

  def layout_of(type, class_of, class_name, labels, tail, others)
    @layouts[[type, class_of, class_name, labels, tail, others]] ||= begin
      names = labels.map { |label, name| number(LABELS.fetch(label)) + number(string(name)) }.join
      @blocks[:layouts] << number(string(type)) << number(class_of / 8) << number(string(class_name)) << number(others ? 1 : 0) <<
        number(TAILS.fetch(tail)) << number(labels.size) << names
      @layouts.size
    end
  end

  def reference(from, to)
    to.is_a?(Immediate) ? number((to.bits << 3 | to.kind) << 1 | 1) : number(zigzag((to - from) / 8) << 1)
  end

  def put_objects
    @objects.sort_by(&:first).chunk_while { |(one, _), (other, _)| one >> 16 == other >> 16 }.each do |page|
      base = page.first.first & ~0xffff
      nexts = [base] + page.map { |at, _| at + SLOT }
      records = page.each_with_index.map { |(at, record), i| number((at - nexts[i]) / SLOT) + record }
      @blocks[:objects] << number(base / 8) << number(SLOT) << number(page.size) << records.join
    end
  end
end

# For tests with a method `shop` that makes a dump: its file.
module GraphShop
  FILE = "shop.graph"

  def in_shop
    in_directory do
      write(FILE, shop.bytes)
      yield
    end
  end
end
