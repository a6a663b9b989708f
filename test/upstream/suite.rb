# frozen_string_literal: true

# suite.rb - what missed.rb and checked.rb have in common: a run of too few tests proves nothing.

def fail!(message) = abort("upstream/#{File.basename($0, ".rb")}: #{message}")

# How many tests a suite's own output says have run.
def tests_in(log, least:)
  tests = File.read(log, encoding: "BINARY").scan(/^(\d+) tests, \d+ assertions/).sum { |(count)| count.to_i }
  tests < least ? fail!("#{log}: #{tests} tests, expected #{least} at least") : tests
end
