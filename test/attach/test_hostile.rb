# frozen_string_literal: true
#
# test_hostile.rb - whatever the memory of a process says, who reads it comes to an end, within bounds (hostile_reader.cc).

require_relative "lib/attached"

class TestHeapprofHostile < Test::Unit::TestCase
  include Attached

  READER = File.join(TOP, "build/unit-asan/hostile_reader")
  SECONDS = Integer(ENV.fetch("HOSTILE_SECONDS", 10))

  WORK = <<~'RUBY'
    def deep(n) = n == 0 ? (Fiber.new { Fiber.yield }.tap(&:resume); sleep) : [1].each { deep(n - 1) }
    $kept = 2000.times.map { |i| [i.to_s * 100, Class.new] }
    HP = ObjectSpace::HeapProfile
    Thread.new { HP.label(a: "leased", b: "2") { Thread.new { deep(2) }; HP.label(late: :c) { HP.label(c: "late") { sleep } } } }
    Thread.new { HP.label(late: :c) { Thread.new { HP.label(c: "late") { sleep } }; deep(20) } }
    $ready.call
    loop { 100.times { |i| HP.label!(n: i) && i.to_s }; sleep 0.001 }
  RUBY

  COMPILED = <<~'RUBY'
    def work(text, other, array)
      array.each { |x| x + 1 }
      100.times do |i|
        text == other
        array[i % 3]
      end
    end
    100.times { work("a" * 30, "a" * 29 + "b", [1, 2, 3]) }
    $ready.call
    loop { work("a" * 30, "a" * 29 + "b", [1, 2, 3]) }
  RUBY

  def assert_reads(script, *arguments)
    seed = Integer(ENV.fetch("HOSTILE_SEED", Random.new_seed % 2**31))
    beside(script, *arguments, env: { "RUBY_HEAPPROF" => "interval=256,peak=1,lifetimes=1,out=" }) do |pid|
      out, err, status = Open3.capture3({ "ASAN_OPTIONS" => "detect_leaks=1" }, READER, pid.to_s, SECONDS.to_s, seed.to_s)
      assert status.success?, "HOSTILE_SEED=#{seed}: #{status.inspect}\n#{err}"
      looks, seen, profiles, taken, changed = out.scan(/\d+/).map(&:to_i)
      assert_operator looks, :>, 0, out
      assert_operator seen, :>, 0, out
      assert_operator profiles, :>, 0, out
      assert_operator taken, :<=, profiles
      assert_operator changed, :>, 100, out
    end
  end

  def test_memory_that_says_anything = assert_reads(WORK)

  def test_memory_that_says_anything_of_compiled_code
    omit "no YJIT" if RbConfig::CONFIG["YJIT_SUPPORT"] == "no"
    assert_reads(COMPILED, "--yjit", "--yjit-call-threshold=2")
  end
end
