# frozen_string_literal: true

# Stock MRI 3.4.5, profiler off:
#   ruby --disable-gems fiddle-write-barriers.rb
#   [BUG] try to mark T_NONE object
# Each run; fiddle-write-barriers.patch mends it. Fiddle::Pointer#free= keeps the function in the pointer's struct, and
# does not tell the collector. Found by RUBY_WBCHECK and by heapprof barriers.

require "fiddle"

def set_free(pointer)
  pointer.free = Fiddle::Function.new(Fiddle.dlopen(nil)["free"], [Fiddle::TYPE_VOIDP], Fiddle::TYPE_VOID)
end

pointers = Array.new(100) { Fiddle::Pointer.new(0) }
4.times { GC.start }
pointers.each { |pointer| set_free(pointer) }
GC.start(full_mark: false)
GC.start
