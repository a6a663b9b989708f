# frozen_string_literal: true
#
# test_several.rb - several files: top, info and view add workers up, and OLD comes before NEW.

require_relative "lib/heapprof_command"

class TestHeapprofSeveral < Test::Unit::TestCase
  include HeapprofCommand

  # A file of a process, the nth of its series.
  def file(name, pid, nth, strings)
    profile = shop(strings: strings, table: 0).comment("host: here")
    profile.comment("pid: #{pid}") if pid
    profile.add_number(9, 5_000 + (pid || 0) + 100 * nth)
    profile.add_number(10, 1_000 + 100 * nth)
    write(name, profile)
  end

  def test_top_and_info_add_the_last_file_of_each_process_up
    in_directory do
      files = [file("7-0", 7, 0, 1000), file("7-1", 7, 1, 3000), file("9-0", 9, 0, 200), file("9-1", 9, 1, 500)]
      [files, files.reverse].each do |given|
        json = heapprof!("top", *given, "--json", "--group=class").json
        assert_equal [140_000, %w[7-1 9-1]], [json["rows"][0]["value"], json["files"].sort]
        assert_match(/\A2 processes added up \(the last file of each, of 4 files\): inuse_space 137 kB/, heapprof!("top", *given).out)
        info = heapprof!("info", *given, "--json").json
        assert_equal 140_000, info["values"].find { |value| value["type"] == "inuse_space" }["total"]
        assert_match(/\Afile +2 processes added up/, heapprof!("info", *given).out)
      end
      assert_match(/\A2 files added up: inuse_space 137 kB/, heapprof!("top", "7-1", "9-1").out)
      assert_match(/\A7-1 \(the last of 2 files of its process\): inuse_space 117 kB/, heapprof!("top", "7-1", "7-0").out)
      assert_equal heapprof!("info", "7-1").out.lines.drop(1), heapprof!("info", "7-0", "7-1").out.lines.drop(1)
    end
  end

  def test_the_sum_is_that_of_merge
    in_directory do
      files = [file("7", 7, 0, 1000), file("9", 9, 0, 200)]
      heapprof!("merge", *files, "-o", "sum")
      assert_equal heapprof!("top", "sum").out.lines.drop(1), heapprof!("top", *files).out.lines.drop(1)
      assert_equal heapprof!("info", "sum").out.lines.drop(1), heapprof!("info", *files).out.lines.drop(1)
    end
  end

  def test_files_that_name_no_process_are_all_added_up
    in_directory do
      assert_equal 120_000, heapprof!("top", file("a", nil, 0, 1000), file("b", nil, 0, 2000), "--json").json["total"]["value"]
    end
  end

  def test_a_file_that_cannot_be_added_is_told
    in_directory do
      write("time", ProfileBytes.new.type("cpu", "nanoseconds").sample(["a.rb:1 x"], [5]))
      write("heap", shop)
      assert_refused 1, /time: is a profile of time, and has no value that is called inuse_space/, "top", "heap", "time"
      assert_refused 1, /\Aheapprof info: /, "info", "heap", "time"
      assert_refused 1, /\Aheapprof info: none: No such file/, "info", "heap", "none"
    end
  end

  def test_old_comes_before_new
    in_directory do
      file("old", 7, 0, 1000)
      file("new", 7, 1, 3000)
      assert_equal "", heapprof!("diff", "old", "new").err
      ran = heapprof("diff", "new", "old")
      assert_equal ["heapprof diff: new was taken after old: OLD comes before NEW\n", 0], [ran.err, ran.status]
      assert_match "shrank by", ran.out
    end
  end

  def test_view_shows_the_sum_or_what_changed_since_the_older_file
    in_directory do
      file("old", 7, 0, 1000)
      file("new", 7, 1, 3000)
      file("other", 9, 1, 500)
      omit heapprof("view", "old", "-o", "page").err if heapprof("view", "old", "-o", "page").err.include?("without its page")
      data = ->(*words) { heapprof!("view", *words, "--no-sources", "-o", "-").out }
      assert_include data["new", "other"], "2 files added up"
      assert_include data["--diff=old", "new"], '"old":"old"'
      ran = heapprof("view", "--diff=new", "old", "--no-sources", "-o", "page")
      assert_equal ["heapprof view: new was taken after old: OLD comes before NEW\n", 0], [ran.err, ran.status]
      ran = heapprof("view", "new", "old", "--no-sources", "-o", "page")
      assert_equal 0, ran.status
      assert_equal "heapprof view: new and old are of one process, and only the later one is shown; to see what grew, " \
                   "type heapprof view --diff=OLD NEW\n", ran.err
    end
  end
end
