# frozen_string_literal: true

# blocks.rb - what is true of blocks: what was asked for each, and what it still holds of that.
#
# A block is asked for in steps. After each its size tells what that asked for, or gave back:
#
#     malloc 100         piece 0...104
#     realloc 700        piece 0...104, piece 104...712
#     realloc 300        piece 0...104, piece 104...312 of 608 bytes asked for
#
# A piece of s bytes is sampled with p = 1 - e^(-s/R) and then stands for 1/p like it; what it still
# holds, h bytes, counts h/p. So the estimates of all pieces have the variances s^2 (1-p)/p, allocated,
# and h^2 (1-p)/p, in use.

require_relative "block_sites"

module Accuracy
  # What all of one place have asked for, and how far the estimate of that may be off.
  class Asked
    attr_reader :bytes, :variance

    def initialize
      @bytes = 0
      @variance = 0.0
    end

    def add(bytes, variance)
      @bytes += bytes
      @variance += variance
    end
  end

  # A block, as it has been asked for.
  class Block
    Piece = Struct.new(:begin, :bytes, :odds)

    def initialize
      @pieces = []
      @size = 0
      @address = 0
    end

    # It is there now, after a step at that interval.
    def now(address, size, moves, interval, asked)
      cut(0) if address != @address && !moves
      @address = address
      size > @size ? grow(size, interval, asked) : cut(size)
    end

    def add_to(held, interval)
      @pieces.each do |piece|
        odds = interval ? odds(piece.bytes, interval) : piece.odds
        held.add(piece.bytes, piece.bytes**2 * odds)
      end
    end

    private

    def grow(size, interval, asked)
      bytes = size - @size
      odds = odds(bytes, interval)
      @pieces << Piece.new(@size, bytes, odds)
      asked.add(bytes, bytes**2 * odds)
      @size = size
    end

    def odds(bytes, interval)
      p = Estimator.probability(bytes, interval)
      (1 - p) / p
    end

    def cut(size)
      @pieces.pop while @pieces.any? && @pieces.last.begin >= size
      @pieces.last.bytes = size - @pieces.last.begin if @pieces.any?
      @size = size
    end
  end

  # Something that holds blocks: an address, a String, Array, Hash, or other object.
  class Holding
    def initialize(site, asked)
      @site = site
      @asked = asked
      @blocks = Array.new(site.blocks) { Block.new }
    end

    def make(interval)
      @site.steps.each do |size|
        @thing = @site.ask(@thing, size)
        look(interval)
      end
      self
    end

    def drop
      @site.drop(@thing)
    end

    def add_to(held, interval)
      @blocks.each { |block| block.add_to(held, interval) }
    end

    private

    def look(interval)
      @blocks.each_with_index do |block, number|
        address, size = @site.block(@thing, number)
        block.now(address, size, @site.moves, interval, @asked)
      end
    end
  end
end
