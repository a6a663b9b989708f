# frozen_string_literal: true

# collections.rb - leaks in collections: hashes, sets, lists, and what grows without a new object.

class Leaks
  LONG_STRINGS = ->(kept) { kept.of_type(/\AT_STRING/).select { |address| kept.graph.objects[address].bytes.between?(600, 1000) } }

  leak "Hash that memoises", <<~RUBY, holder: /\bSQUARES\b/, path: /\bSQUARES\b/, holds: %w[SQUARES]
    SQUARES = Hash.new { |all, key| all[key] = Leaked.new } # here
    def leak(n) = n.times { SQUARES[SQUARES.size] }
  RUBY

  leak "compare_by_identity Hash", <<~RUBY, holder: /\bBY_OBJECT\b/, path: /\bBY_OBJECT\b/, holds: %w[BY_OBJECT]
    BY_OBJECT = {}.compare_by_identity
    def leak(n) = n.times { BY_OBJECT[Leaked.new] = 1 } # here
  RUBY

  leak "Set", <<~RUBY, holder: /\bSEEN\b/, path: /\bSEEN\b/, holds: %w[SEEN]
    require "set"
    SEEN = Set.new
    def leak(n) = n.times { SEEN << Leaked.new } # here
  RUBY

  leak "list of Structs", <<~RUBY, holder: /\$entries\b/, path: /\$entries\b/, holds: %w[$entries], of: "Entry"
    Entry = Struct.new(:text, :rest)
    def leak(n) = n.times { $entries = Entry.new("t" * 400, $entries) } # here
  RUBY

  leak "list of Data", <<~RUBY, holder: /\bEVENTS\b/, path: /\bEVENTS\b/, holds: %w[EVENTS], of: "Event"
    Event = Data.define(:name, :body)
    EVENTS = []
    def leak(n) = n.times { EVENTS << Event.new(name: "n" * 200, body: "b" * 400) } # here
  RUBY

  leak "list of one step", <<~RUBY, holder: /\$head\b/, path: /\$head\b/, holds: %w[$head], of: "Node"
    class Node; def initialize(rest) = (@text = "n" * 400; @rest = rest); end
    def leak(n) = n.times { $head = Node.new($head) } # here
  RUBY

  leak "list of two steps", <<~RUBY, holder: /\$tail\b/, path: /\$tail\b/, holds: %w[$tail], of: "Entry"
    class Entry; def initialize(before) = (@text = "e" * 400; @pair = [before, 1]); end
    def leak(n) = n.times { $tail = Entry.new($tail) } # here
  RUBY

  leak "list of three steps", <<~RUBY, holder: /\$newest\b/, path: /\$newest\b/, holds: %w[$newest], of: "Commit"
    class Commit; def initialize(parent) = (@text = "c" * 400; @links = { parents: [parent] }); end
    def leak(n) = n.times { $newest = Commit.new($newest) } # here
  RUBY

  leak "LRU cache", <<~RUBY, holder: /\bLRU\b/, path: /\bLRU\b/, holds: %w[LRU], of: "Cell"
    class Cell
      attr_accessor :older, :newer
      def initialize(key) = (@key = key; @value = "v" * 400)
    end
    class Lru
      def initialize = @cells = {}
      def add(key)
        cell = Cell.new(key) # here
        cell.older = @newest
        @newest.newer = cell if @newest
        @newest = @cells[key] = cell
      end
      def size = @cells.size
    end
    LRU = Lru.new
    def leak(n) = n.times { LRU.add(LRU.size) }
  RUBY

  leak "string buffer", <<~RUBY, holder: /\bLOG\b/, path: /\bLOG\b/, holds: %w[LOG], of: :holder, count: 30_000, once: 12_000_000
    LOG = +""
    def leak(n) = n.times { LOG << "entry " * 20 }
  RUBY

  leak "string buffer of an object", <<~RUBY, holder: /\bPARSER\b/, path: /\bPARSER\b.*@buffer/, holds: %w[PARSER @buffer], of: :holder, count: 30_000, once: 12_000_000
    class Parser; def initialize = @buffer = +""; def feed(text) = @buffer << text; end
    PARSER = Parser.new
    def leak(n) = n.times { PARSER.feed("entry " * 20) }
  RUBY

  leak "Array of Integers", <<~RUBY, holder: /\bTIMES\b/, path: /\bTIMES\b/, holds: %w[TIMES], of: :holder, count: 200_000
    TIMES = []
    def leak(n) = n.times { |i| TIMES << i }
  RUBY

  leak "Hash of Integers", <<~RUBY, holder: /\bHITS\b/, path: /\bHITS\b/, holds: %w[HITS], of: :holder, count: 60_000, once: 20_000_000
    HITS = Hash.new(0)
    def leak(n) = n.times { HITS[HITS.size] += 1 }
  RUBY

  leak "Hash of Floats and true", <<~RUBY, holder: /@known of Flags|Flags.*@known/, path: /@known/, holds: %w[Flags @known], of: :holder, count: 60_000, once: 20_000_000
    class Flags; @known = {}; def self.set(number) = @known[number * 1.5] = true; def self.size = @known.size; end
    def leak(n) = n.times { Flags.set(Flags.size) }
  RUBY

  leak "$LOAD_PATH << the same", <<~RUBY, holder: /\$:|LOAD_PATH/, path: /\$:|LOAD_PATH/, holds: ["$LOAD_PATH"], of: :holder, count: 150_000
    PLACE = "/nowhere/lib"
    def leak(n) = n.times { $LOAD_PATH << PLACE }
  RUBY

  leak "$LOADED_FEATURES", <<~RUBY, holder: /\$"|LOADED_FEATURES/, path: /\$"|LOADED_FEATURES/, holds: ["$LOADED_FEATURES"], of: :holder, count: 4000
    def leak(n) = n.times { $LOADED_FEATURES << "/app/\#{"views/" * 80}\#{$LOADED_FEATURES.size}.rb" } # here
  RUBY

  # The table grows by blocks of 512: those that fill a block that was there before have a row of their own.
  leak "symbols", <<~'RUBY', holder: /symbol/i, path: /symbol/i, holds: ["symbol table"], of: LONG_STRINGS, count: 6000, once: 12_000_000
    def leak(n) = n.times { eval(":#{"long_name_" * 60}#{$count = $count.to_i + 1}") }
  RUBY

  leak "Regexp per key", <<~RUBY, holder: /\bPATTERNS\b/, path: /\bPATTERNS\b/, holds: %w[PATTERNS], of: "Regexp"
    PATTERNS = Hash.new { |all, word| all[word] = Regexp.new(word) } # here
    def leak(n) = n.times { PATTERNS["word \#{PATTERNS.size} " * 10] }
  RUBY

  leak "Array of Arrays of Integers", <<~RUBY, holder: /\bROWS\b/, path: /\bROWS\b/, holds: %w[ROWS], of: :holder, count: 3000
    ROWS = []
    def leak(n) = n.times { |i| ROWS << Array.new(80) { i } } # here
  RUBY

  leak "WeakKeyMap whose values hold keys", <<~RUBY, holder: /\bCOMPILED\b/, path: /\bCOMPILED\b/, holds: %w[COMPILED]
    COMPILED = ObjectSpace::WeakKeyMap.new
    def leak(n) = n.times { one = Leaked.new; COMPILED[one] = [one] } # here
  RUBY

  leak "StringIO that nobody reads", <<~RUBY, holder: /\bOUT\b/, path: /\bOUT\b/, holds: %w[OUT], of: :holder, count: 30_000, once: 12_000_000
    require "stringio"
    OUT = StringIO.new
    def leak(n) = n.times { OUT.write("entry " * 20) }
  RUBY

  leak "Logger with a StringIO", <<~RUBY, holder: /\bLOGGER\b/, path: /\bLOGGER\b/, holds: %w[LOGGER], of: :holder, count: 10_000
    require "logger"
    require "stringio"
    LOGGER = Logger.new(StringIO.new)
    def leak(n) = n.times { LOGGER.info("entry " * 20) }
  RUBY
end
