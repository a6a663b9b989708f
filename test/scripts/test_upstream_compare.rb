# frozen_string_literal: true
#
# test_upstream_compare.rb - what test/upstream's compare.rb and failed.rb say of logs as MRI's
# suites leave them.

require "test/unit"
require "fileutils"
require "json"
require "open3"
require "tmpdir"

class TestUpstreamCompare < Test::Unit::TestCase
  SCRIPTS = File.expand_path("../upstream", __dir__)
  SIZES = { "test-all" => 30_000, "test-all-alone" => 900, "btest" => 1_900,
            "language" => 2_500 }.freeze

  # Logs for compare.rb. Each suite has as many tests as compare.rb expects, all of which passed;
  # failures go to names of their own.
  class Runs
    attr_reader :directory

    def initialize(directory)
      @directory = directory
    end

    def test_all(run, failed: {}, retried: {}, skip: [], end_line: nil, log: "", cut: false,
                 file: "test/sample/test_sample.rb", suite: "test-all")
      passed = names("TestSample#test_%d", SIZES[suite]) - skip
      records = [*retried, *failed, *(passed + retried.keys).map { |name| [name, nil] }]
      cases = records.map { |name, text| test_case(name, text, file) }
      end_line ||= "#{cases.size} tests, 1 assertions, #{failed.size} failures, 0 errors, 0 skips"
      write(run, suite, "#{log}\n#{end_line}\n", cases, cut)
    end

    def btest(run, failed: {}, end_line: nil)
      places = names("test_sample.rb:%d", SIZES["btest"] - failed.size) + failed.keys
      lines = places.each.with_index(1).map do |place, number|
        "##{number} #{place} #{failed[place] ? 'F 0.1' : '. 0.100'}\n"
      end
      errors = failed.map { |place, text| "##{places.index(place) + 1} #{place}: #{text}\n" }
      end_line ||=
        if failed.empty? then "PASS all #{places.size} tests"
        else "FAIL #{failed.size}/#{places.size} tests failed"
        end
      write(run, "btest", "#{lines.join}\n#{errors.join}\n#{end_line}\n")
    end

    def language(run, failed: {}, end_line: nil)
      cases = names("Sample is number %d", SIZES["language"]).map { |name| spec_case(name, nil) }
      cases += failed.map { |name, text| spec_case(name, text) }
      end_line ||= "9 files, #{cases.size} examples, 9 expectations, " \
                   "#{failed.size} failures, 0 errors, 0 tagged"
      write(run, "language", "\n#{end_line}\n", cases)
    end

    # What it printed, and whether it was content.
    def compare(*runs) = ruby("compare.rb", directory, "stock", *runs)
    def failed(*runs) = ruby("failed.rb", directory, *runs).first

    private

    def ruby(script, *arguments)
      out, status = Open3.capture2e(EnvUtil.rubybin, File.join(SCRIPTS, script), *arguments)
      [out, status.success?]
    end

    def names(format, count) = (1..count).map { |number| format % number }

    def test_case(name, text, file)
      klass, test = name.split("#")
      text &&= "Failure:\n#{name} [test_sample.rb:1]:\n#{text}\n"
      { testPath: "file=#{file}#class=#{klass}#testcase=#{test}",
        status: text ? "TEST_FAILED" : "TEST_PASSED", stderr: text }
    end

    def spec_case(name, text)
      { testPath: "file=spec/ruby/language/sample_spec.rb#testcase=#{name.gsub('#', '%23')}",
        status: text ? "TEST_FAILED" : "TEST_PASSED", stderr: text }
    end

    def write(run, suite, log, cases = nil, cut = false)
      FileUtils.mkdir_p("#{directory}/#{run}/#{suite}")
      File.write("#{directory}/#{run}/#{suite}.log", log)
      return unless cases

      report = JSON.generate(testCases: cases)
      File.write("#{directory}/#{run}/#{suite}/report.json", cut ? report[0..-3] : report)
    end
  end

  def with_runs
    Dir.mktmpdir("heapprof") { |directory| yield Runs.new(directory) }
  end

  def assert_content(runs, *arguments)
    out, content = runs.compare(*arguments)
    assert content, out
    out
  end

  def refute_content(pattern, runs, *arguments)
    out, content = runs.compare(*arguments)
    refute content, out
    assert_match pattern, out
  end

  # ---- what each suite leaves ----

  def test_all_suites_that_passed_are_content
    with_runs do |runs|
      runs.test_all("on")
      runs.test_all("on", suite: "test-all-alone")
      runs.btest("on")
      runs.language("on")
      out = assert_content(runs, "on")
      assert_match(/^on, test-all: 30000 tests, 0 failed$/, out)
      assert_match(/^on, test-all-alone: 900 tests, 0 failed$/, out)
      assert_match(/^on, btest: 1900 tests, 0 failed$/, out)
      assert_match(/^on, language: 2500 tests, 0 failed$/, out)
    end
  end

  def test_failure_of_test_all_is_named
    with_runs do |runs|
      runs.test_all("on", failed: { "TestArray#test_x" => "<1> expected but was\n<2>." })
      refute_content(/^  failed: TestArray#test_x: <1> expected but was <2>\.$/, runs, "on")
    end
  end

  def test_failure_of_btest_is_named
    with_runs do |runs|
      text = "\n     GC.stress = true\n  #=> killed by SIGSEGV"
      runs.btest("on", failed: { "test_gc.rb:12" => text })
      refute_content(/^  failed: test_gc\.rb:12#1900: #=> killed by SIGSEGV/, runs, "on")
    end
  end

  def test_failure_of_a_spec_is_named
    with_runs do |runs|
      runs.language("on", failed: { "String#x is odd" => "Expected 1 == 2\nto be truthy" })
      refute_content(%r{^  failed: language/sample_spec.rb String#x is odd: Expected 1}, runs, "on")
    end
  end

  def test_test_that_passed_when_run_again_did_not_fail
    with_runs do |runs|
      runs.test_all("on", retried: { "TestArray#test_x" => "once" })
      assert_content(runs, "on")
    end
  end

  # ---- what may fail ----

  def test_what_fails_in_stock_may_fail
    with_runs do |runs|
      runs.test_all("stock", failed: { "TestArray#test_x" => "bad" })
      runs.test_all("on", failed: { "TestArray#test_x" => "bad" })
      out = assert_content(runs, "on")
      assert_match(/^  failed, in stock MRI, too: TestArray#test_x$/, out)
    end
  end

  def test_what_passes_in_stock_may_not_fail
    with_runs do |runs|
      runs.test_all("stock", failed: { "TestArray#test_x" => "bad" })
      runs.test_all("on", failed: { "TestArray#test_y" => "bad" })
      refute_content(/^  failed: TestArray#test_y: bad$/, runs, "on")
    end
  end

  def test_what_fails_in_one_suite_of_stock_may_not_fail_in_another
    with_runs do |runs|
      runs.btest("stock", failed: { "TestArray#test_x" => "bad" })
      runs.test_all("on", failed: { "TestArray#test_x" => "bad" })
      refute_content(/^  failed: TestArray#test_x/, runs, "on")
    end
  end

  # ---- what stock has to run ----

  def test_stock_runs_nothing_when_nothing_failed
    with_runs do |runs|
      runs.test_all("on")
      runs.btest("on")
      assert_empty runs.failed("on")
    end
  end

  def test_stock_runs_the_files_of_what_failed_in_any_run_and_btest_whole
    with_runs do |runs|
      runs.test_all("off", failed: { "TestArray#test_x" => "bad" })
      runs.test_all("on", failed: { "TestArray#test_y" => "bad" })
      runs.btest("on", failed: { "test_gc.rb:12" => "bad" })
      runs.language("on", failed: { "String#x is odd" => "bad" })
      assert_equal <<~LINES, runs.failed("off", "on")
        test-all sample/test_sample.rb
        btest
        language language/sample_spec.rb
      LINES
    end
  end

  def test_stock_runs_the_directory_of_a_file_that_is_only_included
    with_runs do |runs|
      runs.test_all("on", failed: { "TestArray#test_x" => "bad" }, file: "test/sample/lib.rb")
      assert_equal "test-all sample\n", runs.failed("on")
    end
  end

  # ---- runs that prove nothing ----

  def test_test_that_did_not_run_is_named
    with_runs do |runs|
      runs.test_all("off")
      runs.test_all("on", skip: ["TestSample#test_7"])
      refute_content(/^  did not run: TestSample#test_7$/, runs, "off", "on")
    end
  end

  def test_run_with_far_fewer_tests_than_the_suite_has_proves_nothing
    with_runs do |runs|
      runs.test_all("on", skip: ["TestSample#test_7"])
      refute_content(/29999 tests ran, expected 30000 or more/, runs, "on")
    end
  end

  def test_run_that_was_cut_short_proves_nothing
    with_runs do |runs|
      runs.test_all("on", end_line: "A test worker crashed.")
      runs.btest("on", end_line: "")
      runs.language("on", end_line: "")
      out, = runs.compare("on")
      assert_equal 3, out.scan(/^  did not come to its end$/).size, out
    end
  end

  def test_report_that_was_cut_short_proves_nothing
    with_runs do |runs|
      runs.test_all("on", cut: true)
      refute_content(/its report report\.json was cut short/, runs, "on")
    end
  end

  def test_failures_that_are_counted_and_not_reported_are_told
    with_runs do |runs|
      runs.test_all("on", end_line: "30000 tests, 9 assertions, 1 failures, 2 errors, 0 skips")
      refute_content(/3 failures were counted that are not in its report/, runs, "on")
    end
  end

  def test_results_lost_between_processes_are_told
    with_runs do |runs|
      runs.test_all("on", log: 'unknown record: undefined class "X"')
      refute_content(/the results of 1 tests were lost/, runs, "on")
    end
  end

  def test_run_where_more_than_one_test_in_a_hundred_fails_proves_nothing
    with_runs do |runs|
      failures = (1..20).to_h { |number| ["test_bad.rb:#{number}", "bad"] }
      runs.btest("stock", failed: failures)
      runs.btest("on", failed: failures)
      refute_content(/20 of 1900 tests failed: too many/, runs, "on")
    end
  end

  def test_no_log_at_all_is_no_pass
    with_runs { |runs| refute_content(/no suite has run/, runs, "on") }
  end
end
