# frozen_string_literal: true

# Threads: many at once, and ended wherever they are.

require "monitor"
require "timeout"
require_relative "../lib/scheduler"

module Torture
  class Threads < Actor
    def many
      threads = Array.new(rand(2..12)) { |i| Thread.new { Array.new(rand(10..300)) { [i] } } }
      keep(threads.map(&:value))
    end

    def killed
      victims { |thread| thread.kill }
    end

    def raised_into
      victims { |thread| thread.raise(Planned, "from outside") }
    end

    def killed_in_profiler
      victims(->(random) { in_profiler(random) }) { |thread| one_in(2) ? thread.kill : thread.raise(Planned) }
    end

    def handled
      thread = Thread.new do
        Thread.handle_interrupt(Planned => :never) do
          rand(10..500).times { Object.new }
          Thread.handle_interrupt(Planned => :immediate) { Thread.pass }
        end
      end
      thread.raise(Planned)
      settle(thread)
    end

    def timed
      rand(1..5).times { Timeout.timeout(rand(0.002)) { loop { mark([1]) } } }
    rescue Timeout::Error => e
      keep(e)
    end

    def queued
      queue = Thread::SizedQueue.new(rand(1..10))
      producer = Thread.new { 100.times { |i| queue << [i, "item"] }; queue.close }
      consumers = Array.new(rand(1..4)) { Thread.new { while (item = queue.pop); item.dup; end } }
      [producer, *consumers].each(&:join)
    end

    def locked
      monitor = Monitor.new
      condition = monitor.new_cond
      list = []
      waiter = Thread.new { monitor.synchronize { condition.wait_while { list.empty? }; list.pop } }
      monitor.synchronize { list << mark; condition.signal }
      keep(waiter.value)
    end

    def local
      thread = Thread.new do
        Thread.current[:torture] = Array.new(50) { Object.new }
        Thread.current.thread_variable_set(:torture, Object.new)
      end
      thread.join
      keep(thread) if one_in(2)
    end

    def asleep
      threads = Array.new(rand(1..10)) { Thread.new { [Object.new, sleep] } }
      short_while
      threads.each { |thread| one_in(2) ? thread.kill : thread.raise(Planned) }
      threads.each { |thread| settle(thread) }
    end

    def scheduled
      thread = Thread.new do
        Fiber.set_scheduler(Scheduler.new)
        rand(1..15).times do |i|
          Fiber.schedule { rand(1..5).times { keep(mark(i)); sleep(0.0005) } }
        end
        queue = Thread::Queue.new
        Fiber.schedule { keep(queue.pop) }
        Fiber.schedule { queue << mark }
      end
      thread.join
    end

    def nested
      Thread.new { Thread.new { Thread.new { Array.new(50) { Object.new } }.join }.join }.join
    end

    def backtraces
      thread = Thread.new { loop { Array.new(10) { |i| i.to_s } } }
      rand(1..20).times { keep(thread.backtrace); Thread.pass }
      thread.kill
      settle(thread)
    end

    private

    # Who allocates for ever, and whom to end.
    def victims(work = nil)
      threads = Array.new(rand(1..6)) do |i|
        seed = next_seed
        actor = Allocation.new(@world, "#{@name}.#{i}", seed)
        work ? Thread.new { work.call(Random.new(seed)) } : Thread.new { actor.run(1000) }
      end
      threads.each do |thread|
        short_while
        yield thread
        settle(thread)
      end
    end

    def in_profiler(random)
      path = File.join(@world.folder, "victim-#{random.seed}.gz")
      loop do
        Poke.some(random)
        Poke.tolerant { HeapProfile.snapshot.write(path) }
        Poke.tolerant { HeapProfile.profile(interval: 1) { Object.new } } unless Poke.steady
      end
    end

    def settle(thread)
      thread.join
    rescue Planned
      nil
    end
  end
end
