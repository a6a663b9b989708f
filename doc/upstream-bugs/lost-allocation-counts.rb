# Stock MRI 3.4.5: GC.stat(:total_allocated_objects) falls short when Ractors allocate at once: newobj_alloc counts with a
# plain heap->total_allocated_objects++ outside the VM lock. heap_live_slots may wrap below zero. A build with
# RGENGC_CHECK_MODE=2 aborts in a later GC of a forked child ([BUG] inconsistent live slot number: expect N, but N+1), where the
# check is made again because a single Ractor is left.
Warning[:experimental] = false
before = GC.stat(:total_allocated_objects)
Array.new(4) { Ractor.new { 1_000_000.times { Object.new } } }.each(&:take)
counted = GC.stat(:total_allocated_objects) - before
puts "#{counted} of 4000000 objects counted"
Process.wait(fork { GC.start })
