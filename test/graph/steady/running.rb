# frozen_string_literal: true

# running.rb - threads, fibers and ractors that come and go, and stay as many.

class Steady
  steady "job workers with a queue", <<~RUBY, "apart { jobs(500) }"
    class Work; def initialize(number) = @body = "w" * 300; def run = @body.size; end
    WORK, RESULTS = Queue.new, Queue.new
    4.times { Thread.new { while (work = WORK.pop) do RESULTS << work.run; work = nil; end } }
    def jobs(count) = (count.times { |i| WORK << Work.new(i) }; count.times { RESULTS.pop })
    apart { jobs(500) }
  RUBY

  steady "pool that replaces its threads", <<~RUBY, "apart { renew }; wait_for_crew"
    TASKS = Queue.new
    def worker = Thread.new { kept = "k" * 20_000; loop { TASKS.pop == :end and break }; kept }
    CREW = Array.new(5) { worker }
    def renew = (CREW.size.times { TASKS << :end }; CREW.each(&:join); CREW.map! { worker })
    def wait_for_crew = (sleep 0.01 until TASKS.num_waiting == CREW.size)
    2.times { apart { renew }; wait_for_crew }
  RUBY

  steady "a thread for each request", <<~RUBY, "apart { serve_in_threads }"
    def serve_in_threads = 50.times { |i| Thread.new { Thread.current[:request] = "r" * 1000; i.to_s }.value }
    apart { serve_in_threads }
  RUBY

  steady "fibers that are replaced", <<~RUBY, "apart { TASK_FIBERS.map! { task_fiber } }"
    def task_fiber = Fiber.new { body = "f" * 5000; Fiber.yield; body }.tap(&:resume)
    TASK_FIBERS = Array.new(50)
    apart { TASK_FIBERS.map! { task_fiber } }
  RUBY

  steady "event loop of fibers", <<~RUBY, "turn_loop(2000)"
    class EventLoop
      def initialize(size) = @ready = Array.new(size) { task }
      def task = Fiber.new { 20.times { |i| "step \#{i}"; Fiber.yield }; :done }
      def spin(steps) = steps.times { @ready.push(@ready.shift.then { |one| one.resume == :done ? task : one }) }
    end
    TURNS, TURNED_LOOP = Queue.new, Queue.new
    Thread.new { EventLoop.new(40).then { |tasks| loop { TURNED_LOOP << tasks.spin(TURNS.pop) } } }
    def turn_loop(steps) = (TURNS << steps; TURNED_LOOP.pop)
    turn_loop(1000)
  RUBY

  steady "enumerators with external next", <<~RUBY, "apart { read_pages }"
    def read_pages = 30.times { pages = Enumerator.new { |out| 5.times { |i| out << "page \#{i}" } }; 5.times { pages.next } }
    apart { read_pages }
  RUBY

  steady "monitors and condition variables", <<~RUBY, "apart { 5.times { ping } }"
    require "monitor"
    SIGNALS, MONITOR = Queue.new, Monitor.new
    def ping
      ready = MONITOR.new_cond
      waiting = Thread.new { MONITOR.synchronize { SIGNALS << 1; ready.wait(1) } }
      SIGNALS.pop
      MONITOR.synchronize { ready.signal }
      waiting.join
    end
    apart { 5.times { ping } }
  RUBY

  steady "Timeout.timeout that does not fire", <<~RUBY, "apart { 50.times { Timeout.timeout(60) { 1 } } }"
    require "timeout"
    apart { 50.times { Timeout.timeout(60) { 1 } } }
  RUBY

  steady "Ractors that end", <<~RUBY, "apart { compute }; GC.start"
    def compute = 3.times.map { |i| Ractor.new(i) { |n| ("r" * 10_000).size + n } }.each(&:take)
    apart { compute }
    GC.start
  RUBY

  steady "a Ractor that works", <<~RUBY, "apart { ask_ractor }"
    ANSWERS = Ractor.new { loop { Ractor.yield("answer " * Ractor.receive) } }
    def ask_ractor = 200.times { |i| ANSWERS.send(i % 50); ANSWERS.take.size }
    apart { ask_ractor }
  RUBY
end
