# advisories.rb - which default and bundled gems of what is built are behind: a table of each that has a newer release in its
# major version, on RubyGems.
#
#   ruby -W0 advisories.rb [TREE [FILE]]   (make advisories)
#                                 TREE: sources as MRI lays them out (build/src/ruby-VERSION);
#                                 FILE: what `gem list --remote --all` says, instead of asking
#
# It knows of no advisory: doc/security.md says what to read then. A gem that is behind and has a row there that is `open`
# is marked. Asks once, with the settings that `gem` has on this machine. The exit status is 1 if nothing could be asked.

require "rubygems"

TOP = File.expand_path("..", __dir__)

def fail!(text)
  warn "advisories: #{text}"
  exit 1
end

# Versions as they are built.
def built(tree)
  IO.popen([Gem.ruby, "-W0", "#{__dir__}/gem-versions.rb", tree], &:readlines).to_h(&:split)
end

def asked(names)
  said = IO.popen([Gem.ruby, "-S", "gem", "list", "--remote", "--all", "^(#{names.map { |name| Regexp.escape(name) }.join("|")})$"], &:read)
  fail! "gem list could not ask RubyGems: see the lines above; or give a file of what it says" unless $?.success?
  said
end

# {name => versions}, releases alone: "uri (1.1.2, 1.1.1 ruby java)".
def releases(said)
  said.scan(/^(\S+) \((.+)\)$/).to_h do |name, versions|
    [name, versions.split(", ").map { |version| Gem::Version.new(version.split.first) }.reject(&:prerelease?)]
  end
end

tree = File.expand_path(ARGV[0] || Dir["#{TOP}/build/src/ruby-[0-9]*"].first || fail!("no sources: make tree first, or name them"))
versions = built(tree)
fail! "#{tree} has no default and bundled gems: expected the sources of MRI" if versions.size < 2
remote = releases(ARGV[1] ? File.read(ARGV[1]) : asked(versions.keys))
open_rows = File.read("#{TOP}/doc/security.md").scan(/^\| [^|]+ \| ([^|]+) \|[^|]*\|[^|]*\| open:/).flatten

behind = versions.filter_map do |name, version|
  here = Gem::Version.new(version)
  line = (remote[name] || []).select { |other| other.segments.first == here.segments.first }
  newest, patch = line.max, line.select { |other| other.segments.first(2) == here.segments.first(2) }.max
  [name, version, patch && patch > here ? patch : "-", newest, open_rows.include?(name) ? "open" : ""] if newest && newest > here
end
unknown = versions.keys - remote.keys

row = "%-20s %-10s %-12s %-12s %s\n"
printf row, "gem", "here", "same minor", "same major", "doc/security.md"
behind.each { |fields| printf row, *fields }
puts "#{versions.size} gems, #{behind.size} behind#{", #{unknown.size} that RubyGems does not say anything of: #{unknown.join(" ")}" unless unknown.empty?}"
