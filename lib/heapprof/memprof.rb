# frozen_string_literal: true

# heapprof/memprof - what the gem memprof did for Ruby 1.8, by the same names, for this ruby.
#
#   require "heapprof/memprof"
#   Memprof.track("made.txt") { serve_requests }   # how many objects it has made, by line and class
#
# It is a thin layer. ObjectSpace::HeapProfile counts the objects. Its interval is 1, so it counts each of them. The program
# takes several times as long. In production sample instead: see ObjectSpace::HeapProfile.
#
# [Memprof.start, Memprof.stop] begin to follow new objects; stop following them
# [Memprof.stats, Memprof.stats!] print how many of these are alive, by line and class
# [Memprof.track] does all three for a block
# [Memprof.dump] writes the objects that a block has made, with all they hold, as JSON
# [Memprof.dump_all] writes the whole heap in the same way
# [Memprof.trace, Memprof.trace_request] count objects, GCs, reads and writes, requests of memory during a block
# [Memprof::Middleware, Memprof::Tracer] track and trace_request for each request of Rack
#
# After <tt>require "heapprof/memprof/signal"</tt> a running process writes dump_all when it gets SIGURG.

require_relative "memprof/stats"
require_relative "memprof/track"
require_relative "memprof/dump"
require_relative "memprof/dump_all"
require_relative "memprof/trace"
require_relative "memprof/middleware"
require_relative "memprof/tracer"
