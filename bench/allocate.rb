# The allocation loops that bench/off and bench/run measure: ruby allocate.rb LOOP COUNT
# Each makes COUNT objects and keeps none, so that the collector works all the time; append and hash
# make COUNT steps of memory that grows outside the slots. At the end all are swept: how far a lazy
# sweep had come would be chance.
#
# Before, each heap is filled with old objects until so many slots are in use, the same in any ruby: one that has a few objects
# more at boot has a GC more in thirty, or not, by chance.

IN_USE = { 0 => 12_000, 1 => 8_000, 2 => 4_000, 3 => 1_000, 4 => 500 }.freeze # slots by heap

def live(heap)
  GC.stat_heap(heap, :total_allocated_objects) - GC.stat_heap(heap, :total_freed_objects)
end

def fill(heap, slots)
  abort "allocate.rb: heap #{heap} has #{live(heap)} slots in use, more than #{slots}" if live(heap) > slots
  bytes = GC.stat_heap(heap, :slot_size) - 32
  Array.new(slots - live(heap)) { heap == 0 ? Object.new : "x" * bytes }
end

GC.start
KEPT = IN_USE.map { |heap, slots| fill(heap, slots) }
4.times { GC.start }

class Plain
end

class Wide
  def initialize
    @a = @b = @c = @d = @e = @f = @g = @h = 1
  end
end

count = Integer(ARGV.fetch(1))
i = 0
case ARGV.fetch(0)
when "object"
  while i < count
    Plain.new
    i += 1
  end
when "string"
  while i < count
    +"an embedded string"
    i += 1
  end
when "array"
  while i < count
    [i, i, i]
    i += 1
  end
when "mixed"
  count /= 4
  while i < count
    Wide.new
    { key: i }
    [i, i, i, i, i, i, i, i]
    +"an embedded string"
    i += 1
  end
when "append"
  while i < count
    text = +""
    stop = i + 1000
    while i < stop
      text << "some forty bytes of text that are added"
      i += 1
    end
  end
when "hash"
  while i < count
    table = {}
    stop = i + 1000
    while i < stop
      table[i] = i
      i += 1
    end
  end
else
  abort "allocate.rb: no such loop: #{ARGV[0]}: expected object, string, array, mixed, append or hash"
end

GC.start
