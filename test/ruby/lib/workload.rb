# frozen_string_literal: true

# workload.rb - a program of which it is known how many objects of which class each of its sites
# allocates, and how many of them it keeps; for the tests that run it in every mode of the VM.
#
#   ruby workload.rb COUNT [SETUP]      SETUP: Ruby code that is run first
#
# Each site is called 4 * COUNT times, by Workload.keep for a quarter of them and by Workload.waste,
# whose objects are garbage at once. It prints what it has computed from all it has kept.
module Workload
  class Item; end

  class Wide
    def initialize(i)
      @a = @b = @c = @d = @e = @f = @g = @h = i
    end
    attr_reader :h
  end

  Pair = Struct.new(:left, :right)
  TEXT = "a text of some length"
  BIG = 1 << 70

  # One line each: one object of the class named below, in slots of all five sizes, and no other of that class.
  class << self
    def item(_) = Item.new
    def wide(i) = Wide.new(i)
    def pair(i) = Pair.new(i, i)
    def array(i) = [i, i, i]
    def long_array(i) = Array.new(60, i)
    def hash_of_one(i) = { i => i }
    def string(_) = TEXT.upcase
    def longer_string(_) = TEXT * 5
    def longest_string(_) = TEXT * 20
    def float(i) = 1e200 + i
    def bignum(i) = BIG + i
    def range(i) = (i..)
    def closure(i) = proc { i }
    def rational(i) = Rational(i, 7)

    # label => class, number of each call's objects
    def sites
      { "item" => "Workload::Item", "wide" => "Workload::Wide", "pair" => "Workload::Pair", "array" => "Array",
        "long_array" => "Array", "hash_of_one" => "Hash", "string" => "String", "longer_string" => "String",
        "longest_string" => "String", "float" => "Float", "bignum" => "Integer", "range" => "Range", "closure" => "Proc",
        "rational" => "Rational" }
    end

    def keep(name, count, kept) = count.times { |i| kept << send(name, i) }
    def waste(name, count) = count.times { |i| send(name, i) }

    def run(count)
      kept = []
      3.times { sites.each_key { |name| waste(name, count) } }
      sites.each_key { |name| keep(name, count, kept) }
      kept
    end

    # Of what each kind is, and what is in it.
    def digest(kept)
      kept.group_by(&:class).map do |klass, all|
        values = all.map do |one|
          case one
          when Wide then one.h
          when Proc then one.call
          when Item then 1
          when Pair then one.sum
          else one.hash == one.dup.hash ? one.inspect : raise("broken")
          end
        end
        "#{klass} #{all.size} #{values.sum(0) { |value| value.to_s.sum }}"
      end
    end
  end
end

if $PROGRAM_NAME == __FILE__
  eval(ARGV[1]) if ARGV[1]
  $kept = Workload.run(Integer(ARGV[0]))
  puts Workload.digest($kept)
end
