# frozen_string_literal: true

# Stock MRI 3.4.5, profiler off:
#   ruby --disable-gems time-write-barriers.rb
#   [BUG] try to mark T_NONE object
# Each run; time-write-barriers.patch mends it. Time#initialize_copy copies a struct that refers to objects (a Rational of
# seconds, a year that is a Bignum, the zone), and does not tell the collector. Once the copy is old, no minor GC looks at it
# again, and what it refers to is freed. Found by heapprof barriers; RUBY_WBCHECK confirms it.

copies = Array.new(100) { Time.allocate }
4.times { GC.start }
copies.each { |copy| copy.send(:initialize_copy, Time.at(Rational(10**30, 7))) }
GC.start(full_mark: false)
GC.start
