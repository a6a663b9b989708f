# frozen_string_literal: true

# accounting.rb - holds the profile against the census (test/ext/census), for scripts in children.
#
#     born since start, not dead      = live samples        each object, and its whole stack
#                                     = found in the heap by a walk
#     by class, stack and slot size   = inuse_objects, inuse_space
#     born, by stack                  = alloc_objects
#     died, by stack                  = alloc_objects - inuse_objects
#
# All of it exactly, internal objects included.

require "-test-/heapprof_census"
require_relative "child"

module Accounting
  module_function

  # Compares one moment; returns what differs, as text, empty when all is as it should be. each:
  # object by object, too, which takes longer. How many there are is added to `compared`.
  def differences(gc: true, each: true, compared: nil)
    seen = HeapProfCensus.take(gc, each)
    compared << seen[:found] if compared
    alive = by_class_and_stack(seen)
    found = seen[:differences]
    # Without a GC before it the walk ends the one that is under way.
    found << "#{seen[:found]} of #{seen[:groups].size} are in the heap" if gc && seen[:found] != seen[:groups].size
    found + compare("alive", alive, in_use(seen)) +
      compare("born and died", born_and_died(seen, gc), allocated_and_freed(seen))
  end

  def by_class_and_stack(seen)
    seen[:groups].each_with_object(Hash.new { [0, 0] }) do |(site, class_name, slot), sums|
      key = [class_name, seen[:sites][site][0]]
      sums[key] = sums[key].zip([1, slot]).map(&:sum)
    end
  end

  def in_use(seen)
    seen[:rows].each_with_object(Hash.new { [0, 0] }) do |(class_name, stack, objects, space), sums|
      next if objects == 0
      key = [class_name, stack]
      sums[key] = sums[key].zip([objects, space]).map(&:sum)
    end
  end

  # What is dead and not swept has not died yet, as the events have it.
  def born_and_died(seen, gc)
    alive = seen[:groups].map(&:first).tally
    seen[:sites].each_with_index.to_h do |(stack, born, died), site|
      [stack, [born, gc ? died : born - alive.fetch(site, 0)]]
    end
  end

  def allocated_and_freed(seen)
    seen[:rows].each_with_object(Hash.new { [0, 0] }) do |(_, stack, inuse, _, alloc), sums|
      sums[stack] = sums[stack].zip([alloc, alloc - inuse]).map(&:sum)
    end
  end

  def compare(what, truth, profile)
    (truth.keys | profile.keys).filter_map do |key|
      next if truth[key] == profile[key]
      "#{what}: #{truth[key].inspect}, in the profile #{profile[key].inspect}: #{Array(key).join(" ")}"
    end
  end
end
