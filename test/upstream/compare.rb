# compare.rb - which of MRI's tests failed, and which of them may.
#
#   compare.rb KNOWN-DIFFERENCES OFF-LOG ON-LOG
#
# The logs are what test-all printed, without and with the profiler. KNOWN-DIFFERENCES has a line
# for each test that may fail:
#
#   Class#method  off|on|both  reason
#
# Exit status 1 when a test failed that has no line, or when a run did not come to its end: its
# last line counts the tests, and there are more than TESTS_EXPECTED of them. A test with a line
# that did not fail is only told: some fail now and then.
#
# Runs in miniruby: core classes only.

TESTS_EXPECTED = 30_000
RUNS = { "off" => %w[off], "on" => %w[on], "both" => %w[off on] }

Known = Struct.new(:test, :runs, :reason)

# What one log says: the tests that failed, with the beginning of the message, and the counts.
class Log
  SUMMARY = /^(\d+) tests, \d+ assertions, (\d+) failures, (\d+) errors, \d+ skips$/
  REPORT = /^ *\d+\) (?:Failure|Error|Timeout):\n(\S+#.+?)(?: \[.*\]:|:)?\n(.*)/

  attr_reader :failed, :tests

  def initialize(path)
    text = File.binread(path)
    reports = text.scan(REPORT)
    @failed = reports.to_h
    @tests, *broken = text.scan(SUMMARY).last&.map(&:to_i)
    @unseen = broken.sum - reports.size
  end

  # Why this run proves nothing, or nil.
  def incomplete
    if !tests
      "test-all did not come to its end"
    elsif tests < TESTS_EXPECTED
      "#{tests} tests ran, expected #{TESTS_EXPECTED} or more"
    elsif @unseen > 0
      "#{@unseen} failures were counted that have no report in the log"
    end
  end
end

def read_known(path)
  File.readlines(path, chomp: true).each.with_index(1).filter_map do |line, number|
    next if line.empty? || line.start_with?("#")
    test, runs, reason = line.split(" ", 3)
    unless reason && RUNS[runs]
      abort "#{path}:#{number}: expected `Class#method off|on|both reason', got: #{line}"
    end
    Known.new(test, RUNS[runs], reason)
  end
end

def report(name, path, known)
  log = Log.new(path)
  allowed = known.select { |entry| entry.runs.include?(name) }
  unlisted = log.failed.reject { |test, _| allowed.any? { |entry| entry.test == test } }
  passed = allowed.reject { |entry| log.failed[entry.test] }

  puts "#{name}: #{log.tests || 'an unknown number of'} tests, #{log.failed.size} failed"
  puts "#{name}: #{log.incomplete}" if log.incomplete
  unlisted.each { |test, message| puts "#{name}: failed, unlisted: #{test}: #{message}" }
  passed.each { |entry| puts "#{name}: listed, did not fail: #{entry.test} (#{entry.reason})" }
  unlisted.empty? && !log.incomplete
end

abort "usage: compare.rb KNOWN-DIFFERENCES OFF-LOG ON-LOG" unless ARGV.size == 3
known = read_known(ARGV[0])
results = %w[off on].zip(ARGV.drop(1)).map { |name, path| report(name, path, known) }
exit results.all?
