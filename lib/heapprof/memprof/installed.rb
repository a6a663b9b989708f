# frozen_string_literal: true

require "rbconfig"

module Heapprof
  # The gem memprof, if it is installed.
  module InstalledMemprof # :nodoc:
    SUFFIXES = [".rb", ".#{RbConfig::CONFIG["DLEXT"]}"].freeze
    private_constant :SUFFIXES

    # Activates the gem and loads its feature. Returns whether there is a gem that has it. The file is named in full, because the
    # feature of that name is being loaded already.
    def self.load(feature)
      spec = find or return false
      spec.activate
      file = spec.full_require_paths.product(SUFFIXES).map { |path, suffix| File.join(path, "#{feature}#{suffix}") }
                 .find { |path| File.file?(path) } or return false
      require file
      true
    end

    # Returns the version that is activated, or else the newest one. With Bundler the gems are those of the Gemfile.
    def self.find
      return unless defined?(Gem::Specification)
      Gem.loaded_specs["memprof"] || Gem::Specification.find_all_by_name("memprof").max_by(&:version)
    end
    private_class_method :find
  end
end
