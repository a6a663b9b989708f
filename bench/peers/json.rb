# frozen_string_literal: true

# json.rb - a document of 2,000 records, parsed and generated: ruby json.rb [ROUNDS]

require "json"
require_relative "measure"

DOCUMENT = JSON.generate(Array.new(2_000) do |i|
  { id: i, name: "name #{i}", price: i / 7.0, tags: %w[red green blue], at: { x: i, y: nil, z: true } }
end)

rounds = Integer(ARGV.fetch(0, 60))
def work = JSON.generate(JSON.parse(DOCUMENT))
measure { rounds.times { work } }
