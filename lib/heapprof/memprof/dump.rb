# frozen_string_literal: true

require "json"
require_relative "fields"
require_relative "output"
require_relative "track"
require_relative "../plain"

module Memprof
  class << self
    # call-seq:
    #   dump { ... } -> nil
    #   dump(path) { ... } -> nil
    #
    # Writes what the block has made and is alive at its end, each object with all it holds: as JSON, one object a line, into
    # that file; or on stderr, over several lines to be read by people. See dump_all for what is in a line.
    #
    #   require "json"
    #   Memprof.dump("made.json") { $kept = [1, :two, nil] }
    #   made = File.readlines("made.json").map { |line| JSON.parse(line) }
    #   made.last["data"]   # => [1, ":two", nil]
    #
    # Within start and stop, what was made before is written, too. The values of strings are in it: keep it as you would
    # keep them. Only its owner may read the file.
    #
    # Raises ArgumentError without a block, RuntimeError while ObjectSpace::HeapProfile runs for somebody else,
    # SystemCallError for a file that cannot be written. When the block raises nothing is written.
    def dump(path = nil)
      raise ArgumentError, "a block is needed: whose objects should be dumped?" unless block_given?
      following do
        yield
        format = path ? :generate : :pretty_generate
        Output.open(path) do |io|
          Output.lines(io) { |lines| each_made { |fields| lines << Heapprof::Plain.json(JSON.public_send(format, fields)) } }
        end
      end
      nil
    end

    private

    # What the program sees, and has made itself.
    def each_made
      Reflection.each_object do |object, fields|
        file = fields["file"]
        next if fields["class"].nil? || file.nil? || file.start_with?(*OWN)
        Fields.add(fields, object) if object
        yield fields
      end
    end
  end
end
