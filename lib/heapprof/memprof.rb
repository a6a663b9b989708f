# frozen_string_literal: true

# heapprof/memprof - what the gem memprof did for Ruby 1.8, by the same names, for this ruby.
#
#   require "heapprof/memprof"
#   Memprof.track("made.txt") { serve_requests }   # how many objects it has made, by line and class
#
# A thin layer: objects are counted by ObjectSpace::HeapProfile with an interval of 1, so each of them, exactly. That takes
# several times the time of the program. In production sample instead: see ObjectSpace::HeapProfile.
#
# [Memprof.start, Memprof.stop] follow objects from now on; no longer
# [Memprof.stats, Memprof.stats!] print what is alive of them, by line and class
# [Memprof.track] does all three for a block
# [Memprof.dump] writes the objects that a block has made, with all they hold, as JSON
# [Memprof.dump_all] writes the whole heap so
# [Memprof.trace, Memprof.trace_request] count objects, GCs, reads and writes, requests of memory during a block
# [Memprof::Middleware, Memprof::Tracer] track and trace_request for each request of Rack
#
# <tt>require "heapprof/memprof/signal"</tt> has a process that runs write dump_all when it gets SIGURG.

require_relative "memprof/stats"
require_relative "memprof/track"
require_relative "memprof/dump"
require_relative "memprof/dump_all"
require_relative "memprof/trace"
require_relative "memprof/middleware"
require_relative "memprof/tracer"
