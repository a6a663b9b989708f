# frozen_string_literal: true

# test_accuracy.rb - whether estimates are right on average and as scattered as they should be.
#
# One run within 5.7 sigma (test_newobj.rb, test_pprof.rb) says that nothing is grossly wrong. A
# small bias, a tenth of a sigma, shows only in the mean of many runs, and a wrong scatter (samples
# that come in bunches, or too evenly) only in their standard deviation. So many seeded runs are
# made of each workload, and of z = (estimate - truth)/sigma these are asked:
#
#     |mean z| <= 3.5/sqrt(runs)             sd(z) within 1 +- 3/sqrt(2 runs)
#
# 200 runs: 0.25, and 0.85 to 1.15. Chance alone breaks one of the two in 300 times. Then as many
# runs with other seeds decide: a false alarm in 10^5, while what is biased fails again.

require_relative "lib/heapprof_test"

class TestHeapProfAccuracy < Test::Unit::TestCase
  include HeapProfTest

  JUDGE = <<~'RUBY'
    RUNS = debug_build? ? 60 : 200

    def fits?(z)
      mean = z.sum / z.size
      sd = Math.sqrt(z.sum { |x| (x - mean)**2 } / (z.size - 1))
      @about = "mean #{mean.round(3)} sd #{sd.round(3)} of #{z.size} runs"
      mean.abs <= 3.5 / Math.sqrt(z.size) && (sd - 1).abs <= 3 / Math.sqrt(2.0 * z.size)
    end

    # Runs the block once for each seed. Each time it allocates so many objects in slots of that
    # size which rows(profile, **which) tells from all others.
    def judge(objects, slot, interval, value: :alloc_objects, **which)
      batches = Array.new(2) { |i| (i * RUNS...(i + 1) * RUNS) }
      fits = batches.any? do |seeds|
        fits?(seeds.map do |seed|
          HeapProfile.start(interval: interval, seed: seed)
          yield
          profile = HeapProfile.snapshot
          HeapProfile.stop
          (total(profile, value, **which) - objects) / Estimator.sigma(objects, slot, interval)
        end)
      end
      assert fits, "#{@about}, slot #{slot}, interval #{interval}"
    end

    class Item; end
  RUBY

  def test_estimates_are_unbiased_at_every_interval
    in_child(JUDGE + <<~'RUBY')
      [50, 500, 5000, 50_000].each do |interval|
        judge(10_000, SLOTS[0], interval, class_name: "Item") do
          i = 0
          i = Item.new && i + 1 while i < 10_000
        end
      end
    RUBY
  end

  def test_estimates_are_unbiased_for_every_slot_size_interleaved
    in_child(JUDGE + <<~'RUBY')
      X = "x"
      def slot_0 = X * 10
      def slot_1 = X * 50
      def slot_2 = X * 100
      def slot_3 = X * 250
      def slot_4 = X * 500
      5.times do |size|
        judge(4000, SLOTS[size], 3000, class_name: "String", label: "Object#slot_#{size}") do
          i = 0
          while i < 4000
            slot_0; slot_3; slot_1; slot_4; slot_2
            i += 1
          end
        end
      end
    RUBY
  end

  def test_estimates_of_survivors_are_unbiased
    in_child(JUDGE + <<~'RUBY')
      kept = nil
      judge(4000, SLOTS[0], 1500, value: :inuse_objects, class_name: "Item") do
        kept = Array.new(4000)
        12_000.times do |i|
          kept[i / 3] = Item.new # the last of three stays
          GC.start(full_mark: i % 4000 == 0) if i % 1000 == 0
        end
        GC.start
      end
      assert_equal 4000, kept.compact.size
    RUBY
  end

  # The very first and last object of a site count like all others, and so does a site of few.
  def test_estimates_of_rare_objects_are_unbiased
    in_child(JUDGE + <<~'RUBY')
      judge(300, SLOTS[0], 400, class_name: "Item") do
        300.times { Item.new; 40.times { "between" } }
      end
    RUBY
  end
end
