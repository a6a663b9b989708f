# frozen_string_literal: true

# Signals: handlers run in the main thread between any two of its instructions, and call the profiler.

module Torture
  class Signals < Actor
    NAMES = %w[USR1 USR2 ALRM WINCH].freeze

    # Before anyone sends one, and not taken back while one may be on its way.
    def self.install(seed)
      NAMES.each_with_index do |name, i|
        random = Torture.random(seed, i)
        trap(name) do
          Array.new(20) { |n| "handler #{n}" }
          Poke.some(random)
        end
      end
    end

    # Before a process exits: README.md, "What is kept apart".
    def self.ignore
      NAMES.each { |name| trap(name, "IGNORE") }
    end

    def one = send_signal

    def burst
      rand(2..40).times { send_signal }
    end

    def spread
      rand(2..20).times do
        send_signal
        short_while
      end
    end

    def for_files
      rand(1..3).times do
        Process.kill(Settings::SIGNAL, Process.pid)
        short_while
      end
    end

    def while_writing
      path = File.join(@world.folder, "signal-#{Process.pid}-#{@name}.gz")
      rand(1..5).times do
        send_signal
        Poke.tolerant { HeapProfile.snapshot(gc: one_in(2)).write(path) }
      end
    end

    def while_collecting
      rand(1..5).times do
        send_signal
        GC.start
        send_signal
        rand(10..1000).times { keep(mark) }
      end
    end

    def to_main_while_it_waits
      thread = Thread.new { sleep 0.002 }
      send_signal
      thread.join
    end

    private

    def send_signal
      Process.kill(sample(NAMES), Process.pid)
    end
  end
end
