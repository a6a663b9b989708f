# frozen_string_literal: true

# world.rb - what all actors of a round share. Nothing of it changes, so Ractors share it, too.

module Torture
  # folder:   of the episode
  # ractors:  whether there are Ractors; there are no forks then (README.md, "What is kept apart")
  # full:     GC.config's rgengc_allow_full_mark; the same through a round
  # until:    monotonic time at which no further step begins
  World = Data.define(:folder, :ractors, :full, :until)

  # Raised on purpose.
  class Planned < StandardError; end

  # A class for each actor of a round, so that what it allocates can be told apart.
  class Marker
    def initialize(value = nil) = @value = value
  end
  MARKERS = Array.new(16) { |i| const_set("Marker#{i}", Class.new(Marker)) }.freeze
end
