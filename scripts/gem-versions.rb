# gem-versions.rb - "name version" of each default and bundled gem in MRI's sources.
#
#   ruby -W0 gem-versions.rb TREE
#
# Bundled gems are in MRI's list. A default gem has a specification among the sources, which reads its version from them.

require "rubygems"

tree = File.expand_path(ARGV.fetch(0))
bundled = File.readlines("#{tree}/gems/bundled_gems").grep(/^[a-z]/).to_h { |line| line.split.first(2) }
default = Dir["#{tree}/{lib,ext}/**/*.gemspec"].sort.filter_map do |path|
  specification = Gem::Specification.load(path)
  [specification.name, specification.version.to_s] if specification&.version
rescue StandardError, ScriptError
  nil
end
default.to_h.merge(bundled).sort.each { |name, version| puts "#{name} #{version}" }
