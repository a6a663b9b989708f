# frozen_string_literal: true

# shared.rb - small objects of six kinds, 2 % of them kept: ruby shared.rb FRAMES [COUNT]
#
# All are made at the bottom of FRAMES frames, so that what a stack costs is seen apart.

require_relative "../filled_heaps" if ENV["FILLED"]
require_relative "measure"

class Point
  def initialize(x, y)
    @x = x
    @y = y
  end
end

Pair = Struct.new(:left, :right)

def six(i)
  [Point.new(i, i), +"a short string", [i, i, i], { i => i }, Pair.new(i, i), i.to_r / 3]
end

def fill(steps, kept)
  i = 0
  while i < steps
    made = six(i)
    kept << made if i % 50 == 0
    i += 1
  end
end

def descend(frames, steps, kept)
  frames > 0 ? descend(frames - 1, steps, kept) : fill(steps, kept)
end

frames = Integer(ARGV.fetch(0))
steps = Integer(ARGV.fetch(1, 2_000_000)) / 8 # a step makes 8
measure { descend(frames - 4, steps, []) }
