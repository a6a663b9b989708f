# frozen_string_literal: true

# guide.rb - a guide as steps: what its reader does, and what is seen then.
#
#   ```sh     commands, a line each, word for word. A server goes on until the text says Ctrl-C, or another starts
#   ```diff   a change to the program
#   ```       what the last command has printed
#   ```ruby   and so on: what the guide is about
#
# Of what is printed, figures differ from run to run, and so do PIDs, addresses and versions of gems. What has to be the same: each line,
# the table and the part of it where it stands, and the line that comes first there. "..." stands for any lines.

class Guide
  # kind: what stands behind "```"; "stop".
  Step = Struct.new(:kind, :text, :line)

  attr_reader :steps

  def initialize(path)
    @steps = []
    fence = nil
    File.foreach(path, chomp: true).with_index(1) do |line, number|
      if fence
        line == "```" ? (@steps << fence; fence = nil) : fence.text << line << "\n"
      elsif line.start_with?("```")
        fence = Step.new(line.delete_prefix("```"), +"", number)
      elsif line.include?("Ctrl-C")
        @steps << Step.new("stop", line, number)
      end
    end
    raise "#{path}: a fence has no end" if fence
  end

  # A row has figures, then what it is of. In gems' paths versions and lines change.
  ROW = /\A~? +-?[\d.,]+( [kMGT]?B)? .*?  (?=\S*[^\d.,%\s±])(?!.*  )/

  def self.what(line)
    line = line.sub(ROW, "") unless line.start_with?("        ") && !line.match?(/\A +-?[\d.,]+ /)
    line = line.gsub(/[\d.,]+( [kMGT]?B)?/, "#") if line.match?(/-\d[\d.]*\/|\A\d+ process|\A[\d.,]+ more row|C code holds|\AVerdict: |\A\S+ \(\d+\): |\A\d+\. `|\Aall live objects|: [\d,]+ new /)
    line.strip.gsub(/\b0x\h+( +[\d.,]+ [kMGT]?B)?/, "0x#").gsub(/\d+ bytes?/, "# bytes") # malloc gives now and then more than what was asked for
  end

  # [table, part of it, line, whether it is the first there] of each line that says something.
  def self.places(text)
    table = part = nil
    above = ""
    text.lines(chomp: true).filter_map do |line|
      place = nil
      case line
      when /\A *(growth|value) +±/, /\A\s*\z/, "..." then nil
      when /\Aby .*:\z/ then table, part = line, nil
      when "kept growing:", "the others:", "all else:" then part = line
      else
        table = part = nil if line.match?(/\A[^\s~]/)
        place = [table, part, what(line), above == part]
      end
      above = line
      place
    end
  end

  # What of the guide's output is not so in this one.
  def self.differences(expected, actual)
    there = places(actual)
    places(expected).filter_map do |*place, first|
      name = place.compact.join(" / ")
      if there.none? { |*other, _| other == place } then "not there: #{name}"
      elsif first && !there.include?([*place, true]) then "not the first: #{name}"
      end
    end
  end
end
