# check-patch.rb - the rules one patch of the queue keeps.
#
#   ruby check-patch.rb TOP gc/patches/NNNN-stem.patch
#
# A patch is a hook and nothing else: at most three added lines in a hunk, no removed line.
# Its trailers say where it hooks (one `Hook: file:name` for each hunk, where the hunk's
# header or context shows the name), which of our files it calls, which test covers it, and what
# became of it upstream. Prints one line for each broken rule; the exit status says whether any was.

require_relative "hunks"

MAX_ADDED = 3
TRAILERS = %w[Hook Handler Test Forwarded]

def trailers(message)
  message.lines(chomp: true).filter_map { |line| line.match(/\A([A-Z][a-z]+): (.+)/)&.captures }
         .select { |key, _| TRAILERS.include?(key) }
         .group_by(&:first).transform_values { |pairs| pairs.map(&:last) }
end

def hook_problems(hooks, hunks)
  stray = hooks.reject { |hook| hunks.any? { |hunk| hunk.hooked_by?(hook) } }
  silent = hunks.reject { |hunk| hooks.any? { |hook| hunk.hooked_by?(hook) } }
  problems = stray.map { |hook| "Hook: #{hook}: no hunk shows that name in that file" } +
             silent.map { |hunk| "#{hunk.file} #{hunk.header}: no Hook trailer names it" }
  if hooks.size != hunks.size
    problems << "#{hooks.size} Hook trailers for #{hunks.size} hunks: one for each"
  end
  problems
end

def hunk_problems(hunks)
  hunks.flat_map do |hunk|
    problems = []
    problems << "removes #{hunk.removed} lines: a patch only adds" if hunk.removed > 0
    problems << "adds #{hunk.added} lines: at most #{MAX_ADDED} in a hunk" if hunk.added > MAX_ADDED
    problems.map { |problem| "#{hunk.file} #{hunk.header}: #{problem}" }
  end
end

def trailer_problems(found, top)
  missing = TRAILERS.reject { |key| found[key] }.map { |key| "no #{key} trailer" }
  absent = %w[Handler Test].flat_map { |key| found.fetch(key, []).map { |file| [key, file] } }
                           .reject { |_, file| File.file?(File.join(top, file)) }
  missing + absent.map { |key, file| "#{key}: #{file}: no such file" }
end

top, name = ARGV
message, hunks = Hunk.read(File.join(top, name))
found = trailers(message)
problems = trailer_problems(found, top) +
           hook_problems(found.fetch("Hook", []), hunks) +
           hunk_problems(hunks)
problems << "changes nothing" if hunks.empty?
problems.each { |problem| warn "#{name}: #{problem}" }
exit problems.empty?
