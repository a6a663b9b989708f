# frozen_string_literal: true

# alloy.rb - reads the configuration of Grafana Alloy as far as doc/production.md has it: blocks with labels, attributes,
# strings, booleans, arrays, objects, references.

require "strscan"

class Alloy
  Block = Struct.new(:name, :label, :attributes, :blocks) do
    # The only block of that name.
    def [](name) = blocks.find { |block| block.name == name }
  end

  def self.read(text) = new(text).read

  def initialize(text)
    @scanner = StringScanner.new(text)
  end

  def read
    body(Block.new("", nil, {}, []), -> { @scanner.eos? })
  end

  private

  NAME = /[a-z_]\w*(\.[a-z_]\w*)*/

  def body(block, ends)
    until skip && ends.call
      name = expect(NAME)
      skip
      if @scanner.skip(/=/)
        raise "#{name} is there twice" if block.attributes.key?(name)
        block.attributes[name] = (skip; value)
        expect(/[ \t]*(\n|(?=\}))/)
      else
        label = (skip; string) if @scanner.check(/"/)
        skip
        expect(/\{/)
        block.blocks << body(Block.new(name, label, {}, []), -> { @scanner.skip(/\}/) })
      end
    end
    block
  end

  def value
    case
    when @scanner.check(/"/) then string
    when @scanner.skip(/true\b/) then true
    when @scanner.skip(/false\b/) then false
    when @scanner.skip(/\[/) then list(/\]/) { value }
    when @scanner.skip(/\{/) then list(/\}/) { [string, (skip; expect(/=/); skip; value)] }.to_h
    else expect(NAME)
    end
  end

  def list(ends)
    items = []
    until skip && @scanner.skip(ends)
      items << yield
      skip
      next if @scanner.skip(/,/)
      expect(ends)
      break
    end
    items
  end

  def string = expect(/"[^"\\\n]*"/)[1..-2]

  def skip = @scanner.skip(/\s*/)

  def expect(pattern)
    @scanner.scan(pattern) or raise "expected #{pattern.source} at: #{@scanner.rest[0, 40].inspect}"
  end
end
