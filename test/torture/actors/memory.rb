# frozen_string_literal: true

# Memory: none is left, for Ruby or for the profiler. In a forked child, whose memory is limited:
# Ruby may end itself there when it cannot even raise, and says so.

module Torture
  class Memory < Actor
    LAST_WORDS = "[FATAL] failed to allocate memory\n"
    # Of a build with RUBY_DEBUG, and of YJIT.
    OTHER_WORDS = /\[BUG\] TRY_WITH_GC: could not allocate|^memory allocation of \d+ bytes failed/

    def for_strings
      starve { |held| held << "x" * 100_000 }
    end

    def for_objects
      starve { |held| held << Array.new(500) { |i| { i => [i] } } }
    end

    # The profiler asks first: it takes most of what there is.
    def for_samples
      starve { |held| held << down(100) { Array.new(50) { |i| mark(i) } } }
    end

    # Its budget, rather than the system, sets the limit.
    def for_the_budget
      return if Poke.steady
      Poke.tolerant { HeapProfile.start(interval: 1, memory: 1 << 20) }
      5.times { |i| eval("#{"\n" * i}Array.new(500) { |x| keep([x]) }") }
      Array.new(2000) { |i| down(i % 150) { mark } }
    end

    private

    def starve
      said = File.join(@world.folder, "starved-#{Process.pid}-#{@name}")
      pid = fork do
        $stderr.reopen(said, "w")
        calm
        Poke.tolerant { HeapProfile.start(interval: 1) }
        limit(rand(8..64) << 20)
        eat { |held| yield held }
        exit!(0)
      end
      judge(Process.wait2(pid)[1], File.read(said))
      File.unlink(said)
    end

    def limit(more)
      size = File.read("/proc/self/statm").to_i * 4096 + more
      Check.starved = true
      Process.setrlimit(:AS, size, size)
    end

    def eat
      3.times do
        held = []
        loop { yield held }
      rescue NoMemoryError
        held.clear
        Check.stat
        Poke.tolerant { HeapProfile.snapshot(gc: true) } if one_in(2)
      end
    rescue NoMemoryError
      nil # of a snapshot
    end

    # Our own thread says what it could not write, and why.
    NOT_WRITTEN = /^ruby: heap profiler: (the profile was not written|RUBY_HEAPGRAPH: [^:\n]+): Cannot allocate memory\n/

    def judge(status, said)
      said = said.gsub(NOT_WRITTEN, "")
      return if status.exitstatus == 0 && said.empty?
      return if status.termsig == Signal.list["ABRT"] && said.b.match?(OTHER_WORDS)
      Check.equal! [1, LAST_WORDS], [status.exitstatus, said], "how a starved child ended"
    end

    def down(levels, &block) = levels <= 0 ? yield : down(levels - 1, &block)
  end
end
