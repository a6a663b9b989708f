# frozen_string_literal: true

# limits.rb - how much of a process requests may use: threads that wait, and the garbage collector.
#
#   I1  at most WAITS requests wait at a time (seconds=), so a server of five threads goes on.
#   I2  at most one request without a token collects garbage at a time (gc=1). The next one has to wait SHARE
#       times as long as the last one took, and at least LEAST seconds.
#
# The limits hold for a process. Two applications that are mounted in one process share them. A fork ends the other threads,
# so it gives back what these held.

module Heapprof
  class Rack
    class Limits # :nodoc:
      WAITS = 2
      SHARE = 9
      LEAST = 1

      # Says which limit is reached, and after how many seconds to try again.
      class Busy < StandardError
        attr_reader :seconds

        def initialize(message, seconds)
          super(message)
          @seconds = seconds.ceil.clamp(1, nil)
        end
      end

      # [clock] Returns seconds that never go back.
      def initialize(clock = -> { Process.clock_gettime(Process::CLOCK_MONOTONIC) })
        @clock = clock
        @lock = Mutex.new
        @waiting = []
        @next_collection = clock.call
      end

      # I1. The request will take that many seconds.
      def wait(seconds)
        mine = [Thread.current]
        @lock.synchronize do
          @waiting.select! { |thread,| thread.alive? }
          raise Busy.new("#{WAITS} requests with seconds= are waiting already", seconds) if @waiting.size >= WAITS
          @waiting << mine
        end
        yield
      ensure
        @lock.synchronize { @waiting.delete_if { |each| each.equal?(mine) } }
      end

      # I2. Yields a lambda, which calls its block and measures the time of the call.
      def collect
        admit
        used = 0
        begin
          yield(lambda do |&work|
            began = @clock.call
            work.call
          ensure
            used += @clock.call - began
          end)
        ensure
          @lock.synchronize do
            @collector = nil
            @next_collection = @clock.call + [LEAST, SHARE * used].max
          end
        end
      end

      private

      def admit
        @lock.synchronize do
          raise Busy.new("a request with gc=1 is being answered already", LEAST) if @collector&.alive?
          left = @next_collection - @clock.call
          raise Busy.new("gc=1 was asked for a moment ago", left) if left > 0
          @collector = Thread.current
        end
      end
    end
  end
end
