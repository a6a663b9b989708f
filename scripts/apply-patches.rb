# apply-patches.rb - applies patches to files of MRI's sources, in the same functions or not at all.
#
#   ruby apply-patches.rb DIRECTORY TOP PATCH...      (messages name a PATCH as seen from TOP)
#
# A patch has one line of context, which is found in many places. On the release that it was made for, each hunk lies at the
# line that it names. On another release lines have moved: then a hunk goes where its lines follow each other in the function
# that its header names, if there is one such place, or if one has moved as far as the hunk before. A line on stdout tells
# what has moved. The first hunk without a place ends it, with one line; then the files of that patch are as they were.

require_relative "hunks"

NAMED = /\A[[:alpha:]_$]/ # the lines that git takes for the head of a function
NAME_MAX = 80

# What git would show of the function, of a hunk that begins at this line. All is bytes.
def function_at(lines, index)
  head = lines[0, index].rindex { |line| line.match?(NAMED) }
  head ? lines[head][0, NAME_MAX].rstrip : ""
end

# The indices from `least` on where the hunk fits: its lines are there, in its function.
def places(lines, hunk, least)
  before = hunk.before
  (least..lines.size - before.size).select do |index|
    lines[index, before.size] == before && function_at(lines, index) == hunk.function
  end
end

# The lines with the hunks in them; a block is given each hunk that has moved, and how far.
def applied(lines, hunks)
  moved = least = 0
  placed = hunks.map do |hunk|
    found = places(lines, hunk, least)
    place = found.find { |index| index == hunk.start - 1 + moved } || (found.first if found.size == 1)
    throw :misfit, [hunk, found.empty? ? "its lines are not there" : "its lines are there #{found.size} times"] unless place
    moved = place - (hunk.start - 1)
    yield hunk, moved if moved != 0
    least = place + hunk.before.size
    [place, hunk]
  end
  placed.reverse.each_with_object(lines.dup) { |(place, hunk), new| new[place, hunk.before.size] = hunk.after }
end

# Applies all of the patch, or throws :misfit. Returns what has moved: by file, the lines and how far.
def apply(directory, patch)
  moved = Hash.new { |by_file, file| by_file[file] = [] }
  _, hunks = Hunk.read(patch)
  new = hunks.group_by(&:file).to_h do |file, of_file|
    lines = File.binread(File.join(directory, file)).lines(chomp: true)
    [file, applied(lines, of_file) { |hunk, by| moved[file] << "#{hunk.start} by #{by}" }]
  end
  new.each { |file, lines| File.binwrite(File.join(directory, file), lines.map { |line| "#{line}\n" }.join) }
  moved
end

def place(hunk)
  "#{hunk.file}, line #{hunk.start}#{", in \"#{hunk.function}\"" unless hunk.function.empty?}"
end

directory, top, *patches = ARGV
patches.each do |patch|
  name = patch.delete_prefix("#{top}/")
  misfit = catch(:misfit) do
    moved = apply(directory, patch)
    puts "#{name}: lines have moved: #{moved.map { |file, lines| "#{file}: #{lines.join(", ")}" }.join("; ")}" unless moved.empty?
    nil
  end
  abort "#{name} does not apply: #{place(misfit[0])}: #{misfit[1]}" if misfit
end
