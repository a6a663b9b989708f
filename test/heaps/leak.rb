# frozen_string_literal: true

# leak.rb - a program that leaks, and writes three dumps of its object graph: 1.rbgraph, 2.rbgraph, 3.rbgraph.
#
# Cart::CACHE keeps STEADY orders from before the first dump on, LEAKED more from before the second, and LATER more from before
# the third. PASSING orders live through the second dump alone; between any two, many come and go at addresses that are used again.

class Order
  def initialize(number) = @text = "order #{number} " * 20
end

class Cart
  CACHE = []
end

STEADY = 300
LEAKED = 1000
LATER = 400
PASSING = 500

# In a thread of its own, so that no stack keeps what was there.
def apart(&) = Thread.new(&).join

def keep(count) = apart { Cart::CACHE.concat(Array.new(count) { |i| Order.new(i) }) }
def storm = apart { 20_000.times { |i| Order.new(i) } }
def dump(number) = ObjectSpace::HeapGraph.dump("#{number}.rbgraph", gc: true)

keep(STEADY)
storm
dump(1)
keep(LEAKED)
storm
$passing = []
apart { $passing.concat(Array.new(PASSING) { |i| Order.new(i) }) }
dump(2)
$passing = nil
GC.start
keep(LATER)
storm
dump(3)
