# Stock MRI 3.4.5: with -j, test-all leaves out tests, at random and without a word.
#
#   cd build/stock
#   make test-all TESTOPTS="-j1 -q --tty=no" TESTS="-ext-/arith_seq prism/lex_test.rb prism/api/lex_test.rb"   -> 919 tests
#   make test-all TESTOPTS="-q --tty=no"     TESTS=the same                                                    -> 922 tests
#   make test-all TESTOPTS="-j2 -q --tty=no", three times: 32,215 to 32,271 tests, by seed and chance
#
# A worker runs Test::Unit::TestCase.test_suites minus those it had before it loaded the file (tool/lib/test/unit/
# parallel.rb, "run"). A class that another file of the same worker has opened already is not new, so what the second
# file adds to it never runs. Here: TestRipper::Generic (test/ripper/test_files_*.rb, most of 48 tests lost),
# Test_ArithSeq (test/-ext-/arith_seq), Prism::LexTest (test/prism/lex_test.rb, test/prism/api/lex_test.rb).
# Our run has those files in a run of their own without -j.
