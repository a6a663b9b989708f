# frozen_string_literal: true

# held.rb - the time of a program, and its copies, in the hands of a test (test/ext/held).

module Held
  # Under another ruby than the one that is built, that one's.
  def self.library
    built = File.expand_path("../../../build/ruby/.ext/*/-test-/heapprof_held.so", __dir__)
    $LOAD_PATH.resolve_feature_path("-test-/heapprof_held")&.last || Dir[built].first || raise("no heapprof_held.so: see `make tested'")
  end

  # The environment of a program whose clock stands still, except that each look at it takes so many seconds.
  def self.clock(step) = { "LD_PRELOAD" => library, "HELD_STEP" => step.to_s }

  # That of a ruby whose copies, which write dumps, stop before they begin.
  def self.copies = { "LD_PRELOAD" => library, "HELD_COPY" => "1" }

  # That of a ruby whose children stop before it notices, in them, that they are children.
  def self.children = { "LD_PRELOAD" => library, "HELD_FORK" => "1" }

  # That of a program which is slow to read another process's memory: each read takes so many milliseconds more.
  def self.reads(milliseconds) = { "LD_PRELOAD" => library, "HELD_READ" => milliseconds.to_s }

  # What a program waits for instead of a moment. It is to be spawned with env and descriptors; then `begun` is called.
  class Bell
    def initialize
      (@bell, @ring), (@answer, @answers) = IO.pipe, IO.pipe
    end

    def env = { "LD_PRELOAD" => Held.library, "HELD_BELL" => "#{@bell.fileno},#{@answers.fileno}" }
    def env_of_polls = env.merge("HELD_POLLS" => "1")
    def descriptors = { @bell => @bell, @answers => @answers }
    def begun = [@bell, @answers].each(&:close)

    # The moment that it waits for has come, so many times, or was so many times 10 ms ago. Returns when it waits again, and whether it
    # does: false when it has ended.
    def ring(times = 1, late: 0)
      times.times.all? do
        @ring.syswrite([late].pack("C"))
        @answer.read(1)
      end
    rescue Errno::EPIPE
      false
    end

    # Until it has ended.
    def ring_out = (nil while ring)

    # From here on it waits for the clock.
    def close = [@bell, @ring, @answer, @answers].each { |io| io.close unless io.closed? }
  end
end
