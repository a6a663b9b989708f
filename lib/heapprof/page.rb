# frozen_string_literal: true

# heapprof/page - a profile as the program heapprof shows it: as a page for a browser, and in the format of speedscope.
# ObjectSpace::HeapProfile loads this file when it is first asked for one.

require "tempfile"
require_relative "program"

module ObjectSpace
  class HeapProfile
    module Page # :nodoc:
      class << self
        def refuse_value(type, types)
          raise ArgumentError, "#{type.inspect} is no value of a profile (expected one of #{types.map(&:inspect).join(", ")})"
        end

        def html(profile, sources)
          run(profile, "view", "--output=-", *source_words(sources)).force_encoding(Encoding::UTF_8)
        end

        def speedscope(profile)
          run(profile, "convert", "--to=speedscope").force_encoding(Encoding::UTF_8)
        end

        # Returns the name of the page.
        def view(profile, path, sources, open)
          words = path ? ["--output=#{File.expand_path(path)}"] : []
          words << "--open" if open.nil? ? path.nil? && desktop? : open
          name = run(profile, "view", *words, *source_words(sources)).chomp
          path ? File.path(path) : name.force_encoding(Encoding.default_external)
        end

        private

        # The program reads the profile from a file without a name.
        def run(profile, command, *words)
          Tempfile.create(anonymous: true) do |file|
            file.binmode
            profile.write(file)
            file.rewind
            Heapprof::Program.run(command, *words, "--", "-", input: file)
          end
        end

        def source_words(sources)
          return ["--no-sources"] if sources == false
          directory = sources.nil? ? narrow(Dir.pwd) : File.path(sources)
          directory ? ["--sources=#{directory}"] : []
        end

        # Returns nil for a directory that has all of the user's files below it.
        def narrow(directory)
          home = ENV["HOME"]
          wide = directory == "/" || (home && "#{File.realpath(home)}/".start_with?("#{directory}/"))
          directory unless wide
        rescue SystemCallError
          nil
        end

        def desktop?
          $stdout.tty? && (ENV.key?("DISPLAY") || ENV.key?("WAYLAND_DISPLAY"))
        end
      end
    end
  end
end
