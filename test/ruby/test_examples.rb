# frozen_string_literal: false
# test_examples.rb - the programs in examples/ do what the README says they show.

require "test/unit"
require "tmpdir"

class TestExamples < Test::Unit::TestCase
  EXAMPLES = File.expand_path("../../examples", __dir__)
  PATIENCE = 300 # seconds until a hung example is given up; not what is tested

  def run_example(arguments, environment = {})
    environment = { "RUBY" => EnvUtil.rubybin, "RUBY_HEAPPROF" => nil }.merge(environment)
    EnvUtil.invoke_ruby([environment, *arguments], "", true, true, timeout: PATIENCE)
  end

  def test_leaking_line_is_on_top_of_the_difference
    server = "#{EXAMPLES}/leak/server.rb"
    leak = 1 + File.readlines(server).index { |line| line.end_with?("# the leak\n") }
    Dir.mktmpdir do |directory|
      output, errors, status = run_example(["#{EXAMPLES}/leak/run.rb", directory])
      assert_predicate(status, :success?, output + errors)
      top = output.lines.drop_while { |line| !line.include?("flat%") }.fetch(1)
      assert_equal("Shop#page #{server}:#{leak}", top.split(nil, 6).last.chomp, output)
    end
  end

  def test_demo_prints_the_heaviest_sites_and_writes_what_pprof_reads
    Dir.mktmpdir do |directory|
      Dir.mkdir("#{directory}/lib")
      methods = (1..1500).map { |i| "  # Does #{i}.\n  def method#{i}; end\n" }
      File.write("#{directory}/lib/small.rb", "# A class.\nclass Small\n#{methods.join}end\n")
      profile = "#{directory}/rdoc.pb.gz"
      output, errors, status = run_example(["#{EXAMPLES}/rdoc_demo.rb", directory, profile],
                                           "RUBY_HEAPPROF" => "interval=1k,seed=1")
      assert_predicate(status, :success?, output + errors)
      rows = output.scan(/^ *(\d+) +[\d.]+%  \S/).flatten.map(&:to_i)
      assert_equal(15, rows.size, output)
      assert_equal(rows.sort.reverse, rows)
      assert_match(/RDoc::AnyMethod .*rdoc\/parser\/ruby\.rb:\d+$/, output)
      assert_include(output, "heapprof view #{profile}\n")
      assert_match(/RDoc::/, IO.popen(["go", "tool", "pprof", "-top", profile], &:read))
    end
  end

  def test_demo_without_the_profiler_says_what_to_set
    Dir.mktmpdir do |directory|
      output, errors, status = run_example(["#{EXAMPLES}/rdoc_demo.rb", directory, "p.pb.gz"])
      assert_not_predicate(status, :success?)
      assert_equal("", output)
      assert_match(/\A[^\n]*: the profiler is off: set RUBY_HEAPPROF=1\n\z/, errors)
    end
  end
end
