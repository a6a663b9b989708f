# json-streams.rb - CVE-2026-54696: JSON.dump(object, io) writes beyond its buffer.
#
#   ruby --disable-gems json-streams.rb
#
# The buffer is of 16,383 bytes. When it grows to that, it keeps what it holds, 600 bytes here; a string that would fit into
# an empty one is put behind. json 2.9.1 of MRI 3.4.5 ends with glibc's "malloc(): invalid size", or "corrupted top size".
# Mended by json-streams.patch.

require "json"
require "stringio"

65.times do |more|
  strings = ["x" * (600 + more), "y" * (16_300 - more)]
  JSON.dump(strings, io = StringIO.new)
  raise "wrong" unless JSON.parse(io.string) == strings
end
1000.times do |i|
  strings = ["x" * (i * 17 % 1600), "y" * 16_380, "z" * 16_000]
  JSON.dump(strings, io = StringIO.new)
  raise "wrong" unless JSON.parse(io.string) == strings
end
puts "ok"
