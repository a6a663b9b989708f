# frozen_string_literal: true

# test_memprof_require.rb - require "memprof" (lib/memprof.rb): ours, unless the gem is installed; then the gem, with and without
# Bundler. The gem here is one of that name with a file for each feature.

require_relative "lib/heapprof_test"

class TestHeapProfMemprofRequire < Test::Unit::TestCase
  include HeapProfTest

  FEATURES = %w[memprof memprof/middleware memprof/tracer memprof/signal].freeze
  WHOSE = 'p(defined?(Memprof::GEM) ? :gem : Memprof.respond_to?(:dump_all) ? :ours : :nobodys)'

  def required(*args, feature: "memprof", env: {}, first: "")
    ran = run_ruby(*args, "-e", "#{first}; p require(#{feature.dump}); #{WHOSE}", env: env)
    assert ran.status.success?, ran.err
    assert_empty ran.err
    ran.out.split
  end

  # A directory for GEM_HOME that has the gem.
  def with_gem
    in_directory do |directory|
      %w[1.0 2.0].each do |version|
        lib = "#{directory}/gems/memprof-#{version}/lib"
        FeatureFiles.each(lib, version) { |path, text| FileUtils.mkdir_p(File.dirname(path)) and File.write(path, text) }
        FileUtils.mkdir_p("#{directory}/specifications")
        File.write("#{directory}/specifications/memprof-#{version}.gemspec", <<~RUBY)
          Gem::Specification.new do |spec|
            spec.name, spec.version, spec.summary, spec.authors, spec.require_paths = "memprof", #{version.dump}, "one", ["nobody"], ["lib"]
            spec.files = Dir.glob("lib/**/*.rb")
          end
        RUBY
      end
      yield directory
    end
  end

  module FeatureFiles
    def self.each(lib, version)
      FEATURES.each { |feature| yield "#{lib}/#{feature}.rb", "module Memprof; GEM = #{version.dump} unless defined?(GEM); end\n" }
    end
  end

  def test_without_the_gem_it_is_ours
    in_directory do |directory|
      FEATURES.each do |feature|
        assert_equal %w[true :ours], required(feature: feature, env: { "GEM_HOME" => directory, "GEM_PATH" => directory }), feature
        assert_equal %w[true :ours], required("--disable-gems", feature: feature), feature
      end
    end
  end

  def test_with_the_gem_it_is_the_gem
    with_gem do |directory|
      env = { "GEM_HOME" => directory, "GEM_PATH" => directory }
      FEATURES.each { |feature| assert_equal %w[true :gem], required(feature: feature, env: env), feature }
      ran = run_ruby("-e", 'require "memprof"; p Memprof::GEM, Gem.loaded_specs["memprof"].version.to_s, require("memprof")', env: env)
      assert_clean ran, out: "\"2.0\"\n\"2.0\"\nfalse\n"
      assert_equal %w[true :gem], required(env: env, first: 'gem "memprof", "1.0"')
      assert_equal %w[true :ours], required(feature: "heapprof/memprof", env: env)
    end
  end

  # With a Gemfile only its gems are there.
  def test_with_bundler_it_is_what_the_gemfile_says
    with_gem do |directory|
      { "gem 'memprof', '1.0'" => ":gem", "" => ":ours" }.each do |gems, whose|
        File.write("Gemfile", "#{gems}\n")
        FileUtils.rm_f("Gemfile.lock")
        env = { "GEM_HOME" => directory, "GEM_PATH" => directory, "BUNDLE_GEMFILE" => "#{directory}/Gemfile", "HOME" => directory }
        assert_equal ["true", whose], required(env: env, first: 'require "bundler/setup"'), gems
      end
    end
  end

  # ../heapprof/memprof is loaded once, by whatever name.
  def test_it_is_loaded_once
    in_child(<<~'RUBY')
      assert require("memprof")
      refute require("memprof")
      refute require("heapprof/memprof")
      assert require("memprof/tracer")
      assert_equal [nil, true], [Memprof.trace_filename, Memprof::Tracer.instance_method(:call).owner == Memprof::Tracer]
    RUBY
  end
end
