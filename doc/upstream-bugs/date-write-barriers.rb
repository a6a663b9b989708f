# frozen_string_literal: true

# Stock MRI 3.4.5, profiler off:
#   ruby --disable-gems date-write-barriers.rb
#   [BUG] try to mark T_NONE object
# Each run; date-write-barriers.patch mends it. Date#initialize_copy copies a struct that refers to objects, and does
# not tell the collector. Once the copy is old, no minor GC looks at it again, and what it refers to is freed. Found by
# RUBY_WBCHECK and by heapprof barriers.

require "date"

copies = Array.new(100) { Date.allocate }
4.times { GC.start }
copies.each { |copy| copy.send(:initialize_copy, Date.new(10**30, 2, 3)) }
GC.start(full_mark: false)
GC.start
