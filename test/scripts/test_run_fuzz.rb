# frozen_string_literal: true
#
# test_run_fuzz.rb - scripts/run-fuzz with toy targets: shell scripts that print what libFuzzer
# would and end as it does.

require "test/unit"
require_relative "scratch_repository"

class TestScriptsRunFuzz < Test::Unit::TestCase
  CLEAN = "echo Done 7 runs in 1 second"
  FINDING = "echo 'Test unit written to build/fuzz/bad_fuzz.crash-1'; exit 77"
  GONE = "exit 1"

  def test_a_clean_run_is_one_line
    out, err, ok = fuzz("good" => CLEAN)
    assert_equal ["fuzz good: 7 runs in 1 second\n", "", true], [out, err, ok]
  end

  def test_a_finding_fails_the_run_and_is_named_with_what_runs_it_again
    _, err, ok = fuzz("bad" => FINDING)
    refute ok
    assert_include err, "run it again: build/fuzz/bad_fuzz build/fuzz/bad_fuzz.crash-1\n"
  end

  def test_an_end_without_a_finding_fails_the_run_and_names_the_log
    _, err, ok = fuzz("gone" => GONE)
    refute ok
    assert_include err, "see build/fuzz/gone_fuzz.log"
  end

  def test_the_other_targets_run_when_one_has_failed
    out, err, ok = fuzz("bad" => FINDING, "gone" => GONE, "good" => CLEAN, "fine" => CLEAN)
    refute ok
    assert_equal ["fuzz fine: 7 runs in 1 second", "fuzz good: 7 runs in 1 second"],
                 out.lines(chomp: true).sort
    assert_include err, "bad_fuzz.crash-1"
    assert_include err, "gone_fuzz.log"
  end

  # libFuzzer writes to the first directory it is given.
  def test_new_inputs_go_to_the_build_directory_and_the_kept_ones_are_only_read
    out, = fuzz("keeps" => 'for last; do :; done; echo "Done $(basename "$last")"') do |repository|
      repository.write("test/fuzz/corpus/keeps/one", "1")
    end
    assert_equal "fuzz keeps: keeps\n", out
    out, = fuzz("first" => 'shift 5; echo "Done $1"') do |repository|
      repository.write("test/fuzz/corpus/first/one", "1")
    end
    assert_equal "fuzz first: build/fuzz/first_fuzz.corpus\n", out
  end

  private

  def fuzz(targets)
    ScratchRepository.open do |repository|
      yield repository if block_given?
      programs = targets.map do |name, text|
        program = "build/fuzz/#{name}_fuzz"
        repository.write(program, "#!/bin/sh\n#{text}\n")
        File.chmod(0o755, repository.path(program))
        program
      end
      repository.run("run-fuzz", "1", *programs)
    end
  end
end
