# frozen_string_literal: true

# collections.rb - an object in a collection of each kind, and in lists.

class Kinds
  kind "Struct member", "WithMember = Struct.new(:one, :kept); IN_MEMBER = WithMember.new(1, THING)", /IN_MEMBER -> \.?kept/
  kind "Struct of many members", "Wide = Struct.new(*(0...20).map { |i| :\"m\#{i}\" }); IN_WIDE = Wide.new(*[1] * 17, THING)", /IN_WIDE -> \.?m17/
  kind "member of Data", "Point = Data.define(:x, :kept); IN_DATA = Point.new(x: 1, kept: THING)", /IN_DATA -> \.?kept/
  kind "Array element", "IN_ARRAY = [1, 2, 3, THING]", /IN_ARRAY -> \[3\]/
  kind "element of a shared Array", "SLICED = (Array.new(99) { 1 } << THING).then { |all| all[50..] }", /SLICED -> (shared -> )?\[\d+\]/
  kind "Array used as a queue", "SHIFTED = Array.new(99) { 1 } << THING; 9.times { SHIFTED.shift }", /SHIFTED -> \[\d+\]/, never: /shared/
  kind "nested Arrays", "NESTED = [[1, [2, [3, THING]]]]", /NESTED -> \[0\] -> \[1\] -> \[1\] -> \[1\]/
  kind "Hash key", "AS_KEY = { THING => 1 }", /AS_KEY -> \(?key/
  kind "Hash value by symbol", "BY_SYMBOL = { kept: THING }", /BY_SYMBOL -> \[:kept\]/
  kind "Hash value by Integer", "BY_INTEGER = { 42 => THING }", /BY_INTEGER -> \[42\]/
  kind "value of a large Hash", "LARGE_HASH = (0..99).to_h { |i| [i, i] }.merge(77 => THING)", /LARGE_HASH -> \[77\]/
  kind "value by object", "BY_OBJECT_KEY = { Object.new => THING }", /BY_OBJECT_KEY -> \(?value/
  kind "Hash default", "WITH_DEFAULT = Hash.new(THING)", /WITH_DEFAULT -> default/
  kind "local of a Hash's default proc", "WITH_PROC = THING.then { |caught| Hash.new { caught } }", /WITH_PROC -> default.*local caught/
  kind "compare_by_identity Hash", "BY_IDENTITY = {}.compare_by_identity; BY_IDENTITY[THING] = 1", /BY_IDENTITY -> \(?key/
  kind "Set", "require 'set'; IN_SET = Set[THING]", /IN_SET -> (@hash -> )?\(?key/
  kind "begin of a Range", "RANGE_BEGIN = (THING..)", /RANGE_BEGIN -> \.?begin/
  kind "end of a Range", "RANGE_END = (..THING)", /RANGE_END -> \.?end/
  kind "string of a MatchData", "MATCHED = CLASS.new('abc').match(/b/)", /MATCHED -> /, base: "String"
  kind "regexp of a MatchData", "MATCHED_BY = CLASS.new('b').match('abc')", /MATCHED_BY -> regexp/, base: "Regexp"
  kind "real part of a Complex", "COMPLEX = Complex.rect(THING, 1)", /COMPLEX -> real/, base: "Numeric"
  kind "end of a list of one step", <<~RUBY, /LIST_OF_ONE.*@rest/
    class One; def initialize(rest) = @rest = rest; end
    LIST_OF_ONE = 2000.times.inject(THING) { |rest, _| One.new(rest) }
  RUBY
  kind "end of a list of two steps", <<~RUBY, /LIST_OF_TWO.*@pair/
    class Two; def initialize(rest) = @pair = [rest]; end
    LIST_OF_TWO = 2000.times.inject(THING) { |rest, _| Two.new(rest) }
  RUBY
  kind "end of a list of three steps", <<~RUBY, /LIST_OF_THREE.*@links/
    class Three; def initialize(rest) = @links = { parents: [rest] }; end
    LIST_OF_THREE = 2000.times.inject(THING) { |rest, _| Three.new(rest) }
  RUBY
  kind "end of a chain of closures", <<~RUBY, /CLOSURES.*local rest/
    def closure(rest) = proc { rest }
    CLOSURES = 2000.times.inject(THING) { |rest, _| closure(rest) }
  RUBY
end
