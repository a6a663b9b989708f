# frozen_string_literal: true
#
# test_run_checks.rb - scripts/run-checks with toy checks: targets of a toy Makefile, each of which
# leaves a line in a file of its own, so that a test can tell how often it ran.

require "test/unit"
require_relative "scratch_repository"

class TestScriptsRunChecks < Test::Unit::TestCase
  MAKEFILE = <<~'MAKE'
    good broken tests upstream units fuzzed nodes:
    	@mkdir -p build && echo $(SETTING) >>build/$@.ran
    	@cat build/$@.says 2>/dev/null || :
    	@test $@ != broken || test -e build/mended
    editing:
    	@mkdir -p build && echo >>build/$@.ran
    	@echo edited while it ran >gc/first.c
  MAKE

  def test_all_that_passed_is_a_table_and_exit_status_0
    with_repository do |repository|
      out, err, ok = check(repository, "good")
      assert ok, err
      assert_match(%r{^good +passed +0:0\d +1 +0  build/checks/good\.log$}, out)
      assert_match(/^toy took 0:0\d minutes\ntoy: 1 passed, 0 failed\n\z/, out)
      assert_equal out.lines.last(4), repository.read("build/checks/toy.log").lines.last(4)
    end
  end

  def test_check_that_fails_is_in_the_table_and_the_others_run
    with_repository do |repository|
      out, _, ok = check(repository, "broken", "good")
      refute ok
      assert_match(/^broken +FAILED +0:0\d +0 +1  /, out)
      assert_match(/^good +passed/, out)
      assert_match(/^toy: 1 passed, 1 failed$/, out)
      assert_equal({ "broken" => 1, "good" => 1 }, runs(repository, "broken", "good"))
    end
  end

  def test_resuming_runs_only_what_has_not_passed
    with_repository do |repository|
      check(repository, "--resume", "good", "broken")
      repository.write("build/mended", "")
      out, err, ok = check(repository, "--resume", "good", "broken")
      assert ok, err
      assert_match(/^good +passed before +0:0\d +1 +0  /, out)
      assert_match(/^broken +passed +/, out)
      assert_match(/^toy: 2 passed, 0 failed$/, out)
      assert_equal({ "broken" => 2, "good" => 1 }, runs(repository, "broken", "good"))
    end
  end

  def test_without_resume_all_run_again
    with_repository do |repository|
      2.times { check(repository, "good") }
      assert_equal({ "good" => 2 }, runs(repository, "good"))
    end
  end

  def test_what_passed_in_one_list_has_passed_in_another
    with_repository do |repository|
      check(repository, "good")
      repository.run("run-checks", "--resume", "other", "good")
      assert_equal({ "good" => 1 }, runs(repository, "good"))
    end
  end

  # A file that is committed, one that is not, one that is new, and how the whole is configured.
  { "vm/second.c" => true, "gc/first.c" => false, "gc/new.c" => false, "Makefile" => false }
    .each do |file, committed|
    define_method("test_change_of_#{file.tr('/.', '__')}#{'_committed' if committed}_runs_all_again") do
      with_repository do |repository|
        check(repository, "--resume", "good")
        repository.write(file, "#{MAKEFILE if file == 'Makefile'}# changed\n")
        git(repository, "commit", "-qam", "changed") if committed
        check(repository, "--resume", "good")
        assert_equal({ "good" => 2 }, runs(repository, "good"))
      end
    end
  end

  def test_check_during_which_the_sources_changed_is_run_again
    with_repository do |repository|
      2.times { check(repository, "--resume", "editing") }
      assert_equal({ "editing" => 2 }, runs(repository, "editing"))
    end
  end

  def test_without_git_nothing_is_resumed
    with_repository do |repository|
      FileUtils.rm_r(repository.path(".git"))
      2.times { check(repository, "--resume", "good") }
      assert_equal({ "good" => 2 }, runs(repository, "good"))
    end
  end

  def test_without_a_check_those_of_the_table_run
    with_repository do |repository|
      repository.write("test/checks.table", "good | check full | 1 | it | all | gc\nbroken | full | 1 | it | all | gc\n")
      out, err, ok = repository.run("run-checks", "check", env: PLAIN_MAKE)
      assert ok, err
      assert_match(/^check: 1 passed, 0 failed$/, out)
      assert_equal({ "good" => 1 }, runs(repository, "good"))
    end
  end

  def test_status_says_where_each_check_has_passed_and_whether_that_is_here
    with_repository do |repository|
      check(repository, "good")
      before = status(repository)
      repository.write("gc/first.c", "edited")
      after = status(repository)
      assert_match(/^good +\h{7,} +yes +0:0\d +1$/, before)
      assert_match(/^broken +not passed here$/, before)
      assert_match(/^good +\h{7,} +no +0:0\d +1$/, after)
      assert_equal({ "good" => 1 }, runs(repository, "good"))
    end
  end

  def test_what_a_check_does_not_depend_on_may_change
    with_repository do |repository|
      repository.write("test/checks.table", "good | full | 1 | it | all | gc\n")
      check(repository, "--resume", "good")
      repository.write("vm/second.c", "edited")
      check(repository, "--resume", "good")
      assert_equal({ "good" => 1 }, runs(repository, "good"))
      repository.write("gc/first.c", "edited")
      check(repository, "--resume", "good")
      assert_equal({ "good" => 2 }, runs(repository, "good"))
    end
  end

  def test_make_that_only_tells_runs_nothing
    with_repository do |repository|
      out, = check(repository, "good", env: { "MAKEFLAGS" => "n" })
      assert_equal "toy: make good\n", out
      refute_path_exist repository.path("build/checks")
    end
  end

  def test_check_may_have_settings
    with_repository do |repository|
      out, = check(repository, "good SETTING=7")
      assert_match(%r{^good SETTING=7 +passed .* build/checks/good_SETTING=7\.log$}, out)
      assert_equal "7\n", repository.read("build/good.ran")
    end
  end

  {
    "tests" => ["12 tests, 30 assertions, 1 failures, 2 errors, 3 skips\n", 6, 3],
    "units" => ["[  PASSED  ] 8 tests.\n[  FAILED  ] 1 test, listed below:\n[  FAILED  ] A.B\n", 8, 1],
    "upstream" => ["on, btest: 20 tests, 2 failed\n  failed, in stock MRI, too: a\n  failed: b: c\n",
                   18, 1],
    "fuzzed" => ["fuzz options: 7 runs in 1 second\nrun-fuzz: pprof: finding crash-1: see\n", 1, 1],
    "nodes" => ["# tests 33\n# pass 31\n# fail 2\n", 31, 2]
  }.each do |suite, (says, passed, failed)|
    define_method("test_#{suite}_are_counted") do
      with_repository do |repository|
        repository.write("build/#{suite}.says", says)
        out, = check(repository, suite)
        assert_match(/^toy: #{passed} passed, #{failed} failed$/, out)
      end
    end
  end

  private

  def with_repository
    ScratchRepository.open do |repository|
      repository.write("Makefile", MAKEFILE)
      repository.write(".gitignore", "/build/\n/Makefile\n")
      git(repository, "init", "-q")
      git(repository, "add", "-A")
      git(repository, "commit", "-qm", "toy")
      yield repository
    end
  end

  def git(repository, *arguments)
    who = %w[-c user.name=toy -c user.email=toy@localhost]
    system({ "GIT_CONFIG_GLOBAL" => "/dev/null" }, "git", *who, *arguments,
           chdir: repository.top, exception: true)
  end

  # The make that runs these tests has options of its own.
  PLAIN_MAKE = { "MAKEFLAGS" => nil, "MFLAGS" => nil, "MAKELEVEL" => nil }.freeze

  def check(repository, *arguments, env: {})
    resume = arguments.delete("--resume")
    repository.run("run-checks", *resume, "toy", *arguments, env: PLAIN_MAKE.merge(env))
  end

  def status(repository) = repository.run("run-checks", "--status", "toy", "good", "broken", env: PLAIN_MAKE).first

  def runs(repository, *checks)
    checks.to_h { |name| [name, repository.read("build/#{name}.ran").lines.size] }
  end
end
