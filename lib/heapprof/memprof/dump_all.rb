# frozen_string_literal: true

require "json"
require_relative "fields"
require_relative "output"
require_relative "process_facts"
require_relative "../plain"

module Memprof
  class << self
    # call-seq:
    #   dump_all -> nil
    #   dump_all(path) -> nil
    #
    # Writes the whole heap as lines of JSON, after a full garbage collection. The lines are: finalizers, global variables, the
    # stack frames of all threads (of each thread the fiber that runs), all objects, the open files, the memory of the process.
    # Writes on stderr, or into a file. Until the file is complete, its name ends with ".IN_PROGRESS".
    #
    #   require "json"
    #   $kept = "kept" + "!"
    #   Memprof.dump_all("heap.json")
    #   lines = File.readlines("heap.json").map { |line| JSON.parse(line) }
    #   lines.first["type"]                                               # => "finalizers"
    #   name = lines.find { |line| line["type"] == "globals" }["variables"]["$kept"]   # "0x7f3c5b0e8e40", for instance
    #   lines.find { |line| line["_id"] == name }["data"]                 # => "kept!"
    #
    # Each line has +_id+ and +type+. The _id of an object is its address, and stands for it in other lines. The _id of a Symbol
    # is ":name". Objects have:
    #
    # [all that Ruby sees] class, class_name; ivars: +name+ to value
    # [what was made since start] file, line of the innermost Ruby frame; time, in microseconds since 1970 (not where there are
    #                             Ractors)
    # [string, symbol] data; of a string length, bytes, encoding; shared: whose bytes it has
    # [array] length, data: values; shared
    # [hash] length, data: pairs; default, default_proc
    # [float, bignum, rational, complex] data; of a bignum negative
    # [regexp, match] data: source, or the string that was searched
    # [struct] data: of a Struct and Data +name+ to value, of a Range its ends
    # [file] fileno, path, mode, pid, closed
    # [class, module] name, super, super_name, constants, class_variables, methods, singleton, attached
    # [iclass] module, module_name, super: what stands for a module where it is included
    # [data] struct: what C calls it. Of a Proc self, scope, node, variables, lambda; of a Method receiver, owner, name; of a
    #        Thread status, name, priority, main, current, locals, and of one that sleeps wait_for: the function; wait_on:
    #        its receiver; join, fd, delay in seconds
    # [scope] the variables that a Proc or Binding keeps; node, cref, outer
    # [node] code: label, path, first_line, parent
    # [method_entry, cref] a method; a class that constants are looked up in
    # [other things that only the VM sees] their type; of a string, array and hash data
    # [frame] method, self, variables, file, line, node, scope; prev: who called; thread
    #
    # If the program has Ractors, an object that is not shareable has only type, class, file and line, because another Ractor
    # may change it. A string that is not text has data as String#dump writes it. A field that can be read only after
    # +initialize+ is left out until then, and +unreadable+ says why. Other threads run during the dump. Objects that they make
    # are in no line. Objects that they change are as before or as after the change.
    #
    # The file has the values of all strings: keep it as safe as you would keep them. Only its owner may read the file.
    #
    # Raises SystemCallError if the file cannot be written. Raises Errno::EEXIST if a file of that name with ".IN_PROGRESS"
    # exists: another dump writes it, or was killed.
    def dump_all(path = nil)
      GC.start
      Output.whole(path) do |io|
        Output.lines(io) { |lines| each_line_of_all { |fields| lines << Heapprof::Plain.json(JSON.generate(fields)) } }
      end
      nil
    end

    private

    def each_line_of_all(&)
      yield({ "_id" => "finalizers", "type" => "finalizers", "data" => Reflection.finalizers })
      yield({ "_id" => "globals", "type" => "globals", "variables" => globals })
      each_frame(&)
      each_object(&)
      yield({ "_id" => "lsof", "type" => "lsof", "data" => ProcessFacts.open_files })
      yield({ "_id" => "ps", "type" => "ps", "data" => ProcessFacts.memory })
    end

    # $~ and similar variables belong to each method, so they are nil here. $= is not read, because reading it warns. It is
    # always false.
    def globals
      global_variables.to_h do |name|
        value = name == :$= ? false : eval(name.name)
        [Reflection.text(name.name), Reflection.reference(value)]
      end
    end

    def each_frame
      Thread.list.each do |thread|
        frames = Reflection.frames(thread)
        own = frames.rindex { |fields| fields["file"]&.start_with?(*OWN) } || -1
        frames.drop(own + 1).each { |fields| yield fields.merge("thread" => Reflection.reference(thread)) }
      end
    end

    def each_object
      Reflection.each_object do |object, fields|
        Fields.add(fields, object) if object
        yield fields
      end
    end
  end
end
