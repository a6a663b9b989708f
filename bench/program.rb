# frozen_string_literal: true

# program.rb - a real program at work, ROUNDS times, for bench/intervals: ruby program.rb liquid|json|rdoc|prism ROUNDS
#
# The collector comes after so many rounds, about as often as by itself, and at no other time. Otherwise one setting has a GC more
# than the next one, by chance: 0.8 % of all instructions.

ROUNDS_A_GC = Hash.new(1).merge("liquid" => 10)

what, rounds = ARGV.shift, Integer(ARGV.shift)
ARGV << "0" # nothing is measured by ./peers/measure.rb

# Of Ruby's own.
def libraries(*names) = names.map { |name| $LOAD_PATH.map { |directory| "#{directory}/#{name}.rb" }.find { |path| File.exist?(path) } }

case what
when "liquid", "json"
  require_relative "peers/#{what}"
when "rdoc" # documents a library
  require "rdoc"
  FILES = libraries("set")
  def work = RDoc::RDoc.new.document(["--quiet", "--ri", "--dry-run", *FILES])
when "prism" # counts the calls in libraries
  require "prism"
  FILES = libraries("optparse", "set", "tempfile", "delegate", "fileutils")
  def work
    nodes = FILES.map { |path| Prism.parse_file(path).value }
    calls = 0
    while (node = nodes.pop)
      calls += 1 if node.is_a?(Prism::CallNode)
      nodes.concat(node.compact_child_nodes)
    end
  end
end

GC.disable
gcs = 0
1.upto(rounds) do |round|
  work
  next if round % ROUNDS_A_GC[what] != 0
  gcs += 1
  GC.start(full_mark: gcs % 10 == 0)
end
ObjectSpace::HeapProfile.stop # no file
