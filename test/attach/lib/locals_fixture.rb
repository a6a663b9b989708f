# frozen_string_literal: true

# locals_fixture.rb - local variables in many shapes. At each mark the process asks `heapprof stacks --locals --values` for
# itself, and compares what it says of the frame that has the mark with the binding of that frame. Prints how many frames
# were compared; what differs goes to stderr.

require "json"

module Here
  PROGRAM = ENV.fetch("HEAPPROF_PROGRAM")
  @count = 0

  class << self
    attr_reader :count

    # own: the names of the variables of that frame, in their order; those of the blocks around it are not its own.
    def mark(binding, *own)
      frames = ask
      found = frames[frames.index { |frame| frame["label"] == "Here.mark" } + 1]
      differ("names", own, found["locals"].map { |local| local["name"].to_sym }, found)
      found["locals"].each { |local| compare(binding.local_variable_get(local["name"]), local) }
      warn "#{found["label"]}: #{found["locals_unknown"]}" if found["locals_unknown"]
      @count += 1
    end

    # The frames of this thread.
    def ask
      out = IO.popen([PROGRAM, "stacks", "--json", "--values", Process.pid.to_s], external_encoding: "UTF-8", &:read)
      JSON.parse(out).first["threads"].flat_map { |thread| thread["frames"] }
    end

    def differ(what, expected, said, place)
      warn "#{place}: #{what} are #{said.inspect}, not #{expected.inspect}" unless expected == said
    end

    def class_name(value)
      klass = Kernel.instance_method(:class).bind_call(value)
      klass.name || "#<Class < #{klass.ancestors.grep(Class).find(&:name).name}>"
    end

    SHORT = [Integer, Float, NilClass, TrueClass, FalseClass, Symbol, String].freeze

    def compare(value, local)
      differ("class", class_name(value), local["class"], local)
      case value
      when Integer then local.key?("value") ? differ("value", value, local["value"], local) : differ("size", true, value.bit_length > 62, local)
      when Float then differ("value", value.finite? ? value : nil, local["value"], local)
      when String then compare_string(value.b, local)
      when Symbol then differ("value", value.to_s, local["value"], local)
      when Array, Hash then differ("size", value.size, local["size"], local)
      when nil, true, false then differ("value", value, local.fetch("value", :none), local)
      else differ("value", [], local.keys & %w[value size], local)
      end
    end

    # Bytes that are not UTF-8 are escaped. A text of 60 bytes may be cut before its last character.
    def compare_string(bytes, local)
      differ("size", bytes.bytesize, local["size"], local)
      text = local["value"].gsub(/\\x(\h\h)/) { $1.hex.chr }.b
      differ("start", true, bytes.start_with?(text), local)
      differ("length", true, text.bytesize.between?([bytes.bytesize, 57].min, 60), local)
    end
  end
end

class Thing
  def initialize = @a = 1
end

Sample = Struct.new(:a)

# ---- parameters ----

def every_kind(a, b = 2, c = (d = 3), *rest, e, k:, l: 5, m: k, **others, &block)
  here = [d, others]
  Here.mark(binding, :a, :b, :c, :rest, :e, :k, :l, :m, :others, :block, :d, :here)
  here
end

every_kind(1, 2, k: 3)
every_kind(1, 2, 3, 4, 5, 6, k: "x", l: :y, z: 8) { 9 }
every_kind([], {}, k: nil)

def no_names(*, **, &) = takes(*, **, &)
def takes(*x, **y, &z) = Here.mark(binding, :x, :y, :z)
no_names(1, a: 2) { 3 }

def forwards(...) = takes(...)
forwards(1, 2, b: 3)

def first_and_forwards(first, ...)
  second = :second
  Here.mark(binding, :first, :second)
  takes(first, ...)
end
first_and_forwards("one", 2, 3, c: 4)

def no_variables = Here.mark(binding)
no_variables

def endless(x) = Here.mark(binding, :x)
endless(1.5)

def keywords_only(size: 1, colour: :red)
  late = size
  Here.mark(binding, :size, :colour, :late)
end
keywords_only
keywords_only(colour: "blue")

# ---- blocks ----

def blocks
  outer = 1
  [[10, 11]].each do |one, two = 5, *more; local|
    local = outer
    [1].each { |inner| Here.mark(binding, :inner) }
    Here.mark(binding, :one, :two, :more, :local)
  end
  [[1, [2, 3]]].each { |(a, (b, c))| Here.mark(binding, :a, :b, :c) }
  [4].each { Here.mark(binding, :_1); _1 }
  [4].each { Here.mark(binding); it }
  -> (x, y: 2) { Here.mark(binding, :x, :y) }.call(1)
  Here.mark(binding, :outer)
