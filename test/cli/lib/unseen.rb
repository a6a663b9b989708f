# frozen_string_literal: true

# unseen.rb - names with each kind of character that nobody sees or that a terminal obeys, and that none of it comes out.
#
# What these characters are is said by MRI's regular expressions, not by the table that is tested (base/unseen.c).

module Unseen
  PATTERN = /\p{Cc}|\p{Cf}|\p{Zl}|\p{Zp}|\p{Default_Ignorable_Code_Point}|\p{Noncharacter_Code_Point}/
  ALL = ((0..0xd7ff).to_a + (0xe000..0x10ffff).to_a).map { |code| [code].pack("U") }.grep(PATTERN).freeze

  # Of each range the first and the last.
  ENDS = ALL.map(&:ord).slice_when { |one, other| other > one + 1 }.flat_map { |range| [range.first, range.last] }.uniq

  # No NUL, which ends a name in many places.
  NAME = "<#{(ENDS - [0, 0x0a, 0x2f]).pack("U*")}\n\u00e9>"
  PATH = NAME.tr("\n", "\t") # where a newline would end a line of what is read

  # Short enough for a file's name.
  FILE = "<#{[1, 0x1b, 0x7f, 0x85, 0x9b, 0xad, 0x61c, 0x200b, 0x200e, 0x200f, 0x2028, 0x2029, 0x202e, 0x2066, 0xfeff, 0xe0001, 0xe0041].pack("U*")}>"

  # lines: newlines are the tool's own.
  def assert_seen(text, message = nil, lines: "\n")
    assert_predicate text, :valid_encoding?, message
    found = text.delete(lines)[PATTERN]
    assert_nil found, "#{message}: #{found&.dump} in #{text.lines.find { |line| line.delete(lines).match?(PATTERN) }&.dump}"
  end
end
