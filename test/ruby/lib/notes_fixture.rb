# frozen_string_literal: true

# notes_fixture.rb - walks at random through calls of every kind, again and again out of the same frames,
# and at each step asks MRI for the backtrace of an object and the profiler for its stack: what a walk
# takes from a frame's note (vm/names/frames.c) must be what is there now.
# Arguments: a seed, how many steps, and settings of start as key=value.

require "continuation"
require_relative "backtrace"

HeapProfile = ObjectSpace::HeapProfile
class Item; end

module Notes
  SETTINGS = { interval: 1, depth: 65_535 }
  MOST = 40 # calls within each other

  class << self
    attr_accessor :random, :steps
    attr_reader :compared

    # What is cut ends with [truncated] in place of the rest; C methods there have lost their callers' place.
    def agree?(expected, got)
      return expected == got unless got.last&.last == "[truncated]"
      expected.size >= got.size && expected.first(got.size - 1).map(&:last) == got[0...-1].map(&:last)
    end

    def compare
      locations = caller_locations(1)
      item = Item.new
      stack = HeapProfile.allocation_stack(item) or return # for want of memory
      got = stack.map { |frame| [frame.path, frame.lineno, frame.label] }.drop(2)
      expected = Backtrace.frames(locations)
      abort "expected #{expected}\ngot      #{got}" unless agree?(expected, got)
      @compared = compared.to_i + 1
    end

    def pick(of) = of[random.rand(of.size)]

    # One call or another, and sometimes the one after that in the same frame.
    def step(depth)
      compare
      return if depth > MOST
      random.rand(4).times do
        return if (self.steps -= 1) < 0
        send(pick(CALLS), depth + 1)
        compare
      end
    end
  end

  module Calls
    def by_method(depth) = step(depth)
    def by_block(depth) = [1].each { step(depth) }
    def by_yield(depth) = yielded { step(depth) }
    def yielded = (compare; yield; compare)
    def by_proc(depth) = proc { step(depth) }.call
    def by_eval(depth) = eval("compare\nstep(depth)\ncompare", binding, "eval.rb", random.rand(3))
    def by_binding(depth) = (made = binding; compare; made.local_variable_set(:new, 1); made.eval("step(depth)"); compare)
    def by_send(depth) = __send__(pick(%i[by_method by_block]), depth)
    def by_missing(depth) = no_such_method(depth)
    def method_missing(name, ...) = name == :no_such_method ? step(...) : super
    def respond_to_missing?(...) = true
    def by_keyword(depth, at: compare) = step(depth)
    def by_splat(*depth) = step(*depth)
    def by_sort(depth) = [2, 1].sort { |a, b| step(depth); a <=> b }
    def by_hash(depth) = Hash.new { step(depth) }[1]
    def by_while(depth) = 2.times { |i| compare; step(depth) if i == 1 }

    def by_rescue(depth)
      step(depth)
      raise "x"
    rescue RuntimeError
      step(depth)
      compare
    else
      nil
    ensure
      compare
      step(depth)
    end

    def by_retry(depth)
      tries = (tries || 0) + 1
      compare
      raise "x" if tries < 3
      step(depth)
    rescue RuntimeError
      compare
      retry
    end

    def by_throw(depth)
      catch(:out) { begin; step(depth); throw :out; ensure; step(depth); end }
      compare
    end

    def by_ensured_return(depth)
      return step(depth)
    ensure
      [1].each { compare }
      step(depth)
    end

    # The environment moves to the heap after the frame has been walked.
    def by_escape(depth)
      a = depth
      compare
      [1].each { |b| step(depth); @kept = [-> { a + b }, binding]; step(depth) }
      step(a)
    end

    def by_fiber(depth)
      fiber = Fiber.new { |x| compare; Fiber.yield(step(depth)); compare; x }
      fiber.resume
      compare
      step(depth)
      left = (Thread.current[:left] ||= []) << fiber # of the fiber that runs, which alone may resume it
      left.shift.resume if left.size > 3
    end

    def by_enumerator(depth)
      made = Enumerator.new { |y| compare; y << 1; step(depth); y << 2 }
      [made.next, compare, made.next, compare]
    end

    # A stack of memory that another thread has left.
    def by_thread(depth)
      return step(depth) if depth > 6
      state = [random, steps]
      self.steps = 20
      Thread.new { step(depth); compare }.join
      self.random, self.steps = state
    end

    def by_continuation(depth)
      return step(depth) if depth > 12
      times = 0
      left = callcc { |made| step(depth); made }
      compare
      times += 1
      [1].each { compare; step(depth) }
      left.call(left) if left && (@returned = @returned.to_i + 1) % 3 != 0
    end

    # Other methods, and the same code as another's, called from the same place.
    def by_each_name(depth)
      %i[shared again].each { |name| [Left.new, Right.new].each { |it| it.__send__(name) { compare } } }
      step(depth)
    end

    def by_collection(depth)
      compare
      pick([-> { GC.start }, -> { GC.start(full_mark: false) }, -> { GC.compact }]).call
      step(depth)
    end

    # Numbers of stacks begin again.
    def by_new_run(depth)
      compare
      return step(depth) if random.rand(8) > 0
      HeapProfile.stop
      eval("[Item.new]") if random.rand(2) == 0
      HeapProfile.start(**SETTINGS)
      eval("[Item.new, Item.new]\n[1].each { Item.new }", nil, "new#{random.rand(100)}.rb")
      compare
      step(depth)
    end

    # Where memory is short, what nobody needs goes, and its numbers are given to others.
    def by_new_code(depth)
      compare
      60.times { |i| eval("Item.new; [1].each { Item.new }", nil, "#{random.rand(1 << 40)}.rb", i) } if SETTINGS[:memory]
      GC.start if random.rand(20) == 0
      step(depth)
    end
  end

  module Shared
    def shared(&) = [1].each(&)
  end

  class Left
    include Shared
    define_method(:again, Shared.instance_method(:shared))
  end

  class Right < Left
    define_method(:shared, Shared.instance_method(:shared))
    define_method(:again) { |&block| block.call }
  end

  extend Calls
  CALLS = Calls.instance_methods(false).grep(/\Aby_/)
end

Notes.random = Random.new(Integer(ARGV[0]))
ARGV.drop(2).each { |setting| setting.split("=").then { |key, value| Notes::SETTINGS[key.to_sym] = Integer(value) } }
HeapProfile.start(**Notes::SETTINGS)
goal = Integer(ARGV[1])
while goal > 0
  Notes.steps = 300
  Notes.step(0)
  goal -= 300
end
puts Notes.compared