end
blocks

# The environment moves to the heap, while its frame goes on.
def captured
  before = "before"
  keep = -> { before }
  after = 7
  Here.mark(binding, :before, :keep, :after)
  before = "changed"
  [1].each { |x| inner = proc { x }; before = 8; Here.mark(binding, :x, :inner) }
  keep.call
  Here.mark(binding, :before, :keep, :after)
end
captured

define_method(:defined) { |x, y = x| Here.mark(binding, :x, :y) } rescue self.class.send(:define_method, :defined) { |x, y = x| Here.mark(binding, :x, :y) }
defined(:sym)

def yields
  mine = 1
  yield mine, 2
end
yields { |p, q| Here.mark(binding, :p, :q) }

# ---- other code ----

class Thing
  in_class = 5
  Here.mark(binding, :in_class)
end

def rescues
  before = 1
  begin
    raise ArgumentError, "x"
  rescue ArgumentError => error
    in_rescue = error.message
    Here.mark(binding, :before, :error, :in_rescue)
  ensure
    in_ensure = 2
    Here.mark(binding, :before, :error, :in_rescue, :in_ensure)
  end
end
rescues

def unwinds
  one = 1
  catch(:done) do
    two = 2
    begin
      throw :done
    ensure
      three = 3
      Here.mark(binding, :two, :three)
    end
  end
  one
end
unwinds

def matches(value)
  case value
  in { name: String => name, list: [head, *tail] } then Here.mark(binding, :value, :name, :head, :tail)
  end
end
matches({ name: "n", list: [1, 2, 3] })

def loops
  for i in [3] do Here.mark(binding, :i, :j) if i end
  while (j = (j || 0) + 1) < 2 do Here.mark(binding, :i, :j) end
end
loops

eval("from_eval = 6; Here.mark(binding, :from_eval)")
def not_set_yet
  Here.mark(binding, :later)
  later = 1
  later
end
not_set_yet

# ---- values ----

def values(v) = Here.mark(binding, :v)

[0, -1, 2**61, -2**61, 2**62 - 1, -2**62, 2**62, -2**62 - 1, 2**200].each { |v| values(v) }
[0.0, -0.0, 1.5, -1.5, 0.1, 1e100, 1e-100, 1.7976931348623157e308, 5e-324, 2.2250738585072014e-308, 1e-310, Float::INFINITY, -Float::INFINITY, Float::NAN,
 1.0.next_float, 1e77, 1.2e-77, 8.6e-78, 3.0e77].each { |v| values(v) }
["", "a", "embedded", "x" * 59, "x" * 60, "x" * 61, "y" * 100_000, "\xFF\x00\n".b, "h\u00e9llo " * 20, "\u{1f600}" * 30, "l\u00efne\n", "a".encode("UTF-16LE")].each { |v| values(v) }
[:a, :"with space", "dynamic #{rand}".to_sym, :"a=", :[]=, :+, :"\u00e9"].each { |v| values(v) }
[nil, true, false, [], [1], (1..3).to_a, (1..100).to_a, (1..1000).to_a.drop(3), {}, { a: 1 }, (1..8).to_h { |i| [i, i] }, (1..9).to_h { |i| [i, i] },
 (1..1000).to_h { |i| [i, i] }, { a: 1, b: 2 }.tap { |hash| hash.delete(:a) }, {}.compare_by_identity.merge("a" => 1)].each { |v| values(v) }
[Thing.new, Thing, Kernel, Class.new.new, Class.new(Thing).new, Sample.new(1), Object.new.tap { |object| def object.x = 1 }, Object.new.extend(Comparable), 1..2, 1r, 2i,
 /x/, "x".match(/x/), $stdout, Thread.current, -> { }, method(:puts), Time.at(0), Random.new(1), Class.new(String).new("s"), Class.new(Array).new(2), ObjectSpace::WeakMap.new].each { |v| values(v) }

def several_at_once
  a, b, c, d = 1, "two", [3], nil
  GC.compact if GC.respond_to?(:compact)
  GC.start
  Here.mark(binding, :a, :b, :c, :d)
end
several_at_once

# ---- threads and fibers ----

Thread.new { in_thread = "t"; Here.mark(binding, :in_thread) }.join
Fiber.new { in_fiber = :f; Here.mark(binding, :in_fiber) }.resume

puts "#{Here.count} frames compared"
