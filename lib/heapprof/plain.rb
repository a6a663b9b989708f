# frozen_string_literal: true

module Heapprof
  # Makes names that cannot be trusted safe to look at: control characters and invisible characters are escaped. The
  # characters are those of base/unseen.c, whose table is made from these properties.
  module Plain # :nodoc:
    UNSEEN = /\p{Cc}|\p{Cf}|\p{Zl}|\p{Zp}|\p{Default_Ignorable_Code_Point}|\p{Noncharacter_Code_Point}/
    IN_JSON = /(?!\n)#{UNSEEN}/ # all other characters below U+0020 are escaped already

    # Writes each byte of these characters, and each byte that is not UTF-8, as \xHH, as the texts of heapprof do.
    def self.text(text)
      text = text.encoding == Encoding::UTF_8 ? text : String.new(text, encoding: Encoding::UTF_8)
      text.scrub { |bytes| spelled(bytes) }.gsub(UNSEEN) { |character| spelled(character) }
    end

    # Returns JSON with these characters as \uXXXX.
    def self.json(json)
      json.gsub(IN_JSON) { |character| character.encode(Encoding::UTF_16BE).unpack("n*").map { |unit| format("\\u%04x", unit) }.join }
    end

    def self.spelled(bytes) = bytes.bytes.map { |byte| format("\\x%02X", byte) }.join
    private_class_method :spelled
  end
end
