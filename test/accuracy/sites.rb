# frozen_string_literal: true

# sites.rb - what the programs make: objects of a known class, from a known place, in a known slot.

require_relative "../ruby/lib/child"

module Accuracy
  # Classes whose objects fill a slot of each size: a class learns how large its objects get.
  SLOTS.each_index do |size|
    klass = const_set("Item#{size}", Class.new)
    words = size == 0 ? 1 : SLOTS[size - 1] / 8 - 1
    words.times.with_object(klass.new) { |n, item| item.instance_variable_set("@word#{n}", n) }
  end

  Pair = Struct.new(:left, :right)
  WORD = "word" * 20
  BIGNUM = 1 << 200
  NUMBERS = (1..20).to_a.freeze

  # Each makes one object of the class that it returns, and perhaps others of other classes.
  module Make
    module_function

    def item_0 = Item0.new
    def item_1 = Item1.new
    def item_2 = Item2.new
    def item_3 = Item3.new
    def item_4 = Item4.new

    def string = WORD * 3
    def array = [*NUMBERS]
    def hash = { a: 1 }
    def struct = Pair.new(1, 2)
    def bignum = BIGNUM + 1
    def float = 1e300.next_float
    def range = Range.new(1, NUMBERS.size)
    def match = /o/.match(WORD)
    def exception = StandardError.new(WORD)
    def block = proc {}
  end

  Site = Struct.new(:name, :make, :class_name, :slot) do
    def initialize(name)
      make = eval("-> { Make.#{name} }", binding, __FILE__, __LINE__)
      if (size = name[/item_(\d)/, 1])
        super(name, make, "Accuracy::Item#{size}", SLOTS[size.to_i])
      else
        super(name, make, make.call.class.name)
        self.slot = measured_slot
      end
    end

    # What a profile's rows, by class name, have of it.
    def total(rows, value)
      super(rows.fetch(class_name, []), value, label: "Accuracy::Make.#{name}")
    end

    private

    def measured_slot
      HeapProfile.start(interval: 1)
      made = make.call
      total(HeapProfile.snapshot.group_by(&:class_name), :inuse_space)
    ensure
      HeapProfile.stop
    end
  end

  # Ractors cannot call another's lambdas.
  def self.mutate_in_ractor(rounds)
    kept = Array.new(5) { Array.new((rounds + 2) / 3) }
    rounds.times do |i|
      kept[0][i / 3] = Make.item_0
      kept[1][i / 3] = Make.item_1
      kept[2][i / 3] = Make.item_2
      kept[3][i / 3] = Make.item_3
      kept[4][i / 3] = Make.item_4
    end
    Ractor.yield(:made)
    Ractor.receive
    kept.size
  end
end
