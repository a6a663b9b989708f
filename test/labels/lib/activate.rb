# frozen_string_literal: true

# activate.rb - the gems of the list HEAPPROF_LABELS_GEMS, each in its version. Otherwise a newer one that comes with Ruby would be taken.

File.readlines(ENV.fetch("HEAPPROF_LABELS_GEMS")).grep(/\A\w/).each { |line| gem(*line.split.first(2)) }
