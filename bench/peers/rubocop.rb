# frozen_string_literal: true

# rubocop.rb - RuboCop, as a library, with every cop on a file of MRI's own: ruby rubocop.rb [ROUNDS]

require "rubocop"
require_relative "measure"

FILE = File.join(RbConfig::CONFIG["rubylibdir"], "find.rb")
OPTIONS = ["--config", File.expand_path("../../test/programs/rubocop.yml", __dir__), "--cache", "false", "--no-parallel",
           "--format", "quiet", "--out", File::NULL].freeze

rounds = Integer(ARGV.fetch(0, 10))
measure do
  rounds.times { RuboCop::CLI.new.run([*OPTIONS, FILE]) == 1 or abort "rubocop has nothing to say of #{FILE}" }
end
