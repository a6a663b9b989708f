# frozen_string_literal: true

# test_gems.rb - a gem with a upb of its own in a profiled process: google-protobuf, installed by
# the gem command of the ruby under test into a directory of its own. The profiler's upb must not
# be found by the gem, nor the gem's by the profiler; so each writes after the other has.

require_relative "lib/heapprof_test"
require "shellwords"

class TestHeapProfGems < Test::Unit::TestCase
  include HeapProfTest

  UNREACHABLE = /SSL verification error|Unable to (?:download|resolve)|Could not find a valid gem/

  # runruby.rb, which runs the tests, says which gem command belongs to the ruby under test. Gems
  # that google-protobuf needs, and that are bundled with MRI, are beside it.
  def gem_command
    command = ENV["GEM_COMMAND"] or flunk "GEM_COMMAND is not set: run by make check-ruby"
    command.shellsplit
  end

  def gem_environment(home)
    bundled = [File.dirname(EnvUtil.rubybin), File.expand_path("../..", gem_command[2])]
    { "GEM_HOME" => home, "GEM_PATH" => bundled.map { |directory| File.join(directory, ".bundle") }.join(":") }
  end

  def install(gem, env)
    out, status = Open3.capture2e(clean(env), *gem_command, "install", "--no-document", "--minimal-deps", gem, stdin_data: "")
    return if status.success?
    # A machine may reach Debian's packages and nothing else; CI's reaches both.
    omit "no RubyGems to be reached, so nothing is proved: #{out.lines.first}" if UNREACHABLE.match?(out)
    flunk "gem install #{gem} failed: #{out}"
  end

  def test_google_protobuf_and_the_profiler_write_in_one_process
    in_directory do |directory|
      env = gem_environment(directory)
      install("google-protobuf", env)
      ran = run_ruby("-e", <<~'RUBY', env: env, heapprof: "interval=1k,out=exit.pb.gz")
        ObjectSpace::HeapProfile.snapshot.write("before.pb.gz")
        require "google/protobuf"
        require "google/protobuf/timestamp_pb"
        times = Array.new(1000) { |i| Google::Protobuf::Timestamp.new(seconds: i) }
        ObjectSpace::HeapProfile.snapshot.write("between.pb.gz")
        bytes = times.map(&:to_proto)
        seconds = bytes.map { |text| Google::Protobuf::Timestamp.decode(text).seconds }
        GC.compact
        ObjectSpace::HeapProfile.snapshot(gc: true).write("after.pb.gz")
        print seconds == (0...1000).to_a, Google::Protobuf::Timestamp.decode(bytes.last).seconds
      RUBY
      assert_clean ran, out: "true999"
      %w[before between after exit].each do |name|
        assert_operator read_profile("#{name}.pb.gz").samples.size, :>, 10, name
      end
      assert_operator read_profile("after.pb.gz").total(class_name: "Google::Protobuf::Timestamp"), :>, 0
    end
  end
end
