# frozen_string_literal: true
#
# test_command.rb - heapprof barriers as a command: its arguments, its output and its exit status, and a line for each
# thing that is wrong.

require_relative "lib/barriers_command"

class TestBarriersCommand < Test::Unit::TestCase
  include BarriersCommand

  SUBJECT = "#{RULES}/lines.c" # one store
  STORE = "VALUE\nstore(VALUE self, VALUE value)\n{\n    return get_pair(self)->first = value;\n}\n"

  # ---- where the flags come from ----

  def test_a_file_that_is_no_source
    in_directory do |directory|
      %w[it.h it.txt it].each { |name| File.write("#{directory}/#{name}", "int a;\n") }
      result = barriers(*%w[it.h it.txt it none.c].map { |name| "#{directory}/#{name}" })
      assert_equal(%w[it.h it.txt it].map { |name| "heapprof barriers: #{directory}/#{name}: it is no source of C or C++, by its name\n" } +
                   ["heapprof barriers: #{directory}/none.c: No such file or directory\n"], result.err.lines.first(4))
      assert_equal(2, result.status)
    end
  end

  def test_a_directory_with_mkmfs_makefile
    in_gem do |gem|
      write_makefile("#{gem}/ext/it")
      result = barriers(gem)
      assert_equal([result.out, result.err], barriers("#{gem}/").then { [_1.out, _1.err] })
      assert_equal([["it.c", 5, %w[first]]], result.told.map { |each| [each.file, each.line, each.fields] })
      assert_match(%r{\A\S+/ext/it/it\.c:5:}, result.out)
      assert_equal("heapprof barriers: #{gem}/ext/it: 1 store without a write barrier; 1 of 1 type of typed data is WB_PROTECTED\n", result.err)
      assert_equal(1, result.status)
    end
  end

  # Names, reasons and files may have characters that are invisible, or that a terminal obeys.
  def test_control_characters_are_escaped
    weird = "<\u200b\u202e\u0085\u{e0041}\ufeff>"
    in_directory do |directory|
      source = "#{directory}/#{weird}.c"
      File.write(source, File.read(SUBJECT).gsub("first", "f\u200bi\u2060rst"))
      accept = "#{directory}/accept#{weird}"
      File.write(accept, "no line #{weird}\n")
      [[source], [source, "--json"], [source, "--sarif"], [source, "--all"], ["--accept=#{accept}", source], ["#{weird}/none"], ["--#{weird}"]].each do |words|
        ran = barriers(*words)
        [ran.out, ran.err].each do |text|
          text = text.dup.force_encoding("UTF-8")
          assert_predicate(text, :valid_encoding?)
          assert_no_match(/[\p{Cf}\p{Zl}\p{Zp}[\u0080-\u009f]]/, text, words.inspect)
        end
        assert_not_equal("", ran.out + ran.err)
      end
      assert_includes(barriers(source).out + barriers(source).err, '\xE2\x80\x8B')
    end
  end

  def test_nothing_of_a_makefile_is_run
    in_gem do |gem|
      write_makefile("#{gem}/ext/it", "X := $(shell touch #{gem}/ran)\n", "DEFS += $(shell touch #{gem}/ran)")
      assert_equal(1, barriers(gem).status)
      assert_path_not_exist("#{gem}/ran")
    end
  end

  def test_variables_that_refer_to_themselves
    in_gem do |gem|
      ring = (0..30).map { |i| "V#{i} = $(V#{i + 1})$(V#{i + 1})$(V#{(i + 7) % 30})\n" }.join
      write_makefile("#{gem}/ext/it", "DEFS = $(V0)\nSELF = $(SELF) $(SELF)\ncppflags = $(SELF)\n#{ring}")
      assert_equal(1, barriers(gem).status)
    end
  end

  def test_a_directory_with_compile_commands
    in_gem do |gem|
      command = { directory: "#{gem}/ext/it", file: "it.c", arguments: ["cc", *HEADERS.split, "-O3", "-c", "it.c"] }
      File.write("#{gem}/compile_commands.json", JSON.generate([command]))
      assert_equal([5], barriers(gem).told.map(&:line))
      File.write("#{gem}/compile_commands.json", "[{")
      result = barriers(gem)
      assert_match(/^heapprof barriers: .*compile_commands\.json cannot be read$/, result.err)
      assert_equal(2, result.status)
    end
  end

  # 1 would mean that a barrier is missing.
  def test_a_report_that_cannot_be_written_is_no_missing_barrier
    in_gem do |gem|
      result = barriers("-o", "#{gem}/none/report", gem)
      assert_equal([2, "heapprof barriers: #{gem}/none/report: No such file or directory\n"], [result.status, result.err])
    end
  end

  def test_an_extconf_is_run_only_with_the_option
    in_gem do |gem|
      File.write("#{gem}/ext/it/extconf.rb", <<~RUBY)
        File.write("#{gem}/ran", Dir.pwd)
        puts "creating Makefile"
        File.write("Makefile", #{makefile("#{gem}/ext/it").dump})
      RUBY
      ruby = { "RUBY" => "#{BUILD}/miniruby" }
      assert_wrong(/ext\/it: it has an extconf\.rb but no Makefile: build it, or run again with --extconf$/, barriers(gem, env: ruby))
      assert_path_not_exist("#{gem}/ran")
      result = barriers("--extconf", gem, env: ruby)
      assert_equal([[5], 1], [result.told.map(&:line), result.status])
      assert_equal("it.c", result.told.first.file)
      assert_path_not_exist("#{gem}/ext/it/Makefile")
      assert_path_not_exist(File.read("#{gem}/ran"))
      File.write("#{gem}/ext/it/extconf.rb", "exit 1")
      assert_wrong(/its extconf\.rb made no Makefile$/, barriers("--extconf", gem, env: ruby))
    end
  end

  def test_words_behind_two_dashes_are_arguments_of_extconf
    in_gem do |gem|
      File.write("#{gem}/ext/it/extconf.rb", "File.write(%(#{gem}/ran), ARGV.inspect); File.write('Makefile', #{makefile("#{gem}/ext/it").dump})")
      ruby = { "RUBY" => "#{BUILD}/miniruby" }
      assert_equal(1, barriers("--extconf", gem, "--", "--with-x=a b", "-y", env: ruby).status)
      assert_equal(%(["--with-x=a b", "-y"]), File.read("#{gem}/ran"))
      Dir.chdir(gem) { assert_equal(1, barriers("--extconf", "--", "z", env: ruby).status) }
      assert_equal(%(["z"]), File.read("#{gem}/ran"))
    end
  end

  # It waits for ever, and so does what it has started.
  def test_an_extconf_that_does_not_end_is_ended
    in_gem do |gem|
      File.write("#{gem}/ext/it/extconf.rb", "r, w = IO.pipe; fork { w.write('x'); sleep }; r.read(1); Process.setsid rescue nil; trap(:TERM) { }; sleep")
      result = barriers("--extconf", "--timeout=1", gem, env: { "RUBY" => "#{BUILD}/miniruby" })
      assert_wrong(/ext\/it: its extconf\.rb was ended after 1 second \(--timeout\)$/, result)
    end
  end

  def test_a_wrong_timeout
    ["", "0", "-1", "1x", "86401", "9" * 40].each do |text|
      assert_wrong(/--timeout=#{text}: must be a number of seconds from 1 to 86400$/, barriers("--timeout=#{text}", "x"))
    end
  end

  # $RUBY says where its headers are. A Makefile, and --flags, are asked before it.
  def test_a_file_alone_gets_the_headers_of_ruby
    in_directory do |directory|
      asked = "#{directory}/asked"
      File.write("#{directory}/ruby", "#!/bin/sh\ntouch #{asked}\nprintf '%s\\n' #{HEADERS.split.reverse.map { |flag| flag.delete_prefix("-I") }.join(" ")}\n")
      File.chmod(0o700, "#{directory}/ruby")
      ruby = { "RUBY" => "#{directory}/ruby" }
      barriers("--flags=#{HEADERS}", SUBJECT, env: ruby)
      assert_path_not_exist(asked)
      result = barriers(SUBJECT, env: ruby)
      assert_equal([1, 1], [result.told.size, result.status])
      assert_path_exist(asked)
    end
  end

  # All files of an extension are judged together: one has the type, another the store.
  def test_files_are_one_extension
    files = Dir["#{RULES}/two_files_*.c"]
    assert_equal(%w[two_files_2.c], barriers("--flags=#{HEADERS}", *files).told.map(&:file))
    assert_empty(barriers("--flags=#{HEADERS}", files.first).told)
  end

  def test_paths_in_flags_begin_at_the_current_directory
    in_directory do |directory|
      FileUtils.cp("#{RULES}/pair.h", directory)
      Dir.mkdir("#{directory}/below")
      File.write("#{directory}/below/it.c", %(#include "pair.h"\n#{STORE}))
      Dir.chdir(directory) do
        assert_match(/\Abelow\/it\.c:5:12: error: /, barriers("--flags=-I. #{HEADERS}", "below/it.c").out)
        assert_match(/\Abelow\/it\.c:5:12: error: /, barriers("--flags=-I . #{HEADERS}", "below").then { barriers("--flags=-I . #{HEADERS}", "below/it.c") }.out)
      end
    end
  end

  # ---- for programs ----

  def test_json_says_what_the_text_says
    files = ["#{RULES}/macros.c", "#{RULES}/exempt.c"]
    told = barriers("--all", "--flags=#{HEADERS}", *files).told
    result = barriers("--json", "--flags=#{HEADERS}", *files)
    extension, *others = JSON.parse(result.out).fetch("extensions")
    assert_empty(others)
    findings = extension["findings"]
    assert_equal(told.flat_map { |each| each.fields.map { |field| [each.file, each.line, each.sure, field, each.why] } }.sort,
                 findings.map { |each| [File.basename(each["file"]), *each.values_at("line", "severity", "field", "why")] }.sort)
    assert_equal(findings.map { |each| each["severity"] != "note" }, findings.map { |each| each["missing"] })
    assert_equal({ "name" => "STORE", "file" => File.realpath(files[0]), "line" => 3 }, findings.find { |each| each["line"] == 11 }["macro"])
    assert_equal(%w[compacted_type pair_type], extension["types"].map { |type| type["name"] }.sort)
    assert_equal(["pair_compact", "pair_mark", true], extension["types"].find { |type| type["name"] == "compacted_type" }.values_at("compact", "mark", "wb_protected"))
    assert_equal([false, 1], [extension["left_out"], result.status])
  end

  def test_sarif_has_a_run_for_each_extension
    result = barriers("--sarif", "#{BUILD}/ext/date", "#{BUILD}/ext/monitor")
    sarif = JSON.parse(result.out)
    assert_equal(["2.1.0", 2, 1], [sarif["version"], sarif["runs"].size, result.status])
    results = sarif["runs"].map { |run| run["results"] }
    assert_equal([3, 0], results.map(&:size))
    rules = sarif["runs"][0]["tool"]["driver"]["rules"].map { |rule| rule["id"] }
    assert_equal(%w[missing-write-barrier missed-write-barrier moved-reference unmarked-reference could-be-protected unregistered-global unmarked-memory], rules)
    assert_equal([rules.first(1), ["error"]], [results[0].map { |each| each["ruleId"] }.uniq, results[0].map { |each| each["level"] }.uniq])
    place = results[0][0]["locations"][0]["physicalLocation"]
    assert_equal([5150, 3], place["region"].values_at("startLine", "startColumn"))
    assert_equal("date_core.c", File.basename(place["artifactLocation"]["uri"]))
  end

  def test_sarif_says_which_version_of_what_has_judged_which_types
    sarif = JSON.parse(barriers("--sarif", "#{BUILD}/ext/monitor").out)
    run = sarif["runs"][0]
    assert_match(/\A\d+\.\d+\.\d+\z/, run["tool"]["driver"]["version"])
    assert_match(%r{\Ahttps://}, run["tool"]["driver"]["informationUri"])
    assert_equal(%w[monitor_data_type], run["properties"]["types"].map { |type| type["name"] })
  end

  def test_junit_has_a_test_case_for_each_type
    result = barriers("--junit", "#{BUILD}/ext/date", "#{BUILD}/ext/monitor", "#{RULES}/macros.c", env: { "RUBY" => "/nonexistent" })
    assert_equal([%w[3 1 0], %w[3 0 0], %w[2 0 1]], result.out.scan(/<testsuite name="[^"]*" tests="(\d+)" failures="(\d+)" errors="(\d+)">$/))
    assert_equal(["d_lite_type", "global variables", "the sources can be read"], result.out.scan(/<testcase classname="[^"]*date" name="([^"]*)"/).flatten)
    assert_match(%r{<failure message="3 errors" type="missing-write-barrier">[^<]*date_core\.c:5150:3: error: no write barrier for 's\.nth'[^<]*</failure></testcase>$}, result.out)
    assert_match(%r{\A<\?xml version="1\.0" encoding="UTF-8"\?>\n<testsuites .*</testsuites>\n\z}m, result.out)
    assert_equal(2, result.status)
  end

  def test_one_form_of_the_answer
    [%w[--fix --json], %w[--fix --sarif], %w[--fix --confirm], %w[--junit --json], %w[--junit --confirm], %w[--json --sarif], %w[--fix --junit]].each do |pair|
      assert_wrong(/--\w+ cannot be combined with --\w+ \(usage/, barriers(*pair, "x"))
    end
  end

  def test_programs_get_a_document_also_without_findings
    assert_equal({ "extensions" => [] }, JSON.parse(barriers("--json", "/nonexistent").out))
    assert_equal([], JSON.parse(barriers("--sarif", "/nonexistent").out)["runs"])
  end

  # ---- what is wrong ----

  def test_missing_files
    in_directory do |directory|
      assert_wrong(/\Aheapprof barriers: #{directory}\/none: No such file or directory$/, barriers("#{directory}/none"))
      assert_wrong(/: there is no extension in it/, barriers(directory))
      assert_wrong(/usage/, barriers)
      assert_wrong(/--nonsense/, barriers("--nonsense", directory))
    end
  end

  def test_a_file_with_errors_is_judged_as_far_as_it_can_be_read
    in_source("#{PAIR}#{STORE}int broken = ;\nVALUE after(VALUE self, VALUE value)\n{\n    return get_pair(self)->second = value;\n}\n") do |path|
      result = barriers("--flags=#{HEADERS}", path)
      assert_match(/it\.c:7: error: expected expression$/, result.err)
      assert_equal([[5, 10], 2], [result.told.map(&:line), result.status])
    end
  end

  def test_a_header_that_is_missing
    in_source("#include <other.h>\n#{PAIR}") do |path|
      result = barriers("--flags=#{HEADERS}", path)
      assert_wrong(/: error: 'other\.h' file not found$/, result)
      assert_operator(result.err.lines.size, :<=, 6)
    end
  end

  # One line for all files says what to do.
  def test_rubys_headers_are_missing
    [{ "RUBY" => "/nonexistent" }, { "RUBY" => "true" }, { "RUBY" => "echo" }].each do |ruby|
      result = barriers(SUBJECT, "#{RULES}/ways.c", env: ruby)
      assert_equal(2, result.status)
      assert_match(/lines\.c: 2 files include ruby\.h, which is not found: install .*ruby-dev.*, set RUBY .*, or .*--flags="-I DIR"$/, result.err)
      assert_operator(result.err.lines.size, :<=, 3)
    end
  end

  HOSTILE = {
    parentheses: "int x = #{"(" * 200_000}1#{")" * 200_000};\n",
    braces: "void f(void) #{"{" * 100_000}#{"}" * 100_000}\n",
    sum: "int f(int a) {return a#{"+a" * 100_000};}\n",
    elses: "int f(int a) {#{(0...20_000).map { |i| "if (a == #{i}) return #{i}; else " }.join}return 0;}\n",
    bytes: Random.new(1).bytes(100_000),
    itself: %(#include "it.c"\n),
  }.freeze

  HOSTILE.each do |name, source|
    define_method(:"test_hostile_#{name}") do
      in_source(source) do |path|
        result = barriers("--flags=#{HEADERS}", path)
        assert_equal(2, result.status)
        assert_operator(result.err.lines.size, :<=, 7)
        assert_match(/\Aheapprof barriers: /, result.err)
      end
    end
  end

  # A file that crashes libclang is named, and the other files are judged.
  def test_a_crash_costs_one_file
    in_source(HOSTILE[:elses]) do |path|
      result = barriers("--flags=#{HEADERS}", path, SUBJECT)
      assert_match(/it\.c: the compiler's library crashed on it/, result.err)
      assert_equal([["machine.rl"], 2], [result.told.map(&:file), result.status])
    end
  end

  # A file of 62,500 lines; and a function with too many paths to tell them apart.
  def test_large_files
    functions = (0...12_500).map { |i| STORE.sub("store", "store_#{i}") }.join
    in_source(PAIR + functions) do |path|
      result = barriers("--flags=#{HEADERS}", path)
      assert_match(/10000 stores without a write barrier; .*; there was more than the limits allow, and the rest is left out$/, result.err)
    end
    ways = (0...10_000).map { |i| "if (pair->number == #{i}) pair->first = value;\n" }.join
    in_source("#{PAIR}VALUE\nstore(VALUE self, VALUE value)\n{\nstruct pair *pair = get_pair(self);\n#{ways}return self;\n}\n") do |path|
      result = barriers("--flags=#{HEADERS}", path)
      assert_match(/there was more than the limits allow, and the rest is left out$/, result.err)
      assert_equal(1, result.status)
    end
  end

  def test_functions_that_call_each_other_deeply
    calls = (0...3000).map { |i| "VALUE f#{i}(VALUE self, VALUE value) {return f#{i + 1}(self, value);}\n" }.join
    prototypes = (1..3000).map { |i| "VALUE f#{i}(VALUE self, VALUE value);\n" }.join
    in_source("#{PAIR}#{prototypes}#{calls}#{STORE.sub("store", "f3000")}") do |path|
      result = barriers("--flags=#{HEADERS}", path)
      assert_equal([%w[first]], result.told.map(&:fields))
    end
  end

  # A caller has the stores of the functions that it calls: twice as many at each level.
  def test_stores_of_many_callers
    calls = (1..1000).map { |i| "static VALUE f#{i}(VALUE self, VALUE value) {get_pair(self)->first = value; f#{i - 1}(value, self); return f#{i - 1}(self, value);}\n" }
    in_source("#{PAIR}#{STORE.sub("store", "f0")}#{calls.join}VALUE all(VALUE self, VALUE value) {return f1000(self, value);}\n") do |path|
      result = barriers("--flags=#{HEADERS}", path)
      assert_match(/there was more than the limits allow, and the rest is left out$/, result.err)
      assert_equal(1, result.status)
    end
  end

  # heapprof was built without libclang.
  def test_without_the_program_of_its_own
    in_directory do |directory|
      FileUtils.cp(HEAPPROF, directory)
      out, err, status = Open3.capture3("#{directory}/heapprof", "barriers", SUBJECT)
      assert_equal(["", "heapprof barriers: #{directory}/heapprof-barriers: No such file or directory; heapprof was built without libclang: " \
                        "install it (Debian: libclang-dev), and build again\n", 2], [out, err, status.exitstatus])
    end
  end

  def test_nobody_else_needs_libclang
    [HEAPPROF, "#{BUILD}/ruby"].each { |path| refute_match(/libclang/, `ldd #{path}`, path) }
    assert_match(/libclang/, `ldd #{HEAPPROF}-barriers`)
  end

  private

  def assert_wrong(message, result)
    assert_match(message, result.err)
    assert_equal(["", 2], [result.out, result.status])
    result.err.lines.each { |line| assert_match(/\Aheapprof barriers: /, line) }
  end

  def in_gem
    in_directory do |gem|
      FileUtils.mkdir_p("#{gem}/ext/it")
      File.write("#{gem}/ext/it/it.c", PAIR + STORE)
      yield gem
    end
  end

  # The variables of a Makefile of mkmf's that matter.
  def makefile(source, *more)
    <<~MAKEFILE
      srcdir = #{source}
      hdrdir = #{MRI}/include
      arch_hdrdir = #{BUILD}/.ext/include/#{RbConfig::CONFIG["arch"]}
      VPATH = $(srcdir):$(arch_hdrdir)/ruby:$(hdrdir)/ruby
      DEFS = -DNAME=\\"it\\"
      CFLAGS = -O3 -fPIC
      INCFLAGS = -I. -I$(arch_hdrdir) -I$(hdrdir) \\
        -I$(srcdir)
      CPPFLAGS = $(DEFS) $(cppflags)
      ORIG_SRCS = it.c
      SRCS = $(ORIG_SRCS)
      #{more.join("\n")}
      all:
      \ttouch ran
    MAKEFILE
  end

  def write_makefile(directory, *more) = File.write("#{directory}/Makefile", makefile(directory, *more))
end
