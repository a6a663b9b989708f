# frozen_string_literal: true

# scheduler.rb - the least a fiber scheduler must do: each fiber that would wait is put off.

module Torture
  class Scheduler
    def initialize
      @ready, @sleeping, @readable = Thread::Queue.new, {}, {}
    end

    def fiber(&block)
      Fiber.new(blocking: false, &block).tap(&:resume)
    end

    def kernel_sleep(duration = nil)
      block(:sleep, duration)
    end

    def block(_blocker, timeout = nil)
      @sleeping[Fiber.current] = timeout ? Log.now + timeout : nil
      Fiber.yield
    ensure
      @sleeping.delete(Fiber.current)
    end

    def unblock(_blocker, fiber)
      @ready << fiber
    end

    def io_wait(io, events, _timeout)
      @readable[Fiber.current] = io
      Fiber.yield
      events
    ensure
      @readable.delete(Fiber.current)
    end

    def close = run

    def fiber_interrupt(fiber, exception) = fiber.raise(exception)

    private

    def run
      until @sleeping.empty? && @readable.empty? && @ready.empty?
        due.each { |fiber| fiber.resume if fiber.alive? }
        Thread.pass
      end
    end

    def due
      now = Log.now
      woken = []
      woken << @ready.pop until @ready.empty?
      woken |= @sleeping.select { |_, time| time && time <= now }.keys
      woken | @readable.select { |_, io| io.closed? || IO.select([io], nil, nil, 0) }.keys
    end
  end
end
