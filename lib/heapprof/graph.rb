# frozen_string_literal: true

# heapprof/graph - a dump of the object graph, as ObjectSpace::HeapGraph.load returns it, and what it answers.
#
#     Dump#report  -> Report      -> Suspect -> Node, Frame
#     Dump#top     -> Group                  -> Frame
#     Dump#why     -> Way                    -> Node
#     Dump#query   -> Selection   -> Match
#     Dump#diff    -> Difference  -> Growth  -> Node, Frame
#                                 or ClassGrowth
#
# Each question is a run of the program heapprof with --json, so the heap is read in a process of its own. All answers are frozen,
# and Ractors may share them. Bytes are bytes, not estimates, except where a sample stands for other objects (Dump#top). to_s of an
# answer is text for people, in which no character is invisible.

require "json"
require_relative "graph/answers"
require_relative "plain"
require_relative "program"

module ObjectSpace
  module HeapGraph
    # A dump of the object graph in a file. The file is read again for each question, so it has to stay where it is.
    #
    # [path] the file, as an absolute path
    # [objects, bytes] the live objects: how many, and their own bytes in slots and outside
    # [references, roots] how many references and roots the dump has
    # [sampled_objects] how many objects have the stack that allocated them
    # [complete] whether the whole file is there; +false+ if it was cut
    # [process] what the file says about the process, such as "pid", "ruby", "time" (in nanoseconds since 1970): a Hash of Strings
    # [memory, exact] as they were given to HeapGraph.load
    class Dump < Data.define(:path, :objects, :bytes, :references, :roots, :sampled_objects, :complete, :process, :memory, :exact)
      class << self
        def load(path, memory: nil, exact: false) # :nodoc:
          path = File.expand_path(path).freeze
          File.open(path, &:close)
          facts = ask("info", [path])
          new(path: path, objects: facts["objects"], bytes: facts["bytes"], references: facts["references"], roots: facts["roots"],
              sampled_objects: facts["sampled_objects"], complete: facts["complete"],
              process: facts["process"].to_h { |key, value| [key, value] }.freeze, memory: memory&.to_s&.freeze, exact: exact)
        end

        # Operands come behind "--": none is taken for an option, whatever a class is called.
        def ask(command, operands, *options) # :nodoc:
          text = Heapprof::Program.run("graph", command, "--json", *options, "--", *operands) { |said| warn(said) }
          JSON.parse(text.force_encoding(Encoding::UTF_8), freeze: true)
        end

        private :new
      end

      # call-seq:
      #   report(least: 5, limit: 5) -> report
      #
      # Returns what keeps most of the live memory, as <tt>heapprof graph report</tt> says it: a Report.
      #
      # [least] what part of the live memory a suspect keeps at least, in whole percent; no less than 1 MB
      # [limit] how many suspects
      #
      #   puts ObjectSpace::HeapGraph.load("heap.rbgraph").report
      def report(least: 5, limit: 5)
        Report.of(ask("report", [path], "--least=#{Integer(least)}", "--count=#{Integer(limit)}"))
      end

      # call-seq:
      #   top(group: :class, retained: false, limit: 20) -> array
      #
      # Returns what there is most of, as <tt>heapprof graph top</tt> says it: an Array of Group.
      #
      # [group] What a group stands for: +:class+; +:stack+ or +:file+, where the objects were allocated, if the profiler was on;
      #         +:age+
      # [retained] whether the groups that retain most come first, or those with most bytes
      # [limit] how many groups; 0: all
      #
      #   dump.top(limit: 3).map(&:name)   # => ["String", "T_IMEMO(iseq)", "Array"], for instance
      def top(group: :class, retained: false, limit: 20)
        options = ["--group=#{group}", "--count=#{Integer(limit)}"]
        options << "--retained" if retained
        ask("top", [path], *options).map { |row| Group.of(row) }.freeze
      end

      # call-seq:
      #   why(class_or_address, limit: 10) -> array
      #
      # Returns what keeps the objects of a class alive, or one object, as <tt>heapprof graph why</tt> says it: an Array of Way. Of
      # a class each way is that of the objects that are kept alike. Of an object it is the strongest path from a root, then paths
      # that share nothing with it except what all share.
      #
      # [class_or_address] a Class, its name, or an address: an Integer, or a String such as "0x7f3a5c0210a8"
      # [limit] how many ways for a class; 0: all
      #
      #   dump.why("Cart").first.to_s   # => "10 objects, 400 bytes: global $c -> []", for instance
      #
      # Raises ArgumentError if no live object of the dump is meant.
      def why(class_or_address, limit: 10)
        Way.all_in(ask("why", [path, subject(class_or_address)], "--count=#{Integer(limit)}"))
      end

      # call-seq:
      #   query(expression = nil, sort: :retained, limit: 20) -> selection
      #
      # Returns the live objects that fulfil a condition, as <tt>heapprof graph query</tt> finds them: a Selection.
      #
      # [expression] such as "Hash with length > 1000" (doc/graph-query.md); +nil+: all objects
      # [sort] what the first ones have most of: +:retained+, +:bytes+, +:length+, +:size+, +:capacity+, +:fill+, +:unused+, +:refs+,
      #        +:age+ or +:line+
      # [limit] how many objects it has one by one; 0: all
      #
      #   dump.query("String with bytes > 1M").objects   # => 3, for instance
      #
      # Raises ArgumentError for an expression that is wrong; the message says at which column.
      def query(expression = nil, sort: :retained, limit: 20)
        Selection.of(ask("query", [path, *expression], "--sort=#{sort}", "--count=#{Integer(limit)}"))
      end

      # call-seq:
      #   diff(*newer, group: nil, limit: 20) -> difference
      #
      # Returns what has grown since this dump, as <tt>heapprof graph diff</tt> says it: a Difference.
      #
      # [newer] later dumps of the same process, or paths of these, the oldest first. With two or more, what grew each time comes
      #         first.
      # [group] +nil+: by what holds the growth; +:class+: all classes side by side
      # [limit] how many rows; 0: all
      #
      #   puts ObjectSpace::HeapGraph.load("before.rbgraph").diff("after.rbgraph")
      def diff(*newer, group: nil, limit: 20)
        raise ArgumentError, "a later dump is needed: what should it be compared with?" if newer.empty?
        paths = newer.map { |dump| Dump === dump ? dump.path : File.expand_path(dump) }
        options = group ? ["--group=#{group}"] : []
        Difference.of(ask("diff", [path, *paths], *options), Integer(limit))
      end

      # call-seq:
      #   inspect -> string
      #
      # Returns a line such as "#<ObjectSpace::HeapGraph::Dump heap.rbgraph: 18295 objects, 3408825 bytes>".
      def inspect
        "#<#{self.class} #{Heapprof::Plain.text(File.basename(path))}: #{objects} objects, #{bytes} bytes>"
      end
      alias to_s inspect

      private

      def ask(command, operands, *options)
        options << "--memory=#{memory}" if memory
        options << "--exact" if exact
        Dump.ask(command, operands, *options)
      end

      def subject(class_or_address)
        case class_or_address
        when Module then class_or_address.name or raise ArgumentError, "#{class_or_address.inspect} has no name: give an address"
        when Integer then format("%#x", class_or_address)
        else class_or_address.to_str
        end
      end
    end
  end
end
