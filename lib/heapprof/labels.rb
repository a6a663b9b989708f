# frozen_string_literal: true

# heapprof/labels - labels for libraries: they say what the program is doing, and do nothing on another Ruby.
#
#   require "heapprof/labels"
#
#   Heapprof::Labels.with(job: "ImportJob") { import }
#
# A gem that labels its users' memory carries a copy of this file, so that it runs on every Ruby. On this one the methods are those of
# ObjectSpace::HeapProfile. If several gems have copies, the first one that is loaded counts. Its syntax is that of old Rubies.

module Heapprof
  module Labels
    class << self
      if instance_methods(false).include?(:with) # not Object's, which ActiveSupport defines
        # Another copy has been loaded.
      elsif defined?(ObjectSpace::HeapProfile.label)
        # Runs the block with these labels, as ObjectSpace::HeapProfile.label.
        def with(labels, &block)
          ObjectSpace::HeapProfile.label(labels, &block)
        end

        # Labels this fiber from now on, as ObjectSpace::HeapProfile.label!. Returns what restores the labels of before.
        def set(labels)
          ObjectSpace::HeapProfile.label!(labels)
        end

        # The labels of this fiber, as a Hash.
        def current
          ObjectSpace::HeapProfile.labels
        end
      else
        def with(_labels)
          yield
        end

        # Returns labels that change nothing.
        def set(_labels)
          {}
        end

        def current
          {}
        end
      end
    end
  end
end
