# frozen_string_literal: true

# test_security.rb - what has been published against MRI's archive is mended in what is built (doc/security.md): the scripts of
# doc/security, which end the ruby of the archive, and the gems of `pins`, which are what is loaded.

require_relative "lib/heapprof_test"

class TestHeapProfSecurity < Test::Unit::TestCase
  include HeapProfTest

  TOP = File.expand_path("../..", __dir__)
  UPDATED = !File.read("#{TOP}/Makefile").match?(/^export HEAPPROF_UPDATED_GEMS = no$/)
  MRI = "#{TOP}/build/src/ruby-#{RUBY_VERSION}"

  Pinned = Struct.new(:name, :version, :bundled)
  GEMS = File.read("#{TOP}/pins").scan(/^gem (\S+)\nversion (\S+)\nreleased (\S+)\n((?:.+\n)+)/).map do |name, version, released, rest|
    Pinned.new(name, UPDATED ? version : released, !rest.match?(/^into /))
  end

  # What a program sees of each: what it requires, and the version that it then has.
  LOADED = {
    "erb" => %w[erb ERB.version], "net-imap" => %w[net/imap Net::IMAP::VERSION], "resolv" => %w[resolv Resolv::VERSION],
    "rexml" => %w[rexml/document REXML::VERSION], "uri" => %w[uri URI::VERSION], "zlib" => %w[zlib Zlib::VERSION]
  }.freeze

  Dir["#{TOP}/doc/security/*.rb"].each do |path|
    define_method(:"test_#{File.basename(path, ".rb").tr("-", "_")}_does_no_harm") do
      omit "configured with MRI's own gems" unless UPDATED
      ran = run_ruby("--disable-gems", path)
      assert_equal ["ok\n", "", true], [ran.out, ran.err.lines.first.to_s, ran.status.success?]
    end
  end

  def test_there_are_pinned_gems_of_both_kinds_and_scripts
    assert_equal LOADED.keys, GEMS.map(&:name).sort
    assert_equal [false, true], GEMS.map(&:bundled).uniq.sort_by(&:to_s)
    assert_operator Dir["#{TOP}/doc/security/*.rb"].size, :>=, 2
  end

  def test_default_gems_are_the_pinned_ones_without_rubygems_too
    default = GEMS.reject(&:bundled)
    script = default.map { |gem| LOADED.fetch(gem.name).then { |feature, version| "require '#{feature}'; puts #{version}" } }.join("\n")
    [%w[--disable-gems -rrbconfig], []].each do |options| # MRI's resolv asks for RbConfig and does not load it
      assert_equal default.map(&:version), run_ruby(*options, "-e", script).out.lines(chomp: true)
    end
  end

  # As make install takes them: RubyGems goes by these.
  def test_specifications_of_default_gems_name_the_pinned_versions
    GEMS.reject(&:bundled).each do |gem|
      specifications = Dir["#{MRI}/{lib,ext}/**/#{gem.name}.gemspec"]
      said = run_ruby("-e", "puts Gem::Specification.load(ARGV.fetch(0)).version", *specifications)
      assert_equal [gem.version], said.out.lines(chomp: true), said.err
    end
  end

  def test_bundled_gems_are_the_pinned_ones_and_the_older_ones_are_not_there
    GEMS.select(&:bundled).each do |gem|
      feature, version = LOADED.fetch(gem.name)
      script = "gem '#{gem.name}'; require '#{feature}'; puts #{version}, Gem.loaded_specs['#{gem.name}'].version"
      said = run_ruby("-e", script, env: { "GEM_PATH" => "#{MRI}/.bundle", "GEM_HOME" => "#{MRI}/.bundle" })
      assert_equal [gem.version] * 2, said.out.lines(chomp: true), said.err
      assert_equal ["#{gem.name}-#{gem.version}"], Dir.children("#{MRI}/.bundle/gems").grep(/\A#{gem.name}-[\d.]+\z/)
      assert_match(/^#{gem.name} +#{Regexp.escape(gem.version)} /, File.read("#{MRI}/gems/bundled_gems"))
    end
  end
end
