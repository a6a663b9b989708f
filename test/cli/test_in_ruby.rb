# frozen_string_literal: true
#
# test_in_ruby.rb - what a profile says in Ruby (vm/api/report.c) is what heapprof says of its file.

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

  # But for the names of files and options.
  def assert_same_table(table, text)
    said = ->(lines) { lines.sub(/\A[^:]*: /, "").sub("limit: 0", "-n 0").sub("group: :app", "--group app") }
    assert_equal said.call(table), said.call(text)
  end

  OPTIONS = {
    [] => "", ["--group=class", "-n", "3"] => ", group: :class, limit: 3", ["--group=gem"] => ", group: :gem",
    ["--by=alloc_objects", "--frames=1"] => ", by: :alloc_objects, frames: 1",
    ["--focus=items", "--app=/nowhere"] => ", focus: 'items', app: '/nowhere'", ["--ignore=texts", "-n", "0"] => ", ignore: 'texts', limit: 0",
    ["--group=label:gc_age"] => ", group: 'label:gc_age'",
  }.freeze

  def test_report_is_top_and_that_of_a_difference_diff
    in_ruby(OPTIONS.values.map { |options| <<~RUBY }.join) do |out|
      after.report($stdout#{options})
      puts "--"
      (after - before).report($stdout#{options})
      puts "--"
    RUBY
      tables = out.split("--\n")
      OPTIONS.each_key.with_index do |options, i|
        assert_same_table heapprof!("top", "after.pb.gz", *options).out, tables[2 * i]
        assert_same_table heapprof!("diff", "before.pb.gz", "after.pb.gz", *options).out, tables[2 * i + 1]
      end
    end
  end

  # As a file it has no profiles beside it, but their errors.
  def test_a_difference_has_the_errors_of_diff
    in_ruby("(after - before).write('grown.pb.gz')") do
      rows = ->(*command, value) { JSON.parse(heapprof!(*command, "--json", "-n", "0").out)["rows"].to_h { |row| [[row["what"], row["frames"]], [row[value], row["error"].round]] } }
      diff = rows.call("diff", "before.pb.gz", "after.pb.gz", "growth")
      grown = rows.call("top", "grown.pb.gz", "value")
      assert_equal diff.reject { |_, (growth, _)| growth.zero? }, grown
      assert_operator grown.values.map(&:last).max, :>, 0
    end
  end
end
