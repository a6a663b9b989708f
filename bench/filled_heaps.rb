# Before a loop is counted each heap is filled with old objects until so many slots are in use, the same in any ruby and with any
# profiler: one that has a few objects more at boot has a GC more in thirty, or not, by chance. FILLED (1): so many times as many.

FILLED = Integer(ENV.fetch("FILLED", 1))
IN_USE = { 0 => 12_000, 1 => 8_000, 2 => 4_000, 3 => 1_000, 4 => 500 }.transform_values { |slots| slots * FILLED }.freeze # by heap

def live(heap)
  GC.stat_heap(heap, :total_allocated_objects) - GC.stat_heap(heap, :total_freed_objects)
end

def fill(heap, slots)
  abort "filled_heaps.rb: heap #{heap} has #{live(heap)} slots in use, more than #{slots}" if live(heap) > slots
  bytes = GC.stat_heap(heap, :slot_size) - 32
  Array.new(slots - live(heap)) { heap == 0 ? Object.new : "x" * bytes }
end

GC.start
KEPT = IN_USE.map { |heap, slots| fill(heap, slots) }
4.times { GC.start }
