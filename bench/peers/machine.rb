# frozen_string_literal: true

# machine.rb - random calls of 20,001 methods, up to 100 deep, and objects of 10,001 classes that are
# made and dropped along the way: ruby machine.rb [STEPS]. Seeded, so all runs do the same.

require_relative "../filled_heaps" if ENV["FILLED"]
require_relative "measure"

CLASSES = Array.new(10_001) do |k|
  Object.const_set(:"Class#{k}", Class.new { define_method(:initialize) { @text = +"some text" } })
end

class Machine
  def initialize(steps)
    @random = Random.new(1)
    @left = steps
    @pit = []
  end

  20_001.times { |k| class_eval("def method#{k}(depth) = run(depth)", "machine-#{k % 100}.rb", k + 1) }

  def run(depth)
    while (@left -= 1) > 0
      case @random.rand(200)
      when 0...100
        return if depth == 100 || (depth > 0 && @random.rand(100) >= 85)
        __send__(:"method#{@random.rand(20_001)}", depth + 1)
      when 100...155 then @pit << CLASSES[@random.rand(10_001)].new
      else @pit.pop
      end
    end
  end
end

steps = Integer(ARGV.fetch(0, 700_000))
measure { Machine.new(steps).run(0) }
