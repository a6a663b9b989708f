# frozen_string_literal: true

# actor.rb - one who takes steps at random. A kind of step is a public method of a subclass.
#
# An actor runs in a thread, in a Ractor, or in a forked child, beside others. After each of its
# steps it collects what is young and looks at the profiler's numbers; in a debug build the profiler
# checks its tables and all flag bits after each GC.

require_relative "check"
require_relative "log"
require_relative "random"
require_relative "world"

module Torture
  class Actor
    KEPT = 300

    class << self
      def title = name.delete_prefix("Torture::")
      def steps = public_instance_methods(false)
      def kinds = steps.map { |step| "#{title}.#{step}" }

      # Where may it run?
      def in_ractor? = false
      def in_thread? = true

      # Steps that take so long that they are taken one time in eight.
      def rare = []
    end

    # name: a word for the log. marker: the number of its class, nil for none of its own.
    def initialize(world, name, seed, marker: nil)
      @world, @name, @seed = world, name, seed
      @random = Torture.random(seed, 0)
      @log = Log.new(world.folder)
      @class = MARKERS[marker || -1]
      @begun = @made = 0
      @kept = []
    end

    # How many of its class it has allocated at least and at most.
    def run(count)
      count.times do
        break if Log.now > @world.until
        step
      end
      [@made, @begun]
    end

    private

    def step
      kind = pick
      @log.line(@name, "begin", "#{self.class.title}.#{kind}")
      send(kind)
      GC.start(full_mark: one_in(8))
      Check.stat
      @log.line(@name, "done", "#{self.class.title}.#{kind}")
    end

    def pick
      steps = self.class.steps.sort
      kind = sample(steps)
      kind = sample(steps) if self.class.rare.include?(kind) && !one_in(8)
      kind
    end

    def note(text)
      @log.line(@name, "-", text)
    end

    def one_in(count) = @random.rand(count) == 0
    def sample(values) = values.sample(random: @random)
    def rand(range) = @random.rand(range)

    # Another actor's seed, the next time another one.
    def next_seed = @random.rand(1 << 62)

    # An object of its class. Killed or out of memory in between, it is between made and begun.
    def mark(value = nil)
      @begun += 1
      object = @class.new(value)
      @made += 1
      object
    end

    # Remembers the object, for a while.
    def keep(object)
      @kept.size < KEPT ? @kept << object : @kept[rand(KEPT)] = object
    end

    # To be gone on with while others allocate. Not so where no full marks are allowed:
    # README.md, "What is kept apart".
    def begin_marking
      GC.start(immediate_mark: !@world.full, immediate_sweep: false)
    end

    def forget
      @kept.clear
    end

    def short_while
      sleep(rand(0.003))
    end

    # In a forked child: what another thread had set at that moment would stay.
    def calm
      GC.stress = GC.auto_compact = false
      GC.enable
    end
  end
end
