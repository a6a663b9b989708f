# frozen_string_literal: true

# heap_graph.rb - reads the file of an object graph, as doc/graph-format.md has it, for tests: all of it at once, and with no mercy.

require "zlib"

class HeapGraphFile
  Layout = Struct.new(:type, :class_address, :class_name, :bits, :tail, :labels)
  Root = Struct.new(:kind, :name, :category, :address)
  Edge = Struct.new(:kind, :name, :to) # to: an address, or [:integer, 1] and the like
  HeapObject = Struct.new(:address, :layout, :slot, :bits, :external, :length, :text, :stack, :weight, :doing, :hash_of, :edges) do
    def type = layout.type
    def class_name = layout.class_name
    def bytes = slot + external.to_i
    def to = edges.filter_map { |edge| edge.to if edge.to.is_a?(Integer) }
    def named(name) = edges.find { |edge| edge.name == name }&.to
  end

  KINDS = %i[unlabelled ivar cvar constant member local field offset index key value stack weak class global c_global root].freeze
  IMMEDIATES = %i[special integer symbol float hidden].freeze
  SPECIALS = [nil, false, true, :undefined, :nothing].freeze
  PROCESS, STRINGS, STACKS, LAYOUTS, ROOTS, OBJECTS, MOVES, FOOTER = *1..8
  EXTERNAL, LENGTH, TEXT, SAMPLED, HASHED, MORE, DOING = 1 << 2, 1 << 3, 1 << 4, 1 << 5, 1 << 10, 1 << 11, 1 << 12

  attr_reader :contents, # of all blocks, as bytes
              :process, :footer, :strings, :stacks, :layouts, :roots, :objects, :moves, :pages

  def self.read(path) = new(File.binread(path))

  def initialize(bytes)
    @strings, @stacks, @layouts, @roots, @objects, @moves = [nil], [nil], [], [], {}, {}
    @process, @footer, @pages, @contents = {}, {}, 0, "".b
    raise "no object graph" unless bytes.start_with?("\x89RBGRAF\n".b) && bytes.unpack1("@8V") == 1
    at = 12
    while at < bytes.bytesize
      kind, encoding, size, packed, crc = bytes.unpack("@#{at}CCx2VVV")
      data = bytes.byteslice(at + 16, packed)
      raise "damaged" unless Zlib.crc32(data) == crc
      data = Zlib::Inflate.inflate(data) if encoding == 1
      raise "wrong size" unless data.bytesize == size
      @contents << data
      block(kind, data)
      at += 16 + packed
    end
    raise "incomplete" unless @last == FOOTER
  end

  # Each object's references that are objects, its class among them.
  def each_reference
    @objects.each_value do |object|
      yield object, object.layout.class_address if object.layout.class_address
      object.to.each { |address| yield object, address }
    end
  end

  # Addresses that roots lead to, with those that are nowhere in the file.
  def reachable
    seen = {}
    left = @roots.map(&:address)
    while (address = left.pop)
      next if seen[address]
      seen[address] = true
      object = @objects[address] or next
      left << object.layout.class_address if object.layout.class_address
      object.edges.each { |edge| left << edge.to if edge.to.is_a?(Integer) && edge.kind != :weak }
    end
    seen
  end

  private

  def block(kind, data)
    @data, @at, @last = data, 0, kind
    record(kind) while @at < data.bytesize
    raise "beyond its block" if @at > data.bytesize
  end

  def record(kind)
    case kind
    when PROCESS then @process[text] = text
    when FOOTER then (@footer[text] ||= []) << text
    when STRINGS then @strings << text
    when STACKS then @stacks << [@stacks[number], string, string, number]
    when LAYOUTS then @layouts << Layout.new(*layout)
    when ROOTS then @roots << Root.new(KINDS.fetch(number), string, string, number * 8)
    when OBJECTS then page
    when MOVES then @moves[number * 8] = number * 8
    end
  end

  def number
    result = shift = 0
    loop do
      byte = @data.getbyte(@at)
      @at += 1
      result |= (byte & 127) << shift
      return result if byte < 128
      shift += 7
    end
  end

  def zigzag(value) = value.odd? ? -(value + 1) / 2 : value / 2

  def text
    length = number
    @at += length
    @data.byteslice(@at - length, length).force_encoding("UTF-8")
  end

  def string
    at = number
    raise "string #{at} is not defined" if at >= @strings.size
    @strings[at]
  end

  def layout
    type, address, class_name = string, number * 8, string
    bits, tail = number, number
    labels = Array.new(number) { [KINDS.fetch(number), string] }
    [type, (address unless address.zero?), class_name, bits, tail, labels]
  end

  def page
    @page, @slot, count, @next = number * 8, number, number, 0
    @pages += 1
    count.times { object }
  end

  def object
    skipped, layout, bits = number, @layouts.fetch(number), number
    @next = (bits & MORE != 0 && skipped.zero? && @next > 0 ? @next - 1 : @next + skipped)
    @own = @page + @next * @slot
    @next += 1
    return more(layout) if bits & MORE != 0
    raise "twice: #{@own}" if @objects[@own]
    object = HeapObject.new(@own, layout, @slot, bits)
    object.external = number if bits & EXTERNAL != 0
    object.length = number if bits & LENGTH != 0
    object.text = string if bits & TEXT != 0
    object.stack, object.weight = @stacks.fetch(number), number if bits & SAMPLED != 0
    object.doing = string.split("\x1f").each_slice(2).to_h if bits & DOING != 0
    (object.hash_of = @data.unpack1("@#{@at}Q<"); @at += 8) if bits & HASHED != 0
    object.edges = layout.labels.map { |kind, name| Edge.new(kind, name, reference) }
    @objects[@own] = object
    rest(object)
  end

  def more(layout)
    object = @objects.fetch(@own)
    raise "another layout" unless object.layout == layout
    rest(object)
  end

  def rest(object)
    layout = object.layout
    case layout.tail
    when 1 then number.times { object.edges << Edge.new(:index, nil, reference) }
    when 2 then number.times { object.edges << Edge.new(:key, nil, reference) << Edge.new(:value, nil, reference) }
    end
    number.times { object.edges << Edge.new(KINDS.fetch(number), string, reference) } if layout.bits & 1 != 0
  end

  def reference
    value = number
    return @own + zigzag(value >> 1) * 8 if value.even?
    kind, which = IMMEDIATES.fetch(value >> 1 & 7), value >> 4
    case kind
    when :special then [:special, SPECIALS.fetch(which)]
    when :integer then [:integer, zigzag(which)]
    when :hidden then [:hidden, which]
    else [kind, @strings.fetch(which)]
    end
  end
end
