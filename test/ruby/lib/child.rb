# frozen_string_literal: true

# child.rb - for the scripts that tests run in child processes: slots, and sums over a profile.

require "rbconfig"
require_relative "estimator"

HeapProfile = ObjectSpace::HeapProfile

# Bytes of a slot, smallest first: 40 to 640, a word more each in a debug build.
SLOTS = Array.new(GC::INTERNAL_CONSTANTS[:HEAP_COUNT]) { |i| GC.stat_heap(i, :slot_size) }

# What memsize_of says of an object in the smallest: the word more is MRI's own.
MEMSIZE = SLOTS[0] - GC::INTERNAL_CONSTANTS.fetch(:RVALUE_OVERHEAD, 0)

# Rows of a profile: of a class, and with a frame of that label anywhere in the stack.
def rows(profile, class_name: nil, label: nil)
  profile.select do |sample|
    (!class_name || sample.class_name == class_name) &&
      (!label || sample.frames.any? { |frame| frame.label == label })
  end
end

# What such rows add up to.
def total(profile, value = :inuse_objects, **which)
  rows(profile, **which).sum(&value)
end

def debug_build?
  RbConfig::CONFIG["cppflags"].include?("HEAPPROF_CHECK")
end

# No GC begins by itself in the block: what one count finds alive another one finds, too, although only an old
# word on the machine stack may have kept it.
def without_gc
  was = GC.disable
  yield
ensure
  GC.enable unless was
end

# Smaller numbers of objects where each GC is checked.
def scaled(count)
  debug_build? ? count / 10 : count
end

# Whether another thread runs during the block, which is one call: unless that gives the GVL up nothing else
# can run until it returns.
def others_run?
  counted = 0
  counter = Thread.new { loop { counted += 1 } }
  counter.priority = -3
  Thread.pass until counted > 0
  before = counted
  yield
  counted > before
end
