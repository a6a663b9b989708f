# frozen_string_literal: true

# limits.rb - how much of a process requests may hold: threads that wait, and the collector.
#
#   I1  at most WAITS requests wait at a time (seconds=), so a server of five threads goes on.
#   I2  at most one request that needs no token has garbage collected at a time (gc=1), and the next
#       may only when SHARE times as long has passed as the last one took, and LEAST seconds.
#
# Of a process, not of an application: two that are mounted in one share them. A fork ends the other threads,
# and so what they held.

module Heapprof
  class Rack
    class Limits # :nodoc:
      WAITS = 2
      SHARE = 9
      LEAST = 1

      # What is too much now, and after how many seconds it may not be.
      class Busy < StandardError
        attr_reader :seconds

        def initialize(message, seconds)
          super(message)
          @seconds = seconds.ceil.clamp(1, nil)
        end
      end

      # [clock] Seconds that only rise.
      def initialize(clock = -> { Process.clock_gettime(Process::CLOCK_MONOTONIC) })
        @clock = clock
        @lock = Mutex.new
        @waiting = []
        @next_collection = clock.call
      end

      # I1. So many seconds are what it will take.
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

      # I2. Yields a lambda that calls its block and counts its time.
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
