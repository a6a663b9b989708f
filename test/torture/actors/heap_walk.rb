# frozen_string_literal: true

# HeapWalk: others who look at every object, or hold objects without keeping them alive. Not
# with Ractors: README.md, "What is kept apart".

require "objspace"
require "weakref"

module Torture
  class HeapWalk < Actor
    def self.rare = %i[dumped]

    def each_object
      found = ObjectSpace.each_object(Marker).first(50)
      keep(found)
      ObjectSpace.each_object(Class).count(&:singleton_class?)
    end

    def counted
      keep(ObjectSpace.count_objects)
      keep(ObjectSpace.count_imemo_objects)
      keep(ObjectSpace.memsize_of_all)
      ObjectSpace.count_nodes
    end

    def dumped
      Log.patiently { File.open(File::NULL, "w") { |io| ObjectSpace.dump_all(output: io) } }
    end

    def dumped_one
      rand(1..30).times { |i| keep(ObjectSpace.dump(mark([i, "text"]))) }
    end

    def traced
      ObjectSpace.trace_object_allocations do
        objects = Array.new(rand(1..200)) { mark(_1) }
        GC.start(full_mark: false)
        objects.each { |object| ObjectSpace.allocation_sourcefile(object) }
      end
    end

    # Started here and stopped some other time.
    def traced_across
      ObjectSpace.trace_object_allocations_start
      rand(1..200).times { keep(mark) }
      return if one_in(3)
      ObjectSpace.trace_object_allocations_stop
      ObjectSpace.trace_object_allocations_clear
    end

    def reached
      ObjectSpace.reachable_objects_from(@kept).first(100).each { |object| ObjectSpace.memsize_of(object) }
      ObjectSpace.reachable_objects_from_root.size
    end

    def weak_map
      map = ObjectSpace::WeakMap.new
      rand(10..500).times { |i| map[mark(i)] = one_in(3) ? keep(mark) : "value #{i}" }
      GC.start if one_in(2)
      map.each { |key, value| keep(value) if key }
      keep(map) if one_in(4)
    end

    def weak_keys
      map = ObjectSpace::WeakKeyMap.new
      rand(10..500).times do |i|
        key = "key #{i}"
        keep(key) if one_in(3)
        map[key] = mark(i)
      end
      GC.compact if one_in(2)
      keep([map.getkey("key 1"), map.inspect])
      keep(map) if one_in(4)
    end

    def weak_refs
      refs = Array.new(rand(1..100)) { WeakRef.new(mark(_1)) }
      GC.start(full_mark: false)
      refs.each { |ref| keep(ref.__getobj__) if ref.weakref_alive? }
    rescue WeakRef::RefError
      mark
    end

    def identified
      ids = Array.new(rand(1..200)) { |i| (i.even? ? keep(mark) : mark).object_id }
      GC.compact if one_in(2)
      ids.each { |id| keep(ObjectSpace._id2ref(id)) }
    rescue RangeError
      mark # it was garbage
    end

    def compared
      map = {}.compare_by_identity
      rand(1..200).times { |i| map[mark(i)] = i }
      GC.verify_compaction_references(toward: :empty) if one_in(3)
      Check.true! map.all? { |key, value| map[key] == value }, "an object was lost by identity"
    end
  end
end
