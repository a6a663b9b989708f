# frozen_string_literal: true

# Stock MRI 3.4.5: `stack smashing detected' or a segmentation fault, nearly each run:
#   ruby --disable-gems fibers-in-ractors.rb
# The pool of machine stacks for fibers (shared_fiber_pool, cont.c) belongs to all Ractors and has no lock: two fibers get
# the same stack.

Warning[:experimental] = false
ractors = Array.new(4) do
  Ractor.new { 20_000.times { |i| Fiber.new { [i] }.resume } }
end
ractors.each(&:take)
puts "ok"
