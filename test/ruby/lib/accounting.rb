# frozen_string_literal: true

# accounting.rb - holds the profile against the census (test/ext/census), for scripts in children.
#
#     born since start, not dead      = live samples        each object, and its whole stack
#                                     = found in the heap by a walk
#     by class, stack and slot size   = inuse_objects, inuse_space
#     born, by stack                  = alloc_objects
#     died, by stack                  = alloc_objects - inuse_objects
#     died at an age, by stack        = alloc_objects of that death_age
#     alive at the peak, by stack     = peak_objects, peak_space
#
# All of it exactly, internal objects included.

require "-test-/heapprof_census"
require_relative "child"

module Accounting
  # In a debug build, a word after each object that rb_gc_obj_slot_size does not count.
  OVERHEAD = GC::INTERNAL_CONSTANTS[:RVALUE_OVERHEAD]

  module_function

  # Compares one moment; returns what differs, as text, empty when all is as it should be. each:
  # object by object, too, which takes longer (and too long where each question checks all tables).
  # How many there are is added to `compared`.
  def differences(gc: true, each: true, compared: nil)
    seen = HeapProfCensus.take(gc, each && !debug_build?)
    compared << seen[:found] if compared
    alive = seen[:groups].sum { |*, count| count }
    found = seen[:differences]
    # Without a GC before it the walk ends the one that is under way.
    found << "#{seen[:found]} of #{alive} are in the heap" if gc && seen[:found] != alive
    found + compare("alive", by_class_and_stack(seen), in_use(seen)) +
      compare("born and died", born_and_died(seen, gc), allocated_and_freed(seen))
  end

  def by_class_and_stack(seen)
    seen[:groups].each_with_object(Hash.new { [0, 0] }) do |(site, class_name, slot, count), sums|
      add(sums, [kind(class_name), seen[:sites][site][0]], count, count * (slot + OVERHEAD))
    end
  end

  def in_use(seen)
    seen[:rows].each_with_object(Hash.new { [0, 0] }) do |(class_name, stack, objects, space), sums|
      add(sums, [kind(class_name), stack], objects, space) if objects > 0
    end
  end

  # MRI makes what it wants for itself as an Array or String, and hides it a moment later. When a GC
  # comes between, as it may where the buffer is allocated, the profile has the class it had then.
  def kind(class_name)
    class_name.sub(/\AT_(ARRAY|STRING|HASH)\(hidden\)\z/) { $1.capitalize }
  end

  # The same of the past, when the census was started with it.
  def differences_of_past(gc: true)
    seen = HeapProfCensus.take(gc, false)
    compare("died at an age", ages_of_dead(seen), death_ages(seen)) +
      compare("died young", died_young(seen), temporary(seen)) +
      compare("at the peak", at_peak(seen), peak(seen))
  end

  AGES = [0, 1, 2, 4].freeze

  def ages_of_dead(seen)
    seen[:sites].each_with_object({}) do |(stack, _, _, ages), truth|
      AGES.zip(ages) { |age, count| truth[[stack, age]] = count if count > 0 }
    end
  end

  def death_ages(seen)
    seen[:rows].each_with_object(Hash.new(0)) do |(_, stack, _, _, alloc, age), sums|
      sums[[stack, age]] += alloc if age >= 0
    end
  end

  def died_young(seen) = ages_of_dead(seen).select { |(_, age), _| age == 0 }.transform_keys(&:first)

  def temporary(seen)
    seen[:rows].group_by { |row| row[1] }.transform_values { |rows| rows.sum { |row| row[6] } }.reject { |_, count| count == 0 }
  end

  def at_peak(seen)
    seen[:sites].to_h { |stack, *, objects, bytes| [stack, [objects, bytes]] }.reject { |_, (objects, _)| objects == 0 }
  end

  def peak(seen)
    seen[:rows].each_with_object(Hash.new { [0, 0] }) do |row, sums|
      add(sums, row[1], row[7], row[8]) if row[7] > 0
    end
  end

  # What is dead and not swept has not died yet, as the events have it.
  def born_and_died(seen, gc)
    alive = seen[:groups].group_by(&:first).transform_values { |groups| groups.sum(&:last) }
    seen[:sites].each_with_index.to_h do |(stack, born, died), site|
      [stack, [born, gc ? died : born - alive.fetch(site, 0)]]
    end
  end

  def allocated_and_freed(seen)
    seen[:rows].each_with_object(Hash.new { [0, 0] }) do |(_, stack, inuse, _, alloc), sums|
      add(sums, stack, alloc, alloc - inuse)
    end
  end

  def add(sums, key, one, other)
    before = sums[key]
    sums[key] = [before[0] + one, before[1] + other]
  end

  def compare(what, truth, profile)
    (truth.keys | profile.keys).filter_map do |key|
      next if truth[key] == profile[key]
      "#{what}: #{truth[key].inspect}, in the profile #{profile[key].inspect}: #{Array(key).join(" ")}"
    end
  end
end
