# Stock MRI 3.4.5: with -j, test-all loses failures and ends with status 0.
#
#   cd build/stock; make test-all TESTOPTS="-j2 -q --tty=no" TESTS=test_lost.rb (a copy of this file); echo $?
#
# prints `unknown object: "\x04\b[\v...' and "0 tests, 0 assertions, 0 failures, 0 errors": both tests are lost.
# A worker dumps the AssertionFailedError with its cause (Marshal dumps an exception's instance variables, the
# hidden `cause' too); the parent has no such class, Marshal.load raises, and tool/lib/test/unit.rb (deal, "done")
# prints and forgets the report of the whole test case. Worker#record strips such causes, Worker#puke does not.
# Seen in test/socket/test_tcp.rb and test/rubygems/test_bundled_ca.rb where those fail. Without -j: 1 failure.
require "test/unit"

class TestLost < Test::Unit::TestCase
  class OnlyTheWorkerKnows < StandardError; end

  def test_passes
    assert true
  end

  def test_fails
    raise OnlyTheWorkerKnows
  rescue OnlyTheWorkerKnows
    flunk "nobody sees this"
  end
end
