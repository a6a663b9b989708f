# rdoc_demo.rb - what holds the memory while RDoc documents Ruby's own library?
#
#   RUBY_HEAPPROF=interval=64k ruby examples/rdoc_demo.rb TREE PROFILE
#
# RDoc, as it comes with Ruby, reads the library and the core classes' C files in TREE, an
# unpacked Ruby source archive. A profile is written to PROFILE while all that RDoc read is
# still referenced. Then the heaviest sites are printed. A site is the innermost frame, where
# objects were allocated, and their class. For memory of the allocator it is that frame and the
# C function that asked for the memory.

require "rdoc"

abort "usage: RUBY_HEAPPROF=1 ruby #{$0} TREE PROFILE" unless ARGV.size == 2
abort "#{$0}: the profiler is off: set RUBY_HEAPPROF=1" unless ObjectSpace::HeapProfile.running?

CORE = %w[array bignum class complex dir encoding enum enumerator error eval file gc hash io
          load marshal math numeric object pack proc process random range rational re signal
          string struct symbol thread time transcode variable vm]

TREE, PROFILE = File.realpath(ARGV[0]), ARGV[1]

def document(tree)
  rdoc = RDoc::RDoc.new
  core = CORE.map { |name| "#{tree}/#{name}.c" }.select { |path| File.exist?(path) }
  rdoc.document(["--quiet", "--ri", "--dry-run", "--root=#{tree}", "#{tree}/lib", *core])
  rdoc.store
end

# [[class name or C function, frame], bytes] of each site, the heaviest first.
def sites(profile)
  profile.group_by { |sample| [sample.caller || sample.class_name, sample.frames.first] }
         .transform_values { |samples| samples.sum(&:inuse_space) }
         .sort_by { |_, bytes| -bytes }
end

# "file:line", without the directory of the tree or of the library that is running.
def place(frame)
  path = [TREE, RbConfig::CONFIG["rubylibdir"]].inject(frame.path.to_s) do |name, directory|
    name.delete_prefix("#{directory}/")
  end
  "#{path}:#{frame.lineno}"
end

def row(asker, frame, bytes, total)
  share = format("%.1f%%", 100.0 * bytes / total)
  [bytes.to_s, share, asker, *(frame ? [frame.label, place(frame)] : ["[no frame]", ""])]
end

def print_table(rows)
  widths = rows.transpose.map { |column| column.map(&:size).max }
  rows.each do |cells|
    padded = cells.each_with_index.map do |cell, i|
      i < 2 ? cell.rjust(widths[i]) : cell.ljust(widths[i])
    end
    puts padded.join("  ").rstrip
  end
end

store = document(TREE)
profile = ObjectSpace::HeapProfile.snapshot(gc: true, owners: true, rss: true)
ObjectSpace::HeapProfile.stop # nothing after this is profiled, nothing is written at exit
profile.write(PROFILE)

sites = sites(profile)
total = sites.sum { |_, bytes| bytes }
rows = sites.first(15).map { |(asker, frame), bytes| row(asker, frame, bytes, total) }
puts "RDoc holds #{store.all_classes_and_modules.size} classes and modules; " \
     "the memory in use is #{total >> 20} MB, most of it from:", ""
print_table([["bytes", "share", "class or C function", "method", "file:line"], *rows])
puts "", "All of it is in #{PROFILE}. As a flame graph in a browser:",
     "  heapprof view #{PROFILE}"
