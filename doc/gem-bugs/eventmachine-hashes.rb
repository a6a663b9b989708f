# frozen_string_literal: true

# eventmachine 1.2.7 on any Ruby from 2.7 on:
#   ruby eventmachine-hashes.rb
#   no such timer (EventMachine::UnknownTimerFired), or [BUG] Segmentation fault
# The reactor keeps the hashes of its connections and timers in global variables that the GC does not know. An instance variable of
# EventMachine holds the same hashes, so they live; but a GC.compact moves them, and the next timer or connection looks where they were.
# eventmachine-hashes.patch registers both variables. Found by heapprof barriers (unregistered-global).

require "eventmachine"

others = Array.new(2000) { {} }
EM.run do
  others = nil
  GC.start
  GC.compact
  Array.new(10_000) { {} }
  EM.add_timer(0.01) do
    puts "ok"
    EM.stop
  end
end
