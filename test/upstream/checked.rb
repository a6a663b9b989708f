# frozen_string_literal: true

# checked.rb - whether in each process of a suite the object graph was what MRI marks.
#
#   checked.rb FILE LOG PART    what RUBY_HEAPGRAPH_CHECK=FILE has written, and the suite's own output; one in PART of its
#                               files ran
#
# Which tests fail is for other runs to judge.

require_relative "suite"

file, log, part = ARGV
tests = tests_in(log, least: 15_000 / Integer(part))

checked, broken = File.readlines(file, chomp: true, encoding: "BINARY").partition { |line| line.start_with?("heap graph of") }
without, whole = checked.partition { |line| line.end_with?("no memory for more") }
objects, references = whole.map { |line| line.scan(/: (\d+) objects, (\d+) references/).first.map(&:to_i) }.transpose.map(&:sum)
least = 1_200 / Integer(part)
fail! "#{whole.size} processes have checked, expected #{least} at least" if whole.size < least

broken.map { |line| line[/broken: (.*)/, 1] || line }.tally.each { |what, count| puts "#{count} processes: #{what}" }
puts "#{without.size} processes had no memory to check" if without.any?
puts "heap graph: #{tests} tests, #{whole.size} processes, #{objects} objects, #{references} references, #{broken.size} broken"
exit broken.empty?
