# frozen_string_literal: true

# kinds.rb - all actors, and the names of all kinds of steps.

require_relative "actor"
Dir.glob("../actors/*.rb", base: __dir__).sort.each { |file| require_relative file }

module Torture
  ACTORS = constants.map { |name| const_get(name) }.grep(Class).select { it < Actor }.sort_by(&:name).freeze
  KINDS = (ACTORS - (Check::RACTORS ? [] : [Ractors])).flat_map(&:kinds).freeze
end
