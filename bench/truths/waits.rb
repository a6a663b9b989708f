# frozen_string_literal: true

# What a thread waits for, by the clock: about 70 % sleep, 20 % input that does not come, 10 % a lock that another thread has.

require_relative "truth"

INPUT, = IO.pipe
LOCK = Mutex.new
ASKED = Queue.new
LOCKED = Queue.new

def during(name)
  begun = wall_ns
  yield
  SPENT[name] += wall_ns - begun
end

Thread.new do
  loop do
    ASKED.pop
    LOCK.synchronize do
      LOCKED << true
      sleep 0.05
    end
  end
end

loop do
  during("sleep") { sleep 0.35 }
  during("IO") { INPUT.wait_readable(0.1) }
  ASKED << true
  during("sleep") { LOCKED.pop }
  during("lock") { LOCK.synchronize {} }
  told
end
