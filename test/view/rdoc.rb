# frozen_string_literal: true

# rdoc.rb - a heap of a real program: RDoc, with what it has read of itself. Writes a dump of it.
#
#     ruby rdoc.rb OUT

require "rdoc"

options = RDoc::Options.new
options.verbosity = 0
options.files = []
rdoc = RDoc::RDoc.new
rdoc.options = options
rdoc.store = RDoc::Store.new(options)
rdoc.instance_variable_set(:@stats, RDoc::Stats.new(rdoc.store, 1, 0))
library = File.dirname($LOADED_FEATURES.grep(%r{/rdoc\.rb\z}).first)
Dir[File.join(library, "rdoc/**/*.rb")].sort.first(60).each { |file| rdoc.parse_file(file) }
abort "nothing was read" if rdoc.store.all_classes.size < 20
ObjectSpace::HeapGraph.dump(ARGV[0], gc: true)
