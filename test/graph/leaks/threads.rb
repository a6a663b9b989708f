# frozen_string_literal: true

# threads.rb - leaks in threads, fibers, queues and ractors.

class Leaks
  leak "threads that never end", <<~RUBY, holder: /program\.rb:\d+/, path: /local job/, holds: LEAKED, count: 25, once: 90_000_000
    class Leaked; def initialize = @body = "b" * 100_000; end
    def leak(n) = (n.times { Thread.new { job = Leaked.new; sleep } }; settle) # here
  RUBY

  leak "fibers in a list", <<~RUBY, holder: /\bFIBERS\b/, path: /\bFIBERS\b.*local job/, holds: %w[FIBERS], on: :main, count: 100, once: 90_000_000
    class Leaked; def initialize = @body = "b" * 20_000; end
    FIBERS = []
    def leak(n) = n.times { FIBERS << Fiber.new { job = Leaked.new; Fiber.yield }.tap(&:resume) } # here
  RUBY

  leak "enumerators with external next", <<~RUBY, holder: /\bCURSORS\b/, path: /\bCURSORS\b/, holds: %w[CURSORS], on: :main, count: 100, once: 90_000_000
    class Leaked; def initialize = @body = "b" * 20_000; end
    CURSORS = []
    def rows = Enumerator.new { |out| row = Leaked.new; loop { out << row } }
    def leak(n) = n.times { CURSORS << rows.tap(&:next) } # here
  RUBY

  leak "Queue", <<~RUBY, holder: /\bJOBS\b/, path: /\bJOBS\b/, holds: %w[JOBS]
    JOBS = Queue.new
    def leak(n) = n.times { JOBS << Leaked.new } # here
  RUBY

  leak "SizedQueue", <<~RUBY, holder: /\bINBOX\b/, path: /\bINBOX\b/, holds: %w[INBOX]
    INBOX = SizedQueue.new(1_000_000)
    def leak(n) = n.times { INBOX << Leaked.new } # here
  RUBY

  leak "queue of a thread pool", <<~RUBY, holder: /\bPOOL\b|@jobs/, path: /@jobs/, holds: %w[POOL @jobs]
    class Pool
      def initialize = (@jobs = Queue.new; @workers = Array.new(3) { Thread.new { sleep } })
      def post(&job) = @jobs << job
    end
    POOL = Pool.new
    def leak(n) = n.times { one = Leaked.new; POOL.post { one } } # here
  RUBY

  leak "waiters of a ConditionVariable", <<~RUBY, holder: /program\.rb:\d+/, path: /local job/, holds: LEAKED, count: 25, once: 90_000_000
    class Leaked; def initialize = @body = "b" * 100_000; end
    LOCK, DONE = Mutex.new, ConditionVariable.new
    def wait = Thread.new { job = Leaked.new; LOCK.synchronize { DONE.wait(LOCK) } } # here
    def leak(n) = (n.times { wait }; settle)
  RUBY

  leak "threads in Timeout.timeout", <<~RUBY, holder: /program\.rb:\d+/, path: /local job/, holds: LEAKED, count: 25, once: 90_000_000
    require "timeout"
    class Leaked; def initialize = @body = "b" * 100_000; end
    def stuck = Thread.new { job = Leaked.new; Timeout.timeout(3600) { sleep } } # here
    def leak(n) = (n.times { stuck }; settle)
  RUBY

  leak "threads in a list", <<~RUBY, holder: /\bWORKERS\b|program\.rb:\d+/, path: /local job/, holds: LEAKED, count: 25, once: 90_000_000
    class Leaked; def initialize = @body = "b" * 100_000; end
    WORKERS = []
    def leak(n) = (n.times { WORKERS << Thread.new { job = Leaked.new; Thread.stop } }; settle) # here
  RUBY

  leak "values of threads that have ended", <<~RUBY, holder: /\bFINISHED\b/, path: /\bFINISHED\b/, holds: %w[FINISHED], count: 100
    class Leaked; def initialize = @body = "b" * 20_000; end
    FINISHED = []
    def leak(n) = n.times { FINISHED << Thread.new { Leaked.new }.tap(&:join) } # here
  RUBY

  leak "a local of another thread", <<~RUBY, holder: /program\.rb:\d+|local collected/, path: /local collected/, holds: LEAKED
    INPUT = Queue.new
    COLLECTOR = Thread.new { collected = []; loop { collected << INPUT.pop } }
    def leak(n)
      n.times { INPUT << Leaked.new } # here
      sleep 0.01 until INPUT.empty? && INPUT.num_waiting == 1
    end
  RUBY

  leak "objects of a Ractor", <<~RUBY, holder: /ractor/i, path: /local mine/, holds: LEAKED
    RACTOR = Ractor.new { mine = []; loop { Ractor.receive.times { mine << Leaked.new }; Ractor.yield 1 } } # here
    def leak(n) = (RACTOR.send(n); RACTOR.take)
  RUBY
end
