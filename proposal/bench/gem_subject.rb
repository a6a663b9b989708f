# frozen_string_literal: true

# gem_subject.rb - test/accuracy/subject.rb, where heapprof-gem stands in for the built-in profiler: ruby gem_subject.rb SCENARIO FIRST_SEED RUNS
#
# The gem knows what is alive, and nothing else; so only that is read. It has no seed: each run is another.

require "heapprof_gem"

# What the programs ask of the built-in profiler.
module ObjectSpace::HeapProfile
  Frame = Struct.new(:label)
  Sample = Struct.new(:class_name, :frames, :inuse_objects, :inuse_space, :alloc_objects)

  class << self
    def start(interval:) = HeapprofGem.start(mean_bytes: interval)
    def stop = HeapprofGem.stop

    def snapshot(gc: false)
      GC.start if gc
      HeapprofGem.rows.map { |row| Sample.new(row.class_name, row.stack.map { |name,| Frame.new(name) }, row.objects, row.bytes, 0) }
    end
  end
end

module HeapProfCAPI
  def self.start(interval, *)
    ObjectSpace::HeapProfile.start(interval:)
    :started
  end
end
ACCURACY = File.expand_path("../../test/accuracy", __dir__)
$LOADED_FEATURES << "#{$LOAD_PATH.first}/-test-/heapprof_capi.rb" # what makes HeapProfCAPI for the built-in one

require "#{ACCURACY}/programs"

Accuracy::Programs.prepend(Module.new do
  private def read(...) = super.select { |reading| reading.value == :inuse }
end)

load "#{ACCURACY}/subject.rb"
