# frozen_string_literal: true

# program.rb - a real program at work, ROUNDS times, for bench/intervals: ruby program.rb liquid|json|rdoc|prism ROUNDS

what, rounds = ARGV.shift, Integer(ARGV.first)

# Of Ruby's own.
def libraries(*names) = names.map { |name| $LOAD_PATH.map { |directory| "#{directory}/#{name}.rb" }.find { |path| File.exist?(path) } }

case what
when "liquid", "json"
  require_relative "peers/#{what}"
when "rdoc" # documents a library
  require "rdoc"
  files = libraries("set")
  rounds.times { RDoc::RDoc.new.document(["--quiet", "--ri", "--dry-run", *files]) }
when "prism" # counts the calls in libraries
  require "prism"
  files = libraries("optparse", "set", "tempfile", "delegate", "fileutils")
  rounds.times do
    nodes = files.map { |path| Prism.parse_file(path).value }
    calls = 0
    while (node = nodes.pop)
      calls += 1 if node.is_a?(Prism::CallNode)
      nodes.concat(node.compact_child_nodes)
    end
  end
end
ObjectSpace::HeapProfile.stop # no file
