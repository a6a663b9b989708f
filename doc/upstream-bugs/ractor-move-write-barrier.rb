# frozen_string_literal: true

# Stock MRI 3.4.5, debug build (cppflags='-DRGENGC_CHECK_MODE=2 -DRUBY_DEBUG=1'), profiler off:
#   ruby --disable-gems ractor-move-write-barrier.rb
#   verify_internal_consistency_reachable_i: WB miss (O->Y) (Hash)[S] -> (String)
#   [BUG] gc_verify_internal_consistency: found internal inconsistency.
# Each run. A release build has no such check; there what is in the moved object may be freed while it is in use.
# Ractor#send(move: true) keeps its books (obj_traverse_replace, ractor.c) in a Hash whose table it writes without a
# write barrier, and move_leave copies an object's references into the new one the same way. Both matter once the
# Hash or the new object is old, which takes a few GCs amid the move: here by GC.stress, otherwise by other Ractors.

Warning[:experimental] = false
ractor = Ractor.new { Ractor.receive }
object = Array.new(200) { |i| i.to_s }
GC.start
GC.stress = true
ractor.send(object, move: true)
GC.stress = false
ractor.take
GC.start
