# frozen_string_literal: true
#
# test_check_rooms.rb - scripts/check-rooms: a folder may include what lies below it, and no more.

require "test/unit"
require_relative "scratch_repository"

class TestScriptsCheckRooms < Test::Unit::TestCase
  def test_includes_downwards_and_of_mri_pass
    assert_equal ["", "", true],
                 check("vm/a.c" => %(#include "gc/b.h"\n#include "vm_core.h"\n),
                       "profiler/c.c" => %(#include "base/d.h"\n#include "os/e.h"\n))
  end

  def test_an_include_upwards_fails_and_is_named
    out, err, ok = check("base/a.h" => %(#include "base/b.h"\n# include "profiler/c.h"\n))
    refute ok
    assert_equal %(base/a.h:2:# include "profiler/c.h"\n), out
    assert_equal "check-rooms: base/ may not include profiler/: see the lines above\n", err
  end

  def test_rooms_side_by_side_do_not_know_each_other
    refute check("pprof/a.c" => %(#include "os/b.h"\n)).last
    refute check("os/a.c" => %(#include "pprof/b.h"\n)).last
  end

  def test_the_program_knows_nothing_of_ruby_and_what_is_shown_nothing_of_how_it_is_taken
    assert check("cli/a.c" => %(#include "report/b.h"\n#include "profiler/c.h"\n), "report/b.c" => %(#include "pprof/d.h"\n)).last
    refute check("cli/a.c" => %(#include "gc/b.h"\n)).last
    refute check("report/a.c" => %(#include "profiler/b.h"\n)).last
    refute check("report/a.c" => %(#include "cli/b.h"\n)).last
  end

  def test_what_reads_a_process_from_outside_knows_nothing_of_the_inside
    assert check("cli/a.c" => %(#include "attach/b.h"\n), "attach/b.c" => %(#include "profiler/c.h"\n)).last
    refute check("attach/a.c" => %(#include "vm/b.h"\n)).last
  end

  def test_an_object_graph_is_read_without_the_interpreter_that_wrote_it
    assert check("cli/a.c" => %(#include "graph/b.h"\n), "graph/b.c" => %(#include "dump/c.h"\n),
                 "gc/d.c" => %(#include "dump/e.h"\n)).last
    refute check("dump/a.c" => %(#include "graph/b.h"\n)).last
    refute check("gc/a.c" => %(#include "graph/b.h"\n)).last
  end

  def test_what_reads_the_source_of_extensions_is_known_to_the_program_alone
    assert check("cli/a.c" => %(#include "barriers/b.h"\n), "barriers/b.c" => %(#include "base/c.h"\n)).last
    refute check("barriers/a.c" => %(#include "cli/b.h"\n)).last
    refute check("report/a.c" => %(#include "barriers/b.h"\n)).last
  end

  def test_the_report_of_what_is_lost_knows_only_files
    assert check("cli/a.c" => %(#include "memcheck/b.h"\n), "memcheck/b.c" => %(#include "report/c.h"\n)).last
    refute check("memcheck/a.c" => %(#include "profiler/b.h"\n)).last
    refute check("memcheck/a.c" => %(#include "cli/b.h"\n)).last
  end

  def test_the_collectors_side_does_not_include_the_interpreters
    refute check("gc/a.c" => %(#include "vm/b.h"\n)).last
  end

  private

  def check(files)
    ScratchRepository.open do |repository|
      files.each { |name, text| repository.write(name, text) }
      repository.run("check-rooms")
    end
  end
end
