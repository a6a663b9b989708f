# frozen_string_literal: true
#
# test_in_ruby.rb - what a profile says in Ruby (vm/report.c) is what heapprof says of its file.

require_relative "lib/heapprof_command"

class TestHeapprofInRuby < Test::Unit::TestCase
  include HeapprofCommand

  # Runs the script with a profile of two moments, of sampled objects, strings and hashes; it gets each as an object and
  # as a file.
  def in_ruby(script)
    in_directory do
      File.write("script.rb", <<~'RUBY' + script)
        HeapProfile = ObjectSpace::HeapProfile
        class Item; end
        def items(count) = Array.new(count) { Item.new }
        def texts(count) = Array.new(count) { |i| "text #{i}" * 20 }
        HeapProfile.start(interval: 512, seed: 1)
        kept = [items(2000), texts(1000)]
        before = HeapProfile.snapshot(gc: true, owners: true)
        kept.pop
        kept.push(items(3000), Array.new(200) { |i| { i => i } })
        after = HeapProfile.snapshot(gc: true, owners: true)
        HeapProfile.stop
        before.write("before.pb.gz")
        after.write("after.pb.gz")
      RUBY
      env = { "RUBY_HEAPPROF" => nil, "RUBYOPT" => nil }
      out, err, status = Open3.capture3(env, EnvUtil.rubybin, "--disable-gems", "script.rb")
      assert status.success?, err
      assert_empty err
      yield out
    end
  end

  def test_to_collapsed_is_convert
    in_ruby("print after.to_collapsed, '--', after.to_collapsed(:alloc_objects)") do |out|
      space, objects = out.split("--")
      assert_equal heapprof!("convert", "after.pb.gz", "--to=collapsed").out, space
      assert_equal heapprof!("convert", "after.pb.gz", "--to=collapsed", "--by=alloc_objects").out, objects
    end
  end
end
