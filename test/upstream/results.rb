# frozen_string_literal: true
#
# results.rb - what one run of one of MRI's suites says: which tests ran, which of them failed, and
# why that may prove nothing.
#
# A run leaves SUITE.log, what was printed, and for test-all and mspec SUITE/*.json, the report they
# write for Launchable. The report names each test as soon as it has ended. The log's last line
# counts them, and so shows that the run came to its end and that the report is whole.
# btest's tests have no names: they are called by file, line and number (test_gc.rb:12#34).

require "json"

class Results
  # The suites, and how many tests they have in MRI 3.4, about: fewer, and something is amiss. What is drawn has a quarter
  # of them by default; a draw is hardly ever half as large as it should be.
  EXPECTED = { "test-all" => 30_000, "test-all-alone" => 900, "test-ruby" => 10_000,
               "btest" => 1_900, "language" => 2_500, "core" => 20_000,
               "test-all-drawn" => 2_000, "language-drawn" => 150, "core-drawn" => 2_000 }.freeze

  Failure = Struct.new(:text, :file)

  def self.read(directory, suite)
    reader =
      case suite
      when /\Atest-/ then TestAll
      when "btest" then Btest
      else Specs
      end
    reader.new(directory, suite)
  end

  # The suites that have left something in the directory.
  def self.suites(directory)
    EXPECTED.keys.select { |suite| File.exist?("#{directory}/#{suite}.log") }
  end

  attr_reader :ran      # {name => true}
  attr_reader :failed   # {name => Failure: what it said, on one line; its file}
  attr_reader :problems # why this run proves nothing

  def initialize(directory, suite)
    @ran = {}
    @failed = {}
    @problems = []
    log = "#{directory}/#{suite}.log"
    @log = File.exist?(log) ? File.read(log, encoding: "UTF-8").scrub : ""
    read("#{directory}/#{suite}")
    expected = EXPECTED.fetch(suite)
    problem "#{ran.size} tests ran, expected #{expected} or more" if ran.size < expected
  end

  private

  def problem(text) = @problems << text

  # The failures that were counted at the end of the log are those the report has, or fewer.
  def expect_failures_as_counted(pattern)
    counts = @log.scan(pattern).last
    return problem("did not come to its end") unless counts

    unseen = counts.sum(&:to_i) - failed.size
    problem "#{unseen} failures were counted that are not in its report" if unseen > 0
  end

  # Each test of the report, as often as it ended: its file, class and name, and its Failure or nil.
  def each_report(directory)
    Dir.glob("#{directory}/*.json").sort.each do |path|
      JSON.parse(File.read(path)).fetch("testCases").each do |test|
        place = place_of(test["testPath"])
        text = summary(test["stderr"]) if test["status"] == "TEST_FAILED"
        yield place, (Failure.new(text, place["file"]) if text)
      end
    rescue JSON::ParserError
      problem "its report #{File.basename(path)} was cut short"
    end
  end

  def place_of(path)
    path.split("#").to_h { |field| field.split("=", 2) }
        .transform_values { |value| value.gsub(/%(?:23|25|26|3D)/) { |code| code[1, 2].hex.chr } }
  end

  def summary(text)
    message = text.to_s.sub(/\A(?:Failure|Error|Timeout):\n.*\n/, "")
    message.lines(chomp: true).first(2).join(" ")[0, 200]
  end
end

# A test is run again when it failed beside others (--retry): the last time counts. A worker's
# report of a whole file may be lost ("unknown object"), when an exception has a cause of a class
# that only the worker has; what it told of each test is not.
class TestAll < Results
  SUMMARY = /^\d+ tests, \d+ assertions, (\d+) failures, (\d+) errors, \d+ skips$/

  private

  def read(directory)
    each_report(directory) do |place, failure|
      name = "#{place['class']}##{place['testcase']}"
      ran[name] = true
      failed.delete(name)
      failed[name] = failure if failure
    end
    expect_failures_as_counted(SUMMARY)
    lost = @log.scan("unknown record:").size
    problem "the results of #{lost} tests were lost between test-all's processes" if lost > 0
  end
end

# Some examples have the same name: one failure is a failure.
class Specs < Results
  SUMMARY = /^\d+ files, \d+ examples, \d+ expectations, (\d+) failures, (\d+) errors, \d+ tagged$/

  private

  def read(directory)
    each_report(directory) do |place, failure|
      name = "#{place['file'].delete_prefix('spec/ruby/')} #{place['testcase'].tr("\n", ' ')}"
      ran[name] = true
      failed[name] ||= failure if failure
    end
    expect_failures_as_counted(SUMMARY)
  end
end

class Btest < Results
  PROGRESS = /^#(\d+) (\S+\.rb:\d+) /
  FAILURE = /^#(\d+) (\S+\.rb:\d+): (.*(?:\n +.*)*)/
  SUMMARY = %r{^(?:PASS all|FAIL (\d+)/\d+) (?:\d+ )?tests}

  private

  def read(_directory)
    @log.scan(PROGRESS) { |number, place| ran["#{place}##{number}"] = true }
    @log.scan(FAILURE) do |number, place, text|
      text = (text[/#=> .*/] || text).lines(chomp: true).first
      failed["#{place}##{number}"] = Failure.new(text, place[/\A[^:]+/])
    end
    expect_failures_as_counted(SUMMARY)
  end
end
