# frozen_string_literal: true

# Stock MRI 3.4.5, profiler off:
#   ruby --disable-gems datetime-write-barriers.rb
#   [BUG] try to mark T_NONE object
# Each run; date-write-barriers.patch mends it. DateTime has Date's initialize_copy, which takes another way here: it copies
# a struct that also refers to the fraction of a second, here a Rational, and does not tell the collector. Once the copy is
# old, no minor GC looks at it again, and the Rational is freed. Found by RUBY_WBCHECK and by heapprof barriers.

require "date"

copies = Array.new(100) { DateTime.allocate }
4.times { GC.start }
copies.each { |copy| copy.send(:initialize_copy, DateTime.new(2001, 2, 3, 4, 5, 6 + Rational(1, 10**30))) }
GC.start(full_mark: false)
GC.start
