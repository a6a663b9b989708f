# frozen_string_literal: true

# ox 2.14.29 on any Ruby:
#   ruby ox-sax-names.rb
#   [BUG] Segmentation fault, or names that are no names
# Ox.sax_parse keeps the names of open elements, which are Strings with symbolize: false, on a stack of its own. With more than 32
# open elements that stack is memory of malloc, where no GC looks. A name of 35 characters or more is not in ox's cache either, so
# nothing else holds it. ox-sax-names.patch takes a buffer that the GC looks into. Found by heapprof barriers (unmarked-memory).

require "ox"

NAMES = Array.new(60) { |i| "element#{i}-#{'x' * 60}".freeze }.freeze

class Handler < Ox::Sax
  attr_reader :ended

  def start_element(_name)
    return if (@open = (@open || 0) + 1) < NAMES.size
    3.times { GC.start }
    @others = Array.new(100_000) { |i| "other #{i} #{'y' * 60}" }
  end

  def end_element(name) = (@ended ||= []) << name.dup
end

handler = Handler.new
Ox.sax_parse(handler, NAMES.map { "<#{_1}>" }.join + NAMES.reverse.map { "</#{_1}>" }.join, symbolize: false)
puts handler.ended == NAMES.reverse ? "ok" : "wrong names"
