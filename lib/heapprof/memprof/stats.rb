# frozen_string_literal: true

require_relative "fields"
require_relative "output"
require_relative "../plain"

module Memprof
  # Names of objects that only the VM sees, as "T_IMEMO(iseq)"; see ObjectSpace::HeapProfile.
  INTERNAL = /\AT_(ICLASS|NODE|[A-Z]+\(.*\))\z/ # :nodoc:

  # Samples each object and no block of the allocator, however much memory that takes.
  EVERY_OBJECT = { interval: 1, malloc_interval: 0, memory: 2**40 }.freeze # :nodoc:

  class << self
    # call-seq:
    #   start -> true or false
    #
    # Follows each object that is made from now on. Returns +false+ if it has been started before.
    #
    #   Memprof.start   # => true
    #   Memprof.start   # => false
    #
    # Raises RuntimeError while ObjectSpace::HeapProfile runs for other code.
    def start
      return false if started?
      ObjectSpace::HeapProfile.start(**EVERY_OBJECT)
      Reflection.follow_made unless @started
      @started = true
    end

    # call-seq:
    #   stop -> true or false
    #
    # Stops following objects, and forgets those that it followed. Returns +false+ if it has not been started.
    #
    #   Memprof.stop   # => false
    def stop
      return false unless @started
      running = started?
      @started = false
      Reflection.forget_made
      ObjectSpace::HeapProfile.stop if running
      running
    end

    # call-seq:
    #   stats -> nil
    #   stats(path) -> nil
    #
    # Prints how many of the objects made since start are alive, by the line that made them and their class. The largest number
    # comes first. Prints on stderr, or into that file. A dead object counts until the garbage collector has found it. After
    # GC.start, only objects are left that something refers to.
    #
    #   Memprof.start
    #   $kept = Array.new(12) { Object.new }
    #   Memprof.stats("stats.txt")
    #   File.read("stats.txt").lines.first   # "     12 /srv/app.rb:2:Object\n", for instance
    #
    # Objects that only the VM sees, as its call caches, are left out.
    #
    # Raises RuntimeError without start. Raises SystemCallError if the file cannot be written.
    def stats(path = nil)
      lines = stats_lines
      Output.open(path) { |io| io.puts(lines) }
      nil
    end

    # call-seq:
    #   stats! -> nil
    #   stats!(path) -> nil
    #
    # Prints as stats does. Then forgets the objects so far, and follows those made from now on.
    #
    #   name = "stats.txt"
    #   Memprof.start
    #   $kept = Object.new
    #   Memprof.stats!(name)
    #   Memprof.stats(name)
    #   File.read(name)   # => ""
    def stats!(path = nil)
      stats(path)
      stop
      start
      nil
    end

    # Returns whether the profiler runs that this module has started. Other code may have stopped it.
    def started? # :nodoc:
      @started && ObjectSpace::HeapProfile.running? or false
    end

    private

    def check_started
      raise "objects are not followed; call Memprof.start first" unless started?
    end

    def stats_lines
      check_started
      counts = Hash.new(0)
      ObjectSpace::HeapProfile.snapshot.each { |row| counts[stats_key(row)] += row.inuse_objects }
      counts.delete(nil)
      counts.sort_by { |key, count| [-count, key] }.map { |key, count| format("%7d %s", count, Heapprof::Plain.text(key)) }
    end

    # Returns nil if the object does not count.
    def stats_key(row)
      return if row.kind != :objects || row.inuse_objects.zero? || INTERNAL.match?(row.class_name)
      frame = row.frames.first or return
      "#{frame.path}:#{frame.lineno}:#{row.class_name}" unless frame.path.start_with?(*OWN)
    end
  end
end
