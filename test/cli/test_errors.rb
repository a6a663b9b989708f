# frozen_string_literal: true
#
# test_errors.rb - that values are as far off as heapprof says: objects, blocks, blocks larger than the interval, and
# all of them when the interval has changed on the way. Over RUNS runs with fixed seeds z = (estimate - truth) / sigma has to
# have a sum of squares like that of as many normal numbers: outside of these bounds once in 10^8.

require_relative "lib/heapprof_command"

class TestHeapprofErrors < Test::Unit::TestCase
  include HeapprofCommand

  RUNS = 40
  SQUARES = 8..115 # of chi square with 40 degrees of freedom

  # The first run samples everything: it has the truth.
  SCRIPT = <<~'RUBY'
    class Small; end
    profile = ObjectSpace::HeapProfile
    (Integer(ARGV[0]) + 1).times do |run|
      profile.start(interval: run.zero? ? 1 : 2048, seed: run)
      kept = Array.new(10_000) { Small.new }
      texts = Array.new(300) { "x" * 1500 }.each { |text| text << "y" }
      large = Array.new(20) { "z" * 20_000 }
      profile.interval = 8192 if run.odd?
      more = Array.new(10_000) { Small.new }
      profile.snapshot(gc: true, owners: true).write("#{run}.pb.gz")
      profile.stop
    end
  RUBY

  def test_the_true_value_is_as_near_as_it_is_said
    in_directory do
      write("errors.rb", SCRIPT)
      _, err, status = EnvUtil.invoke_ruby(["--disable-gems", "errors.rb", RUNS.to_s], "", true, true, timeout: 300)
      assert_equal ["", true], [err, status.success?]
      [%w[Small inuse_space], %w[Small inuse_objects], %w[String inuse_malloc_space], %w[String alloc_malloc_space]].each do |what, type|
        truth, error = figures("0.pb.gz", what, type)
        assert_equal 0, error
        z = Array.new(RUNS) do |run|
          value, error = figures("#{run + 1}.pb.gz", what, type)
          (value - truth) / (error / 2)
        end
        check(z, what, type)
      end
    end
  end

  private

  # What is allocated and dead, or grown, has no error in the file, but a bound: that may be too large.
  def check(z, what, type)
    squares = z.sum { |each| each * each }
    assert_operator squares, :<, SQUARES.end, "#{what} #{type}"
    assert_operator squares, :>, SQUARES.begin, "#{what} #{type}" unless type.start_with?("alloc")
    assert_operator z.sum.abs / Math.sqrt(RUNS), :<, 5.7, "#{what} #{type}"
  end

  def figures(file, what, type)
    rows = heapprof!("top", file, "--json", "-n0", "--group=class", "--by", type).json["rows"]
    rows.find { |row| row["what"] == what }.values_at("value", "error")
  end
end
