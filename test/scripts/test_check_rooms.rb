# frozen_string_literal: true
#
# test_check_rooms.rb - scripts/check-rooms: a small house that keeps all laws, and one mutation of it for each law.

require "test/unit"
require_relative "scratch_repository"

class TestScriptsCheckRooms < Test::Unit::TestCase
  BASERUBY = ENV.fetch("BASERUBY", "ruby").split.first

  # A name of each room is used by the one above it; the collector's files are one object, gc.c.
  HOUSE = {
    "base/mem.h" => "struct mem {\n    int used;\n};\n\nint mem_take(struct mem *mem);\n",
    "base/mem.c" => %(#include "base/mem.h"\n\nint\nmem_take(struct mem *mem)\n{\n    return mem->used++;\n}\n),
    "os/file.c" => "int\nfile_write(void)\n{\n    return 0;\n}\n",
    "profiler/sites.c" => %(#include "base/mem.h"\n\nint\nsites_intern(struct mem *mem)\n{\n    return mem_take(mem);\n}\n),
    "gc/book/track.c" => "int sites_intern(struct mem *mem);\n\nstatic int\ntrack_sample(void)\n{\n    return sites_intern(0);\n}\n",
    "gc/objects/newobj.c" => "static int\npending_enter(void)\n{\n    return track_sample();\n}\n",
    "gc/all.c" => %(#include "gc/book/track.c"\n#include "gc/objects/newobj.c"\n),
    "vm/api/api.c" => "void rb_raise(int error);\n\nvoid\napi_start(void)\n{\n    rb_raise(0);\n}\n",
  }.freeze

  def test_a_house_that_keeps_all_laws_passes
    assert_equal ["", "", true], check
  end

  def test_an_include_of_a_room_above_fails
    refused "base/mem.c:1: include: base/ may not use profiler/sites.h\n",
            "base/mem.c" => %(#include "profiler/sites.h"\n#{HOUSE["base/mem.c"]}), "profiler/sites.h" => "\n"
  end

  def test_an_include_without_its_room_fails
    refused %(base/mem.c:1: include: "mem.h" does not name its room\n), "base/mem.c" => HOUSE["base/mem.c"].sub("base/mem.h", "mem.h")
  end

  def test_a_name_of_a_room_above_fails_without_any_include
    refused "base/mem.c: link: base/ may not use file_write of os/file.c\n",
            "base/mem.c" => "#{HOUSE["base/mem.c"]}\nint file_write(void);\n\nint\nmem_write(void)\n{\n    return file_write();\n}\n"
  end

  def test_rooms_side_by_side_do_not_know_each_other
    refused "os/file.c: link: os/ may not use digest of pprof/digest.c\n",
            "os/file.c" => "int digest(void);\n\nint\nfile_write(void)\n{\n    return digest();\n}\n",
            "pprof/digest.c" => "int\ndigest(void)\n{\n    return 1;\n}\n"
  end

  def test_the_collectors_rooms_are_seen_though_they_are_one_object
    refused "gc/book/track.c: link: gc/book/ may not use pending_enter of gc/objects/newobj.c\n",
            "gc/book/track.c" => "#{HOUSE["gc/book/track.c"]}\nstatic int\ntrack_all(void)\n{\n    return pending_enter();\n}\n",
            "gc/objects/newobj.c" => "static int\npending_enter(void)\n{\n    return 1;\n}\n"
  end

  def test_what_a_comment_or_a_string_says_is_no_use
    assert check("gc/book/track.c" => "/* pending_enter */\nstatic const char *said = \"pending_enter\";\n#{HOUSE["gc/book/track.c"]}").last
  end

  def test_the_collector_does_not_use_the_interpreters_upper_rooms
    refused "gc/book/track.c: link: gc/book/ may not use api_start of vm/api/api.c\n",
            "gc/book/track.c" => "#{HOUSE["gc/book/track.c"]}\nstatic void\ntrack_all(void)\n{\n    api_start();\n}\n"
  end

  def test_a_circle_inside_a_room_fails_and_its_ties_are_named
    one = "int other(void);\n\nint\none(void)\n{\n    return other();\n}\n"
    refused "os/one.c: circle: of 2 files: os/one.c -> os/other.c (other); os/other.c -> os/one.c (one)\n",
            "os/one.c" => one, "os/other.c" => one.gsub(/one|other/, "one" => "other", "other" => "one")
  end

  def test_two_structs_of_one_tag_fail
    refused "profiler/sites.c: tag: mem is also one of base/mem.h\n",
            "profiler/sites.c" => "struct mem {\n    long other;\n};\n\nint\nsites_intern(struct mem *mem)\n{\n    return 0;\n}\n"
  end

  def test_a_long_line_fails_and_a_picture_may_be_longer
    assert check("os/file.c" => "#{HOUSE["os/file.c"]}/* a picture:\n *\n *  #{"-" * 115}\n */\n").last
    refused "os/file.c:6: width: a line of 101 columns, at most 100\n", "os/file.c" => "#{HOUSE["os/file.c"]}/* #{"-" * 95} */\n"
  end

  def test_a_file_of_more_than_700_lines_fails
    refused "os/file.c: length: 701 lines, of 700 at most\n", "os/file.c" => HOUSE["os/file.c"] + "\n" * 696
  end

  def test_a_source_that_its_map_does_not_name_fails
    refused "os/file.c: map: not named in os/README.md\n", "os/README.md" => "# os/\n"
  end

  def test_a_map_that_has_grown_to_an_essay_fails
    refused "os/README.md: map: 61 lines, of 60 at most\n", "os/README.md" => "`file.c`\n#{"\n" * 60}"
  end

  def test_a_link_to_nothing_fails_and_one_to_a_heading_passes
    assert check("doc/a.md" => "# A: \"b_c\"\n\n[a](#a-b_c) [b](../os/README.md) [c](https://example.org/x)\n").last
    refused "doc/a.md: page: b.md: no such file\ndoc/a.md: page: #b: no such heading\n", "doc/a.md" => "# A\n\n[a](b.md) [b](#b)\n"
  end

  def test_a_document_that_names_a_file_of_a_room_which_is_not_there_fails
    assert check("doc/a.md" => "`os/file.c`, `os/file`, `os/file.[ch]`, `os/*.c`, `os/`, `bin/file`\n").last
    refused "doc/a.md: page: os/folder/file: no such file\n", "doc/a.md" => "`os/folder/file`\n"
  end

  def test_who_raises_elsewhere_fails
    refused "os/file.c: raise: rb_raise, and only vm/api/, vm/memprof/ may raise\n",
            "os/file.c" => "void rb_raise(int error);\n\nint\nfile_write(void)\n{\n    rb_raise(0);\n    return 0;\n}\n"
  end

  # The toy is MRI 1.0.
  def test_who_spells_the_release_that_all_is_built_on_fails_except_where_it_was_measured
    assert check("doc/a.md" => "ruby-1.0.7, 11.0 and 2.1.0 are others\n", "doc/performance.md" => "ruby 1.0\n") { |repository| clone(repository, "doc") }.last
    assert_equal ["", "doc/a.md:2: release: 1.0, which only pins and what was measured may spell\n", false],
                 check("doc/a.md" => "# A\nruby-1.0.tar.gz\n") { |repository| clone(repository, "doc") }
  end

  def test_a_table_that_is_not_the_checks_own_fails
    refused "CONTRIBUTING.md: table: not that of scripts/check-rooms --table\n", "CONTRIBUTING.md" => "| `base/` | all |\n"
  end

  private

  def refused(message, mutation)
    assert_equal ["", message, false], check(mutation)
  end

  # What the check says of the house with these files in the place of its own.
  def check(mutation = {})
    ScratchRepository.open do |repository|
      %w[gc/first.c vm/second.c].each { |name| File.delete(repository.path(name)) }
      files = HOUSE.merge(mutation)
      maps = files.keys.grep(/\.[ch]\z/).group_by { |name| name[/\A[^\/]+/] }
                  .to_h { |room, names| ["#{room}/README.md", names.map { |name| "`#{File.basename(name)}`\n" }.join] }
      table = rooms(repository, "--table").first
      maps.merge("CONTRIBUTING.md" => table).merge(files).each { |name, text| repository.write(name, text) }
      files.keys.grep(/\A(?!gc\/).*\.c\z/).each { |name| compile(repository.top, name) }
      yield repository if block_given?
      rooms(repository)
    end
  end

  def rooms(repository, *arguments)
    out, err, status = Open3.capture3({ "RUBYOPT" => nil, "RUBYLIB" => nil }, BASERUBY, repository.path("scripts/check-rooms"), *arguments)
    [out, err, status.success?]
  end

  # Makes it a clone that has these files.
  def clone(repository, *names)
    [%w[init -q], ["add", *names]].each { |arguments| assert system("git", "-C", repository.top, *arguments) }
  end

  def compile(top, name)
    object = File.join(top, name.start_with?("vm/") ? "build/ruby/heapprof" : "build/cli", name.sub(/c\z/, "o"))
    FileUtils.mkdir_p(File.dirname(object))
    out, status = Open3.capture2e("cc", "-w", "-iquote", top, "-c", "-o", object, File.join(top, name))
    assert status.success?, out
  end
end
