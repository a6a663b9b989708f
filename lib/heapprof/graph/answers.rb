# frozen_string_literal: true

# heapprof/graph/answers - what a dump answers (../graph.rb), as frozen objects. Each is made of the JSON of a command of heapprof
# graph. A field is nil where the command does not say it.

require_relative "../plain"

module ObjectSpace
  module HeapGraph
    # Text of numbers and names for people.
    module Words # :nodoc:
      module_function

      def count(number, noun) = "#{number} #{noun}#{"s" if number != 1}"

      def bytes(number) = count(number, "byte")

      def lines(first, rest) = [first, *rest].map { |line| Heapprof::Plain.text(line.to_s) }.join("\n")

      def frames(stack)
        stack.to_a.map { |frame| HeapProfile::Frame.new(frame["file"], frame["line"], frame["method"]) }.freeze
      end
    end
    private_constant :Words

    # An object of a dump.
    #
    # [address] its address in the dump, as "0x7f3a5c0210a8"
    # [name] what it is, as "Cart", "class Cart", "String"
    # [bytes] its own bytes, in its slot and outside
    # [retained] the bytes that would be free without it: its own, and those of all that only it leads to
    class Node < Data.define(:address, :name, :bytes, :retained)
      def self.of(row) # :nodoc:
        row && new(*row.values_at("address", "name", "bytes", "retained"))
      end

      # "Cart 0x7f3a5c0210a8, which retains 1960 bytes".
      def to_s = Words.lines("#{name} #{address}, which retains #{Words.bytes(retained)}", [])
    end

    # What Dump#report returns.
    #
    # [objects, bytes] the live objects of the dump: how many, and their bytes
    # [suspects] what keeps most of them alive: an Array of Suspect, the largest first
    # [stuck] the threads and fibers that nobody can wake: a Stuck
    class Report < Data.define(:objects, :bytes, :suspects, :stuck)
      def self.of(answer) # :nodoc:
        new(answer["objects"], answer["bytes"], answer["suspects"].map { |row| Suspect.of(row) }.freeze, Stuck.of(answer["stuck"]))
      end

      # A line for each suspect.
      def to_s
        first = "#{Words.count(objects, "object")} alive, #{Words.bytes(bytes)}; #{Words.count(suspects.size, "suspect")}"
        Words.lines(first, suspects.each_with_index.map { |suspect, i| "#{i + 1}. #{suspect.text}" })
      end
    end

    # Threads and fibers that wait for what nobody can give them any more, as <tt>heapprof graph stuck</tt> finds them.
    #
    # [threads, fibers] how many there are
    # [bytes] what would be free without them
    class Stuck < Data.define(:threads, :fibers, :bytes)
      def self.of(row) # :nodoc:
        new(*row.values_at("threads", "fibers", "bytes"))
      end

      # "3 threads and 1 fiber stuck, 1960 bytes".
      def to_s
        Words.lines("#{Words.count(threads, "thread")} and #{Words.count(fibers, "fiber")} stuck, #{Words.bytes(bytes)}", [])
      end
    end

    # An object, or objects side by side, without which much memory would be free.
    #
    # [text] all of it in a sentence
    # [retained] the bytes that would be free
    # [count] how many objects side by side; 1: one object
    # [object] the object, or one of those side by side: a Node
    # [gathered] the object in which the memory is gathered: a Node
    # [way] the strongest path from a root to that object, as "global $carts -> [3]"
    # [stack] where the object was allocated: an Array of HeapProfile::Frame, empty if it is not sampled
    class Suspect < Data.define(:text, :retained, :count, :object, :gathered, :way, :stack)
      def self.of(row) # :nodoc:
        new(row["text"], row["retained"], row["count"], Node.of(row["object"]), Node.of(row["gathered"]), row["way"],
            Words.frames(row["stack"]))
      end

      # The sentence.
      def to_s = Words.lines(text, [])
    end

    # A row of Dump#top. By stack and by file the numbers are estimates.
    #
    # [name] the class, the innermost frames, the file, or the age
    # [bytes] the objects' own bytes
    # [retained] the bytes that would be free without these objects. Those of different groups overlap
    # [objects] how many objects
    # [stack] where they were allocated, an Array of HeapProfile::Frame; +nil+ unless it is by stack
    class Group < Data.define(:name, :bytes, :retained, :objects, :stack)
      def self.of(row) # :nodoc:
        new(*row.values_at("name", "bytes", "retained", "objects"), row["stack"] && Words.frames(row["stack"]))
      end

      # "String: 20 objects, 800 bytes, 960 retained".
      def to_s = Words.lines("#{name}: #{Words.count(objects, "object")}, #{Words.bytes(bytes)}, #{retained} retained", [])
    end

    # A path from a root that keeps objects alive.
    #
    # [way] the path, as "global $carts -> []". Without numbers in brackets it is that of several objects
    # [objects, bytes] how many objects are kept by this path, and their own bytes
    # [example] one of them: a Node
    class Way < Data.define(:way, :objects, :bytes, :example)
      # The answer for a class has a row for each path. That for an address has the object and its paths.
      def self.all_in(answer) # :nodoc:
        return answer.map { |row| new(row["way"], row["objects"], row["bytes"], Node.of(row["example"])) }.freeze if Array === answer
        object = Node.of(answer)
        answer["ways"].map { |row| new(row["way"], 1, object.bytes, object) }.freeze
      end

      # "10 objects, 400 bytes: global $carts -> []".
      def to_s = Words.lines("#{Words.count(objects, "object")}, #{Words.bytes(bytes)}: #{way}", [])
    end

    # What Dump#query returns.
    #
    # [objects, bytes] all objects that fulfil the condition: how many, and their own bytes
    # [retained] the bytes that would be free without all of them
    # [rows] the first of them: an Array of Match
    class Selection < Data.define(:objects, :bytes, :retained, :rows)
      def self.of(answer) # :nodoc:
        new(*answer.values_at("objects", "bytes", "retained"), answer["rows"].map { |row| Match.of(row) }.freeze)
      end

      # A line for each row.
      def to_s
        Words.lines("#{Words.count(objects, "object")}, #{Words.bytes(bytes)}, #{retained} retained", rows)
      end
    end

    # An object that fulfils a condition. Its first four fields are those of a Node.
    #
    # [class_name] the name of its class
    # [length] of a String its bytes, of a collection its elements; +nil+ of other objects
    # [capacity, unused] how many of these have room; bytes of room that is not used. +nil+ where there is none
    # [way] the strongest path from a root
    class Match < Data.define(:address, :name, :bytes, :retained, :class_name, :length, :capacity, :unused, :way)
      def self.of(row) # :nodoc:
        new(*row.values_at("address", "name", "bytes", "retained", "class", "length", "capacity", "unused", "way"))
      end

      # "Cart 0x7f3a5c0210a8, which retains 1960 bytes: global $carts -> [9]".
      def to_s = Words.lines("#{name} #{address}, which retains #{Words.bytes(retained)}: #{way}", [])
    end

    # What Dump#diff returns.
    #
    # [bytes] the live bytes of each dump, an Array; +nil+ by class
    # [growth] how much more the last one has than the first one; +nil+ by class
    # [inexact] why objects could not be told apart for certain: a String, or +nil+
    # [rows] an Array of Growth, or of ClassGrowth if the group is +:class+
    # [rest] the growth that no row of the answer has; +nil+ by class
    class Difference < Data.define(:bytes, :growth, :inexact, :rows, :rest)
      def self.of(answer, limit) # :nodoc:
        rows = answer["classes"]&.map { |row| ClassGrowth.of(row) } || answer["rows"].map { |row| Growth.of(row) }
        shown = limit > 0 ? rows.first(limit) : rows
        rest = answer["rest"] && answer["rest"] + rows.drop(shown.size).sum(&:growth)
        new(answer["bytes"], answer["growth"], answer["inexact"], shown.freeze, rest)
      end

      # A line for each row.
      def to_s
        first = growth ? "#{Words.bytes(bytes.first)} alive at first, #{bytes.last} at last: #{format("%+d", growth)}" : "by class"
        Words.lines(first, rows)
      end
    end

    # What an object holds more of than before. The object lived through all dumps.
    #
    # [growth] the bytes that it holds more
    # [by_step] the same from each dump to the next: an Array of Integer
    # [new_objects, new_bytes] what came
    # [freed_objects, freed_bytes] what went
    # [grown] by how much objects became larger in place
    # [what] all of it in a sentence
    # [way] the strongest path from a root to the holder
    # [holder] the object: a Node
    # [example] one of the new objects: a Node, or +nil+
    # [stack] where that one was allocated: an Array of HeapProfile::Frame, empty if it is not sampled
    class Growth < Data.define(:growth, :by_step, :new_objects, :new_bytes, :freed_objects, :freed_bytes, :grown, :what, :way,
                               :holder, :example, :stack)
      def self.of(row) # :nodoc:
        came, went = row["new"] || {}, row["freed"] || {}
        new(row["growth"], row["by_step"], came["objects"], came["bytes"], went["objects"], went["bytes"], row["grown"],
            row["what"], row["way"], Node.of(row["holder"]), Node.of(row["example"]), Words.frames(row["stack"]))
      end

      # "+197008  Array  global $c: 1,300 new objects, ...".
      def to_s = Words.lines("#{format("%+d", growth)}  #{what}", [])
    end

    # How many objects of a class came and went.
    #
    # [name] the class
    # [objects, bytes] how many were alive in each dump, and their own bytes: Arrays of Integer
    # [new_objects, freed_objects] how many came, and how many went
    class ClassGrowth < Data.define(:name, :objects, :bytes, :new_objects, :freed_objects)
      def self.of(row) # :nodoc:
        new(*row.values_at("name", "objects", "bytes", "new", "freed"))
      end

      # The bytes that there are more of.
      def growth = bytes.last - bytes.first

      # "+4000 bytes  Cart: 10, then 110 objects".
      def to_s = Words.lines("#{format("%+d", growth)} bytes  #{name}: #{objects.join(", then ")} objects", [])
    end
  end
end
