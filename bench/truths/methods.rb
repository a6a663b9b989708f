# frozen_string_literal: true

# Methods of Ruby: 70, 20 and 10 % of the CPU time.

require_relative "truth"

def burn(name, ns)
  begun = cpu_ns
  2000.times { |i| i + 1 } while cpu_ns - begun < ns
  SPENT[name] += cpu_ns - begun
end

def seventy = burn("seventy", 7_000_000)
def twenty = burn("twenty", 2_000_000)
def ten = burn("ten", 1_000_000)

loop { seventy; twenty; ten; told }
