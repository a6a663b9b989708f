# frozen_string_literal: true

# backtrace.rb - MRI's backtrace as a profile has it, for the fixtures that compare the two.

module Backtrace
  # [path, line, label] of each frame. Methods that MRI writes in Ruby itself are in the profile where their
  # caller is, like C methods.
  def self.frames(locations)
    place = nil
    locations.reverse.map do |at|
      place = [at.absolute_path || at.path.to_s, at.lineno] unless at.path&.start_with?("<internal:")
      [*place, at.label]
    end.reverse
  end
end
