# frozen_string_literal: true

# gems.rb - the programs' gems, in exactly the versions of ../gems, in a directory of their own.
#
# RubyGems downloads and installs; then each package must have the checksum that is written down.
# A directory is complete when it has the mark, and the mark is the list and the ruby they were built for.

require "digest"
require "fileutils"

class Gems
  Package = Struct.new(:name, :version, :sha256)

  attr_reader :home

  # platform: "ruby" for the sources of gems that are also released compiled; nil: what RubyGems prefers.
  def initialize(list, home, platform: nil)
    @platform = platform
    @packages = File.readlines(list).grep(/\A\w/).map { |line| Package.new(*line.split) }
    @home = home
    @mark = File.join(home, "complete")
    @wanted = "#{RUBY_DESCRIPTION}\n#{RbConfig.ruby}\n#{File.read(list)}"
  end

  def version(name)
    @packages.find { |package| package.name == name }.version
  end

  # For this process and all it starts, these and those of others.
  def use(*others)
    [self, *others].each(&:ready)
    ENV.update(environment(others))
    Gem.paths = environment(others)
  end

  def ready
    install unless File.exist?(@mark) && File.read(@mark) == @wanted
  end

  private

  def environment(others = [])
    { "GEM_HOME" => @home, "GEM_PATH" => [@home, *others.map(&:home), Gem.default_dir].join(File::PATH_SEPARATOR) }
  end

  def install
    FileUtils.rm_rf(@home)
    FileUtils.mkdir_p(@home)
    log = "#{@home}.log"
    puts "installing #{@packages.size} gems: see #{log}"
    system(environment.merge("RUBYOPT" => nil), RbConfig.ruby, "-S", "gem", "install", "--norc", "--no-document",
           "--ignore-dependencies", *@platform && "--platform=#{@platform}", *@packages.map { |package| "#{package.name}:#{package.version}" },
           in: File::NULL, out: log, err: [:child, :out]) or abort "gem install failed: see #{log}"
    @packages.each { |package| verify(package) }
    File.write(@mark, @wanted)
  end

  # The file has the platform in its name where the gem is already compiled.
  def verify(package)
    files = Dir[File.join(@home, "cache", "#{package.name}-#{package.version}{,-*}.gem")]
    sums = files.map { |file| Digest::SHA256.file(file).hexdigest }
    return if sums == [package.sha256]
    abort "#{package.name} #{package.version} has sha256 #{sums.join(' ')}, expected #{package.sha256}"
  end
end
