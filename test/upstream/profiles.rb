# frozen_string_literal: true
#
# profiles.rb - looks through the profiles of a run while the run writes them.
#
#   profiles.rb DIRECTORY EXPECTED [MALLOC_INTERVAL]
#
# Thousands of processes with every object sampled write gigabytes, so a profile goes when it has
# been looked at. It must be whole and say that every object was sampled, blocks at MALLOC_INTERVAL
# (1: each), and no sample dropped; one that is not so is told, and stays. Ends with its standard input, after a last look. Exit status 1
# when a profile stayed, or when there were fewer than EXPECTED: the profiler must have been there.

require "zlib"

directory, expected, malloc_interval = ARGV
abort "usage: profiles.rb DIRECTORY EXPECTED [MALLOC_INTERVAL]" unless expected

# Comments are strings of the message, one after the other: the tag, the byte "2"; length; text.
INTERVALS = ["interval: 1 bytes", "malloc interval: #{malloc_interval || 1} bytes"]
            .sum("".b) { |comment| "2#{comment.bytesize.chr}#{comment}" }.concat("2")
DROPPED = /dropped samples: (\d+)2.folded sites/mn

def fault(path)
  text = Zlib.gunzip(File.binread(path)).b
  return "not every object and block was sampled" unless text.include?(INTERVALS)

  dropped = text[DROPPED, 1]
  "#{dropped || 'an unknown number of'} samples dropped" if dropped != "0"
rescue Zlib::Error => error
  "damaged: #{error.message}"
end

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
