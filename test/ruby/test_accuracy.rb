# frozen_string_literal: true

# test_accuracy.rb - whether estimates are right on average and as scattered as they should be.
#
# One run within 5.7 sigma (test_newobj.rb, test_pprof.rb) says that nothing is grossly wrong. A
# small bias, a tenth of a sigma, shows only in the mean of many runs, and a wrong scatter (samples
# that come in bunches, or too evenly) only in their standard deviation. So RUNS seeded runs are
# made of each workload, and of z = (estimate - truth)/sigma these are asked:
#
#     |mean z| <= 3.5/sqrt(RUNS)      a false alarm in 2000
#     0.7 <= sd(z) <= 1.35            for 60 runs: a false alarm in 2000, by the chi distribution
#
# The seeds are fixed and so are the allocations of a child, so a run that passes keeps passing
# until the sampling changes.

require_relative "lib/heapprof_test"

class TestHeapProfAccuracy < Test::Unit::TestCase
  include HeapProfTest

  JUDGE = <<~'RUBY'
    RUNS = 60

    # Runs the block once for each seed; it allocates so many objects in slots of that size, of
    # class Item or as the block's label says.
    def judge(objects, slot, interval, value: :alloc_objects, **which)
      sigma = Estimator.sigma(objects, slot, interval)
      z = Array.new(RUNS) do |seed|
        HeapProfile.start(interval: interval, seed: seed)
        yield
        profile = HeapProfile.snapshot
        HeapProfile.stop
        (total(profile, value, **which) - objects) / sigma
      end
      mean = z.sum / RUNS
      sd = Math.sqrt(z.sum { |x| (x - mean)**2 } / (RUNS - 1))
      about = "mean #{mean.round(3)} sd #{sd.round(3)}, slot #{slot}, interval #{interval}"
      assert_in_delta 0, mean, 3.5 / Math.sqrt(RUNS), about
      assert_includes 0.7..1.35, sd, about
    end

    class Item; end
  RUBY

  def test_estimates_are_unbiased_at_every_interval
    in_child(JUDGE + <<~'RUBY')
      [50, 500, 5000, 50_000].each do |interval|
        judge(20_000, SLOTS[0], interval, class_name: "Item") do
          i = 0
          i = Item.new && i + 1 while i < 20_000
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
