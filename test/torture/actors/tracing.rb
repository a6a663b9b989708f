# frozen_string_literal: true

# Tracing: other tools that hook into the VM. Not with Ractors: README.md, "What is kept apart".

require "coverage"

module Torture
  class Tracing < Actor
    EVENTS = %i[line call return c_call c_return b_call b_return raise class end].freeze

    def points
      trace(*EVENTS) { |point| [point.event, point.lineno] }
    end

    def points_that_allocate
      trace(:call, :c_call) { |point| [point.path, point.method_id.to_s, Object.new] }
    end

    def points_that_poke
      random, left = Random.new(next_seed), 20
      trace(:b_call) { Poke.some(random) if (left -= 1) > 0 }
    end

    def targeted
      type = Class.new { def work = [Object.new] }
      point = TracePoint.new(:call, :return) { |it| it.defined_class }
      point.enable(target: type.instance_method(:work)) { rand(1..100).times { keep(type.new.work) } }
    end

    def of_code
      trace(:script_compiled) { |point| point.eval_script }
      keep(eval("[Object.new]"))
    end

    def covered
      return unless Coverage.state == :idle
      Coverage.setup(oneshot_lines: true)
      Coverage.resume
      keep(eval("[1].map { |x| [x] }", nil, "covered.rb"))
    ensure
      Coverage.result if Coverage.state == :running
    end

    private

    # For this thread alone: others have their own points.
    def trace(*events, &block)
      TracePoint.new(*events, &block).enable(target_thread: Thread.current) do
        rand(1..60).times { |i| keep([i].map { |it| mark(it) }) }
        eval("Class.new { def traced = [1] }.new.traced")
        begin
          raise Planned
        rescue Planned
          mark
        end
      end
    end
  end
end
