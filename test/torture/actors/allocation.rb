# frozen_string_literal: true

# Allocation: objects of every kind and size, short and long lived.

module Torture
  class Allocation < Actor
    Point = Struct.new(:x, :y)
    Line = Data.define(:from, :to)

    class Stillborn
      def initialize = raise(Planned)
    end

    def self.in_ractor? = true

    def garbage
      rand(50..2000).times { |i| mark(i) }
    end

    def kept
      rand(10..300).times { |i| keep(mark([i, i.to_s])) }
    end

    def forgotten
      forget
      rand(10..100).times { |i| mark(i) }
    end

    # Slots of 40 to 640 bytes, and what has a buffer elsewhere.
    def sizes
      rand(20..200).times do
        keep(Array.new(rand(0..90)) { _1 })
        keep("s" * rand(0..1000))
        keep((0..rand(0..12)).to_h { [_1, _1.to_s] })
      end
    end

    def variables
      rand(5..40).times do
        object = mark
        rand(1..70).times { |i| object.instance_variable_set("@v#{i}", i) }
        keep(object)
      end
    end

    def numbers
      rand(10..200).times do |i|
        keep([3**rand(10..600), 1.0e300 * i, Rational(i, 7), Complex(i, 2), (1..i), 2.0**i])
      end
    end

    def structs
      rand(10..200).times { |i| keep(Line.new(Point.new(i, mark), Point.new(mark, i))) }
    end

    def strings
      text = +""
      rand(50..400).times { |i| text << "line #{i}, " << i.to_s * 3 }
      keep(text.split(",").map(&:to_sym).map(&:to_s).each_slice(3).map(&:join))
      keep(text[10, 200])
      keep(text.encode("UTF-16LE").dup.force_encoding("BINARY"))
    end

    def matches
      text = "key#{rand(1000)}=value" * rand(1..30)
      keep(text.match(/(?<key>[a-z]+)(\d+)=#{sample(%w[v va val])}/))
      keep(text.gsub(/\d+/) { |digits| mark(digits).to_s })
    end

    def procs
      rand(10..100).times do |i|
        local = mark(i)
        keep([proc { local }, lambda { |x| [x, local] }, method(:keep), binding])
      end
    end

    def errors
      rand(2..20).times do
        nested(rand(1..60)) { raise Planned, "planned" }
      rescue Planned => e
        keep([e, e.backtrace, e.backtrace_locations, mark])
      end
    end

    def copies
      deep = Array.new(rand(1..40)) { |i| { "key#{i}" => [i, i.to_s, { nested: [i] * 5 }] } }
      keep(Marshal.load(Marshal.dump(deep)))
      keep(deep.map(&:dup).map(&:clone).map(&:freeze))
    end

    # The object is allocated, and then its initialize raises.
    def stillborn
      rand(5..100).times do
        Stillborn.new if one_in(10)
        Array.new(-1)
      rescue Planned, ArgumentError
        mark
      end
    end

    def stacks
      rand(1..5).times { nested(rand(1..700)) { keep(mark) } }
    end

    private

    def nested(levels, &block)
      levels <= 0 ? yield : nested(levels - 1, &block)
    end
  end
end
