# frozen_string_literal: true

# Lines of one method: 70, 20 and 10 % of the CPU time. With --yjit they are machine code.

require_relative "truth"

def count
  i, begun = 0, cpu_ns
  while i < 700_000 do i += 1 end # seventy
  seventy = cpu_ns
  while i < 900_000 do i += 1 end # twenty
  twenty = cpu_ns
  while i < 1_000_000 do i += 1 end # ten
  ended = cpu_ns
  SPENT["seventy"] += seventy - begun
  SPENT["twenty"] += twenty - seventy
  SPENT["ten"] += ended - twenty
end

loop { count; told }
