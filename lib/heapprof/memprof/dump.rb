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
    # Writes the objects that the block has made and that are alive at its end, each with all it holds. In a file each object is
    # a line of JSON. On stderr it is several lines, for people to read. See dump_all for what is in a line.
    #
    #   require "json"
    #   Memprof.dump("made.json") { $kept = [1, :two, nil] }
    #   made = File.readlines("made.json").map { |line| JSON.parse(line) }
    #   made.last["data"]   # => [1, ":two", nil]
    #
    # Between start and stop, objects made before the block are written, too. The file has the values of strings: keep it as
    # safe as you would keep them. Only its owner may read the file.
    #
    # Raises ArgumentError without a block. Raises RuntimeError while ObjectSpace::HeapProfile runs for other code. Raises
    # SystemCallError if the file cannot be written. If the block raises, nothing is written.
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

    # Returns the objects that the program can see and that its own code has made.
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
