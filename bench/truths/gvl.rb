# frozen_string_literal: true

# Ruby's global lock: of two threads that both want it, one gives it up after a part of its turn.

require_relative "truth"

def burn(name, ns)
  begun = cpu_ns
  500.times { |i| i + 1 } while cpu_ns - begun < ns
  SPENT[name] += cpu_ns - begun
end

def short = burn("short", 10_000_000)
def long = burn("long", 40_000_000)

Thread.new { loop { short; sleep 0.05 } }
loop { long; told }
