# frozen_string_literal: true

# test_leak.rb - heapprof leak of dumps whose contents and times are known here. Processes are in test/attach/test_leak.rb.

require_relative "lib/graph_bytes"
require_relative "lib/heapprof_command"

class TestHeapprofLeakOfFiles < Test::Unit::TestCase
  include HeapprofCommand

  # A dump of a process, half a minute after the one before: $orders has so many orders of 10,000 bytes, all that it had and new ones.
  def orders(number, before, count, resident: 0, fibers: 0)
    graph = GraphBytes.new
    { time: number * 30_000_000_000, set: 7, dump: number, resident: resident }.each { |key, value| graph.fact(key.to_s, value.to_s) }
    hash = graph.later
    kept = Array.new(count) { |i| graph.object("Order", 10_000, bits: i < before ? 64 : 0) }
    graph.object("Hash", at: hash, bits: before.zero? ? 0 : 64, type: "T_HASH", tail: kept.map.with_index { |order, i| [graph.integer(i), order] })
    graph.root(:GLOBAL, "$orders", hash)
    fibers.times { |i| graph.root(:GLOBAL, "$fiber_#{i}", graph.object("Fiber", type: "T_DATA(fiber)", bits: i < fibers - 100 ? 64 : 0)) }
    write("#{number}.rbgraph", graph.bytes)
  end

  def leak(*counts, resident: [], fibers: [])
    in_directory do
      files = [0, *counts].each_cons(2).map.with_index(1) { |(before, count), number| orders(number, before, count, resident: resident[number - 1] || 0, fibers: fibers[number - 1] || 0) }
      heapprof!("leak", *files).out
    end
  end

  def test_the_rate_is_that_of_the_last_step
    assert_match(/\A1\.rbgraph: 195 kB more is held than 60 s before, growing by 11\.4 MB an hour at the end \(alive: /, leak(3, 13, 23))
    assert_match(/\A1\.rbgraph: 97\.7 kB more is held than 30 s before, growing by 11\.4 MB an hour \(alive: /, leak(3, 13))
  end

  def test_of_what_grows_ever_less_there_is_no_rate
    assert_match(/\A1\.rbgraph: 117 kB more is held than 60 s before, ever less: 97\.7 kB in 30 s, then 19\.5 kB in 30 s \(alive: /, leak(3, 13, 15))
  end

  def test_memory_outside_of_objects_is_in_the_first_line
    mb = 1 << 20
    assert_match(/\A1\.rbgraph: 195 kB more is held by objects, and 5\.81 MB outside of them, than 60 s before, growing by 360 MB an hour at the end \(alive: /,
                 leak(3, 13, 23, resident: [10 * mb, 13 * mb, 16 * mb]))
    assert_match(/\A1\.rbgraph: no object grew, but memory outside of objects did: 6 MB in 60 s, growing by 360 MB an hour at the end \(alive: /,
                 leak(3, 3, 3, resident: [10 * mb, 13 * mb, 16 * mb]))
  end

  def test_stacks_of_threads_and_fibers_are_outside_of_objects
    resident = [10, 13, 16].map { |mb| mb << 20 }
    assert_match(/^RSS: 6 MB more\. 5\.\d+ MB of it is neither .*:\nthe stacks of 200 new fibers, C code, or room that is in use in part$/,
                 leak(3, 3, 3, resident: resident, fibers: [100, 200, 300]))
    assert_match(/^RSS: 6 MB more\. 6 MB of it is neither .*:\nC code, or room /, leak(3, 3, 3, resident: resident))
  end

  # With each dump $names has 20 more of 1,000 bytes, each a sample; and $orders 10 of 10,000 bytes, none of them a sample.
  def names_and_orders(number)
    graph = GraphBytes.new
    { time: number * 30_000_000_000, set: 7, dump: number }.each { |key, value| graph.fact(key.to_s, value.to_s) }
    made = graph.stack("/app/name.rb:5 Name.make")
    hashes = Array.new(2) { graph.later }
    steps = Array.new(number) do |step|
      bits = step < number - 1 ? 64 : 0
      [Array.new(20) { graph.object("Name", 1000, bits: bits, stack: made) }, Array.new(10) { graph.object("Order", 10_000, bits: bits) }]
    end
    ["$names", "$orders"].zip(hashes, steps.transpose) do |name, hash, kept|
      graph.object("Hash", at: hash, bits: number == 1 ? 0 : 64, type: "T_HASH", tail: kept.flatten.map.with_index { |one, i| [graph.integer(i), one] })
      graph.root(:GLOBAL, name, hash)
    end
    write("#{number}.rbgraph", graph.bytes)
  end

  def test_objects_without_a_sample_are_told_with_what_holds_them
    in_directory do
      out = heapprof!("leak", *[1, 2, 3].map { |number| names_and_orders(number) }).out
      assert_match(%r{^ +39\.1 kB  \S*name\.rb:5 Name\.make\n +195 kB  in objects that no sample is of, most of it in global \$orders \(Hash\)$}, out)
    end
  end

  def test_all_dumps_are_named_for_the_next_command
    assert_match(/^Next: heapprof graph why 3\.rbgraph 0x\h+\n +heapprof graph view 1\.rbgraph 2\.rbgraph 3\.rbgraph\n\z/, leak(3, 13, 23))
  end
end
