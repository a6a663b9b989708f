# frozen_string_literal: true

# Fibers: stacks that are left and come back, or never do. In one Ractor: README.md, "What is kept apart".

module Torture
  class Fibers < Actor

    def turns
      fibers = Array.new(rand(1..30)) do |i|
        Fiber.new { rand(1..5).times { |n| Fiber.yield(mark([i, n])) } }
      end
      fibers.reject! { |fiber| fiber.resume.nil? || !fiber.alive? } until fibers.size <= 2
    end

    # Never ended: freed with what is on their stacks.
    def dropped
      rand(1..60).times { Fiber.new { |x| [x, mark, Fiber.yield(mark)] }.resume("dropped") }
      keep(Fiber.new { Fiber.yield(mark) }.tap(&:resume))
    end

    def raised
      rand(1..20).times do
        fiber = Fiber.new { mark.then { Fiber.yield } }
        fiber.resume
        one_in(2) ? fiber.kill : fiber.raise(Planned)
      rescue Planned
        mark
      end
    end

    def enumerated
      rand(1..20).times do
        enumerator = Enumerator.new { |y| loop { y << mark } }
        rand(1..10).times { keep(enumerator.next) }
        keep(enumerator.lazy.map { |it| [it] }.first(3))
        keep(enumerator) if one_in(3)
      end
    end

    def produced
      keep(Enumerator.produce([1]) { |last| last + [mark] }.take(rand(1..40)))
      keep([1, 2, 3].each.with_index.zip([4, 5, 6].each_entry))
    end

    def stored
      Fiber[:torture] = [mark]
      keep(Fiber.new(storage: { torture: mark }) { Fiber[:torture] }.resume)
    end

    def transferred
      first = second = nil
      back = Fiber.current
      first = Fiber.new { 5.times { second.transfer(mark) }; back.transfer(:end) }
      second = Fiber.new { loop { first.transfer(mark) } }
      first.transfer
    end

    def deep
      Fiber.new { deeper(rand(10..400)) }.resume
    end

    def too_deep
      Fiber.new { deeper(1 << 40) }.resume
    rescue SystemStackError
      mark
    end

    private

    def deeper(levels)
      return Fiber.yield(mark) if levels == 0
      [mark, deeper(levels - 1)].last
    end
  end
end
