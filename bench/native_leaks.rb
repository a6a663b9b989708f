# frozen_string_literal: true

# native_leaks.rb - how much of what is lost HeapProfile.native_leaks finds, by the extension of test/ext/memcheck; and what it costs.
#
#     make bench-native-leaks
#
# Each way to lose memory is a process of its own, ROUNDS times for each number of leaks.

require "-test-/heapprof_memcheck"

ROUNDS = Integer(ENV["ROUNDS"] || 10)
M = HeapProfMemcheck

# By script: blocks that are lost.
WAYS = {
  "M.lose(1000)" => 1, "M.lose_of_ruby(1000)" => 1, "M.lose_table" => 3, "M.lose_list(5)" => 5, "M.lose_ring(5)" => 5,
  "M.lose_grown(1000)" => 1, "M.lose_freed" => 1, "M.lose_by_new(3)" => 4, "M.lose_after { 1 }" => 1, "M.unfreed" => 1, "M.shallow" => 1,
  "M.lose_without_gvl(1000)" => 1, "M.lose_in_thread(1000)" => 1, "Thread.new { M.lose(1000) }.join" => 1,
  "Fiber.new { M.lose(1000) }.resume" => 1, "begin; M.lose(1000); raise; rescue; end" => 1
}.freeze

# What block returns in a child.
def apart
  list, out = IO.pipe
  child = fork { out.write(Marshal.dump(yield)) }
  out.close
  result = Marshal.load(list.read)
  Process.wait(child)
  result
end

def found(script, times)
  apart do
    work = eval("proc { #{times}.times { #{script} } }")
    ObjectSpace::HeapProfile.native_leaks(&work).sum { |leak| leak.blocks + leak.indirect_blocks }
  end
end

def cpu_ms(objects)
  apart do
    kept = Array.new(objects) { [_1.to_s * 10] }
    before = Process.times
    10.times { ObjectSpace::HeapProfile.native_leaks { kept } }
    Process.times.to_a.zip(before.to_a).sum { |now, then_| now - then_ } * 100
  end
end

puts "percent of blocks found, of 20 leaks; of 1 leak; and how often any was"
WAYS.each do |script, blocks|
  [20, 1].each do |times|
    counts = Array.new(ROUNDS) { found(script, times) }
    printf("%5.1f %3d/%d  ", 100.0 * counts.sum / (blocks * times * ROUNDS), counts.count(&:positive?), ROUNDS)
  end
  puts script
end
printf("CPU for an empty block: %d ms; with 2,000,000 objects: %d ms\n", cpu_ms(0), cpu_ms(1_000_000))
