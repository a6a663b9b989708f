# frozen_string_literal: true

# Methods in C, and with --native the functions that they call: by the CPU time of each.

require_relative "truth"
require "zlib"

TEXT = Random.new(1).bytes(200_000).unpack1("H*")
NUMBERS = Array.new(20_000) { |i| i * 7919 % 20_011 }

def during(name)
  begun = cpu_ns
  yield
  SPENT[name] += cpu_ns - begun
end

loop do
  during("Zlib.crc32") { 30.times { Zlib.crc32(TEXT) } }
  during("Array#sort") { NUMBERS.sort }
  during("String#count") { 3.times { TEXT.count("0-9a-c") } }
  told
end
