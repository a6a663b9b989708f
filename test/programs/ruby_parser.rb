# frozen_string_literal: true

# ruby_parser.rb - a gem that ships its tests: 12,529 of them, on seven generated parsers.

class RubyParserSuite < Program
  describe "ruby_parser: its own test suite", gems: %w[ruby_parser sexp_processor],
           holds: /RubyLexer|RubyParser|Sexp/

  def work
    suite = %w[minitest/autorun ./test/test_ruby_lexer ./test/test_ruby_parser].map { |file| "require #{file.dump}" }
    ruby("-Ilib", "-Itest", "-e", suite.join(";"), "--", "--seed", "1",
         chdir: gem_directory("ruby_parser")) { |out| without_times(out) }
  end

  private

  def without_times(out)
    out.gsub(/^Finished in .*$/, "Finished")
  end
end
