# frozen_string_literal: true
#
# test_large.rb - heapprof reads a large profile in no more than twice its unpacked size of memory. The address space
# is what is limited, so that nothing else on the machine counts; 24 MB are the program's and its libraries'.

require_relative "lib/heapprof_command"

class TestHeapprofLarge < Test::Unit::TestCase
  include HeapprofCommand

  BYTES = 60_000_000
  PROGRAM_BYTES = 24_000_000

  def test_memory_is_at_most_twice_the_profile
    in_directory do
      write("large.pb", large)
      size = File.size("large.pb")
      [%w[info], %w[top -n5], %w[top -n5 --group=function], %w[convert --to=pprof], %w[convert --to=json]].each do |command, *options|
        limited = "ulimit -v #{(2 * size + PROGRAM_BYTES) / 1024}; exec #{PROGRAM} #{command} #{options.join(" ")} large.pb > out"
        _, err, status = Open3.capture3(ENVIRONMENT, "bash", "-c", limited)
        assert_equal ["", 0], [err, status.exitstatus], command
        assert_operator File.size("out"), :>, 100
      end
    end
  end

  def test_where_memory_is_short_it_is_said
    in_directory do
      write("large.pb", large)
      _, err, status = Open3.capture3("bash", "-c", "ulimit -v #{BYTES / 1024}; exec #{PROGRAM} top large.pb")
      assert_equal ["heapprof top: large.pb: no memory for a profile of this size\n", 1], [err, status.exitstatus]
    end
  end

  private

  # Few stacks, many times.
  def large
    profile = ProfileBytes.new.type("inuse_objects", "count").type("inuse_space", "bytes")
    frames = Array.new(3000) { |i| "/srv/shop/file#{i % 50}.rb:#{i} Some::Class#method_#{i}" }
    random = Random.new(1)
    stacks = Array.new(2000) { Array.new(30) { frames.sample(random: random) } }
    stacks.each { |stack| profile.sample(stack, [1, 40], class: "String") }
    part = stacks.map { |stack| profile.encoded_sample(stack, [random.rand(100), random.rand(10_000)], class: "String") }.join
    profile.raw + part * (BYTES / part.bytesize)
  end
end
