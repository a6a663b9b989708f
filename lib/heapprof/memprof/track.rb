# frozen_string_literal: true

require_relative "stats"

module Memprof
  class << self
    # call-seq:
    #   track { ... } -> nil
    #   track(path) { ... } -> nil
    #
    # Prints, as stats does, the objects that the block has made and that are alive at its end. With GC.start at the end of the
    # block, these are the objects that the block leaves behind.
    #
    #   Memprof.track("track.txt") do
    #     100.times { Object.new }
    #   end
    #   File.read("track.txt")   # "    100 /srv/app.rb:2:Object\n", for instance
    #
    # Between start and stop, objects made before the block count, too. Memprof still follows objects after the block then.
    #
    # Raises ArgumentError without a block. Raises what start and stats raise. If the block raises, nothing is printed.
    def track(path = nil)
      raise ArgumentError, "a block is needed: what should be tracked?" unless block_given?
      following do
        yield
        stats(path)
      end
      nil
    end

    private

    # Yields between start and stop. If Memprof has been started before, it only yields.
    def following
      began = start
      yield
    ensure
      stop if began
    end
  end
end
