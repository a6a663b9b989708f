# frozen_string_literal: true
#
# profiles.rb - looks through the profiles of a run while the run writes them.
#
#   profiles.rb DIRECTORY EXPECTED
#
# Thousands of processes with every object sampled write gigabytes, so a profile goes when it has
# been looked at. It must be whole and say that every object and every block was sampled and no
# sample dropped; one
# that is not so is told, and stays. Ends with its standard input, after a last look. Exit status 1
# when a profile stayed, or when there were fewer than EXPECTED: the profiler must have been there.

require "zlib"

# Comments are strings of the message, one after the other: the tag, the byte "2"; length; text.
EXACT = /2\x11interval: 1 bytes2\x18malloc interval: 1 bytes2/n
DROPPED = /dropped samples: (\d+)2.folded sites/mn

def fault(path)
  text = Zlib.gunzip(File.binread(path)).b
  return "not every object and block was sampled" unless text.match?(EXACT)

  dropped = text[DROPPED, 1]
  "#{dropped || 'an unknown number of'} samples dropped" if dropped != "0"
rescue Zlib::Error => error
  "damaged: #{error.message}"
end

directory, expected = ARGV
abort "usage: profiles.rb DIRECTORY EXPECTED" unless expected

kept = {}
count = bytes = 0
loop do
  over = IO.select([$stdin], nil, nil, 1)
  (Dir.glob("#{directory}/*.pb.gz") - kept.keys).each do |path|
    count += 1
    bytes += File.size(path)
    kept[path] = fault(path)
    File.unlink(path) unless kept[path]
  end
  kept.compact!
  break if over
end

kept.each { |path, text| puts "#{path}: #{text}" }
puts "#{count} profiles, #{bytes >> 20} MiB, #{kept.size} not as they must be"
puts "expected #{expected} profiles or more" if count < expected.to_i
exit kept.empty? && count >= expected.to_i
