# frozen_string_literal: true

require_relative "fields"
require_relative "output"
require_relative "../plain"

module Memprof
  # Names of what only the VM sees, as "T_IMEMO(iseq)"; see ObjectSpace::HeapProfile.
  INTERNAL = /\AT_(ICLASS|NODE|[A-Z]+\(.*\))\z/ # :nodoc:

  # Each object, and nothing of the allocator, whatever memory that takes.
  EVERY_OBJECT = { interval: 1, malloc_interval: 0, memory: 2**40 }.freeze # :nodoc:

  class << self
    # call-seq:
    #   start -> true or false
    #
    # Follows each object that is made from now on; +false+: it does already.
    #
    #   Memprof.start   # => true
    #   Memprof.start   # => false
    #
    # Raises RuntimeError while ObjectSpace::HeapProfile runs for somebody else.
    def start
      return false if started?
      ObjectSpace::HeapProfile.start(**EVERY_OBJECT)
      Reflection.follow_made unless @started
      @started = true
    end

    # call-seq:
    #   stop -> true or false
    #
    # Follows them no longer, and forgets them; +false+: it did not.
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
    # Prints how many objects there are, of those made since start, by the line that made them and their class: the most
    # first, on stderr or into that file. What is dead counts until the garbage collector has found it; call GC.start before,
    # and what is left is referred to.
    #
    #   Memprof.start
    #   $kept = Array.new(12) { Object.new }
    #   Memprof.stats("stats.txt")
    #   File.read("stats.txt").lines.first   # "     12 /srv/app.rb:2:Object\n", for instance
    #
    # What only the VM sees, as its call caches, is passed over.
    #
    # Raises RuntimeError without start, SystemCallError for a file that cannot be written.
    def stats(path = nil)
      lines = stats_lines
      Output.open(path) { |io| io.puts(lines) }
      nil
    end

    # call-seq:
    #   stats! -> nil
    #   stats!(path) -> nil
    #
    # Prints as stats does; then begins anew, with nothing followed.
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

    # Whether the one that this module has started runs: somebody else may have stopped it.
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

    # nil: it does not count.
    def stats_key(row)
      return if row.kind != :objects || row.inuse_objects.zero? || INTERNAL.match?(row.class_name)
      frame = row.frames.first or return
      "#{frame.path}:#{frame.lineno}:#{row.class_name}" unless frame.path.start_with?(*OWN)
    end
  end
end
