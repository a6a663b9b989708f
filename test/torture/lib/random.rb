# frozen_string_literal: true

# random.rb - who decides draws from numbers of its own: a run gives each episode a seed, an episode
# each round, a round each actor. So the same seed takes the same decisions, however threads are
# scheduled, and one episode can be run without those before it.

module Torture
  # The generator of number +index+ below +seed+.
  def self.random(seed, index)
    Random.new((seed << 16) | index)
  end

  # The seed below +seed+ of number +index+.
  def self.seed(seed, index)
    random(seed, index).rand(1 << 62)
  end
end
