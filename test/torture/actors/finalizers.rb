# frozen_string_literal: true

# Finalizers: code that runs when a collection is over, wherever that was.

module Torture
  class Finalizers < Actor
    # Made where self is not the object.
    def self.allocating = ->(_id) { Array.new(20) { |i| "finalizer #{i}" } }

    def self.poking(seed)
      random = Random.new(seed)
      ->(_id) { Poke.some(random) }
    end

    def allocate
      rand(1..50).times { ObjectSpace.define_finalizer(mark, Finalizers.allocating) }
      GC.start
    end

    def poke
      rand(1..5).times { ObjectSpace.define_finalizer(mark, Finalizers.poking(next_seed)) }
      GC.start
    end

    def kept
      rand(1..20).times { keep(ObjectSpace.define_finalizer(mark, Finalizers.allocating)) }
    end

    def taken_back
      objects = Array.new(rand(1..50)) { mark.tap { |it| ObjectSpace.define_finalizer(it, Finalizers.allocating) } }
      objects.each { |object| ObjectSpace.undefine_finalizer(object) if one_in(2) }
    end

    # Files and such have a finalizer of their own, and become zombies.
    def files
      rand(1..20).times { Log.patiently { keep(File.open(File::NULL)) } if one_in(5) }
      rand(1..20).times { Log.patiently { File.open(File::NULL) } }
      GC.start(immediate_sweep: false)
    end

    def chained
      again = lambda do |_id|
        object = Object.new
        ObjectSpace.define_finalizer(object, Finalizers.allocating)
        nil
      end
      ObjectSpace.define_finalizer(mark, again)
      GC.start
    end

    def copied
      object = Object.new.tap { |it| ObjectSpace.define_finalizer(it, Finalizers.allocating) }
      rand(1..10).times { object.dup; object.clone }
    end
  end
end
