# frozen_string_literal: true

require_relative "stats"

module Memprof
  class << self
    # call-seq:
    #   track { ... } -> nil
    #   track(path) { ... } -> nil
    #
    # Prints what the block has made and is alive at its end, as stats does. With GC.start at the end of the block it is what
    # the block leaves behind.
    #
    #   Memprof.track("track.txt") do
    #     100.times { Object.new }
    #   end
    #   File.read("track.txt")   # "    100 /srv/app.rb:2:Object\n", for instance
    #
    # Within start and stop, what was made before counts, too; it goes on then.
    #
    # Raises ArgumentError without a block, and what start and stats raise. When the block raises nothing is printed.
    def track(path = nil)
      raise ArgumentError, "a block is needed: what should be tracked?" unless block_given?
      following do
        yield
        stats(path)
      end
      nil
    end

    private

    # Between start and stop, unless somebody has started already.
    def following
      began = start
      yield
    ensure
      stop if began
    end
  end
end
