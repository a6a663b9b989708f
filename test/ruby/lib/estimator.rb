# frozen_string_literal: true

# estimator.rb - how far an estimate may lie from the truth; for the tests and their children.
#
# Of N objects in slots of S bytes each is sampled with p = 1 - e^(-S/R), R being the interval, and
# stands for 1/p objects. So the estimate is right on average, and its deviation is
#
#     sigma = sqrt(N (1-p)/p) objects, S times as many bytes
#
# A check allows 5.7 sigma: a false alarm in 10^8 checks. At interval 1 nothing is left to chance.
module Estimator
  SIGMAS = 5.7

  module_function

  def probability(slot, interval)
    interval == 1 ? 1.0 : 1 - Math.exp(-slot.fdiv(interval))
  end

  def sigma(objects, slot, interval)
    p = probability(slot, interval)
    Math.sqrt(objects * (1 - p) / p)
  end

  # What rounding to whole numbers may add to the rows of one site. They begin with up to a half from
  # the rows before, and hand on up to a half (profiler/rows.c), those that live and those that are
  # dead.
  ROUNDING = 2

  # The number of objects an estimate may be off by.
  def allowance(objects, slot, interval)
    interval == 1 ? 0 : SIGMAS * sigma(objects, slot, interval) + ROUNDING
  end
end
