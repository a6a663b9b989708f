# frozen_string_literal: true
#
# test_valgrind.rb - heapprof memcheck --engine=valgrind: Valgrind's leaks have their Ruby lines, and its errors their kinds.
#
# Each run under Valgrind takes seconds, so there are few, of many things.

require_relative "../cli/lib/heapprof_command"

class TestHeapprofMemcheckValgrind < Test::Unit::TestCase
  include HeapprofCommand

  RUBY = [EnvUtil.rubybin, "--disable-gems", "-W0"].freeze
  EXTENSION = "heapprof_memcheck.so"
  PLUGIN = "heapprof_memcheck_plugin.so"
  PLUGIN_PATH = $LOAD_PATH.map { |path| File.join(path, "-test-", PLUGIN) }.find { |path| File.exist?(path) }

  def setup
    omit "no valgrind" unless system("valgrind", "--version", out: File::NULL, err: File::NULL)
  end

  # What is lost, by line: kind, blocks, bytes, blocks and bytes these lead to, C function, names of the Ruby stack.
  MAIN = "<main>"
  LOST = {
    "M.lose(1001)" => [1, 1001, 0, 0, "memcheck_lose", ["HeapProfMemcheck.lose", MAIN]],
    "3.times { M.lose(500) }" => [3, 1500, 0, 0, "memcheck_lose", ["HeapProfMemcheck.lose", "block in <main>", "Integer#times", MAIN]],
    "M.lose_of_ruby(1002)" => [1, 1002, 0, 0, "memcheck_lose_of_ruby", ["HeapProfMemcheck.lose_of_ruby", MAIN]],
    "M.lose_list(5)" => [1, 112, 4, 448, "memcheck_lose_list", ["HeapProfMemcheck.lose_list", MAIN]],
    "M.lose_grown(2000)" => [1, 2000, 0, 0, "memcheck_lose_grown", ["HeapProfMemcheck.lose_grown", MAIN]],
    "Thread.new { M.lose(1003) }.join" => [1, 1003, 0, 0, "memcheck_lose", ["HeapProfMemcheck.lose", "block in <main>"]],
    "Fiber.new { M.lose(1004) }.resume" => [1, 1004, 0, 0, "memcheck_lose", ["HeapProfMemcheck.lose", "block in <main>"]],
    "M.lose_in_thread(1005)" => [1, 1005, 0, 0, "lose_i", ["[no frame]"]],
    "M.lose_unloaded(#{PLUGIN_PATH.dump}, 3000)" => [1, 3000, 0, 0, "memcheck_plugin_lose", ["HeapProfMemcheck.lose_unloaded", MAIN]],
    # Valgrind's own new is not ours to see.
    "M.lose_by_new(2)" => [1, 72, 2, 202, "memcheck_lose_by_new", []],
  }.freeze

  def test_each_leak_has_its_c_stack_and_its_ruby_line
    # native_leaks leaves it to Valgrind: there is no other process.
    ran = memcheck("M.keep(100)\n#{LOST.keys.join("\n")}\nabort 'told' unless ObjectSpace::HeapProfile.native_leaks { 1 } == []\n")
    process, *others = ran.json["processes"]
    assert_equal [[], ""], [others, ran.err]
    records = process["records"]
    LOST.each_with_index do |(script, (blocks, bytes, indirect_blocks, indirect_bytes, function, names)), i|
      record, *others = records.select { |one| functions(one).include?(function) && line_of(one) == (names[1] ? i + 4 : nil) }
      assert_empty others, script
      assert_equal ["definite", blocks, bytes, indirect_blocks, indirect_bytes, false, names],
                   [*record.values_at(*%w[kind blocks bytes indirect_blocks indirect_bytes core]), record["frames"].map { |f| f["name"] }], script
      assert_equal (function == "memcheck_plugin_lose" ? PLUGIN : EXTENSION), record["library"], script
    end
    assert_equal LOST.size, records.size
  end

  # What a library loses for the extension is the extension's, too.
  def test_a_library_keeps_what_another_one_loses_on_its_behalf
    ran = memcheck("M.lose_unloaded(#{PLUGIN_PATH.dump}, 3000)\nM.lose_by_nameless(#{PLUGIN_PATH.dump}, 100)\nM.use_after_free", "--only=heapprof_memcheck")
    process = ran.json["processes"].fetch(0)
    assert_equal [42, 3, 1], [ran.status, *process.values_at("leaks", "errors")], ran.err
    lost = process["records"].select { |record| record["kind"] == "definite" }
    assert_equal [[PLUGIN, EXTENSION]], lost.map { |record| [record["library"], record["for"]["library"]] }.uniq
    assert_equal 1, lost.count { |record| record["for"]["function"] == "memcheck_lose_unloaded" }
  end

  # Valgrind sees malloc and free in both.
  def test_a_block_that_is_given_to_the_wrong_allocator_is_an_error_with_both_lines
    records = memcheck("M.free_of_ruby\nM.xfree_of_libc\nM.free_well").json["processes"].fetch(0)["records"]
    assert_equal [["mismatched_free", "memcheck_free_of_ruby", 3, 3], ["mismatched_free", "memcheck_xfree_of_libc", 4, 4]],
                 records.map { |record| [*record.values_at("kind", "function"), line_of(record), record["asked"][0]["line"]] }.sort_by(&:last)
  end

  # C function, the block's functions, by kind.
  ERRORS = {
    "use_after_free" => "use_after_free", "write_beyond" => "invalid_write", "read_beyond" => "invalid_read",
    "free_twice" => "double_free", "free_middle" => "invalid_free", "free_new" => "mismatched_free",
    "use_undefined" => "undefined",
  }.freeze

  def test_each_error_has_its_kind_and_whose_block_it_is
    ran = memcheck("2.times { M.write_beyond }\n#{(ERRORS.keys - ["write_beyond"]).map { |name| "M.#{name}\n" }.join}", "--undefined")
    assert_equal 42, ran.status, ran.err
    process = ran.json["processes"].fetch(0)
    records = process["records"].to_h { |record| [record["function"], record] }
    assert_equal [0, ERRORS.size], process.values_at("leaks", "errors")
    assert_equal ERRORS.to_h { |name, kind| ["memcheck_#{name}", kind] }, records.transform_values { |record| record["kind"] }
    write = records["memcheck_write_beyond"]
    assert_equal [2, "Invalid write of size 1"], write.values_at("times", "what")
    assert_match(/ is 0 bytes after a block of size 21 alloc'd\z/, write["stacks"][1]["title"])
    frame = write["stacks"][1]["frames"].find { |one| one["extension"] }
    assert_equal ["make_block", EXTENSION, "errors.c"], [frame["name"], frame["library"], File.basename(frame["file"])]
    assert_operator frame["line"], :>, 0
    assert_equal ["", "HeapProfMemcheck.write_beyond"], [frame["methods"], methods_of(write, 0)[/[^,]+/]]
  end

  # By line from 3 on: what goes wrong, with the Ruby stack at that moment, each a name and a line.
  AT_ERRORS = {
    "def again = M.write_beyond" => nil,
    "M.write_beyond" => [["HeapProfMemcheck.write_beyond", 4], ["<main>", 4]],
    "again" => [["HeapProfMemcheck.write_beyond", 3], ["Object#again", 3], ["<main>", 5]],
    "begin; [1].each { M.free_middle; raise }; rescue; end" =>
      [["HeapProfMemcheck.free_middle", 6], ["block in <main>", 6], ["Array#each", 6], ["<main>", 6]],
    "Thread.new { M.use_after_free }.join" => [["HeapProfMemcheck.use_after_free", 7], ["block in <main>", 7]],
    "Fiber.new { M.free_new }.resume" => [["HeapProfMemcheck.free_new", 8], ["block in <main>", 8]],
    "def M.back = read_beyond; M.lose_through" =>
      [["HeapProfMemcheck.read_beyond", 9], ["HeapProfMemcheck.back", 9], ["HeapProfMemcheck.lose_through", 9], ["<main>", 9]],
    "begin; M.free_twice_and_raise; rescue; end" => [["HeapProfMemcheck.free_twice_and_raise", 10], ["<main>", 10]],
    "M.write_beyond_in_thread" => [],
  }.freeze

  def test_each_error_has_the_ruby_stack_of_that_moment
    records = memcheck("#{AT_ERRORS.keys.join("\n")}\n").json["processes"].fetch(0)["records"]
    stacks = records.map { |record| record["frames"].map { |frame| frame.values_at("name", "line") } }
    assert_equal AT_ERRORS.values.compact.sort_by(&:inspect), stacks.sort_by(&:inspect)
    assert_equal ["script.rb"], records.flat_map { |record| record["frames"].map { |frame| File.basename(frame["file"]) } }.uniq
  end

  # By line from 3 on: the block of the first error is lost, that of the second is freed.
  BLOCKS = ["def again = M.make_block", "again", "M.write_beyond_kept", "M.write_beyond"].freeze

  def test_an_error_has_the_ruby_stack_that_asked_for_its_block
    ran = memcheck("#{BLOCKS.join("\n")}\n")
    records = ran.json["processes"].fetch(0)["records"].select { |record| record["kind"] == "invalid_write" }.to_h { |record| [record["function"], record] }
    assert_equal({ "memcheck_write_beyond_kept" => [["HeapProfMemcheck.make_block", 3], ["Object#again", 3], ["<main>", 4]], "memcheck_write_beyond" => [] },
                 records.transform_values { |record| record["asked"].map { |frame| frame.values_at("name", "line") } })
    assert_equal ["HeapProfMemcheck.write_beyond_kept", 5], records["memcheck_write_beyond_kept"]["frames"][0].values_at("name", "line")
  end

  def test_each_process_is_reported_and_one_that_crashes_by_its_errors
    ran = memcheck(<<~RUBY)
      Process.wait(fork { M.lose(1001) })
      Process.wait(fork { M.use_after_free; Process.kill(:KILL, $$) })
      system(#{RUBY[0].dump}, "--disable-gems", "-e", "require '-test-/heapprof_memcheck'; HeapProfMemcheck.lose(1002)")
      system("true")
      M.lose(1003)
    RUBY
    processes = ran.json["processes"].sort_by { |process| process["records"].map { |record| record["bytes"] } }
    assert_equal [[0, 1, false], [1, 0, true], [1, 0, true], [1, 0, true]],
                 processes.map { |process| process.values_at("leaks", "errors", "decided") }
    assert_equal [[["use_after_free", 0]], [["definite", 1001]], [["definite", 1002]], [["definite", 1003]]],
                 processes.map { |process| process["records"].map { |record| record.values_at("kind", "bytes") } }
    assert_equal [[4], [3], [1], [7]], processes.map { |process| process["records"].filter_map { |record| line_of(record) } }
  end

  def test_a_program_that_loses_nothing_has_no_records
    ran = memcheck("Thread.new { 'x' * 1000 }.join; Fiber.new { :a }.resume; GC.start; $kept = (1..100).to_h { |i| [i, i.to_s] }; exit 3")
    assert_equal [3, ""], [ran.status, ran.err]
    assert_equal [[], 0, true], ran.json["processes"].fetch(0).values_at("records", "errors", "decided")
  end

  # ---- Valgrind as it should not be ----

  # A valgrind that says this version, and writes these files for a process 7.
  def with_valgrind(version, files = {})
    in_directory do |directory|
      Dir.mkdir("bin")
      files.each { |name, text| File.write(name, text) }
      File.write("bin/valgrind", <<~SH)
        #!/bin/sh
        [ "$1" = --version ] && exec echo #{version}
        for argument; do case $argument in --xml-file=*) to=${argument#*=}; to=${to%/*} ;; esac; done
        for name in #{files.keys.join(' ')}; do cp #{directory}/$name $to; done
      SH
      File.chmod(0o755, "bin/valgrind")
      yield({ "PATH" => "#{directory}/bin:#{ENV['PATH']}" })
    end
  end

  def test_without_a_valgrind_that_will_do_it_is_said_in_a_line
    options = ["memcheck", "--engine=valgrind", "true"]
    with_valgrind("valgrind-3.13.0") { |env| assert_refused(1, /valgrind 3\.13 is too old: at least 3\.14 is needed/, *options, env: env) }
    with_valgrind("nothing") { |env| assert_refused(1, /valgrind was not found: install the Debian package valgrind/, *options, env: env) }
    with_valgrind("valgrind-3.19.0") { |env| assert_refused(1, /no process of true wrote a report/, *options, env: env) }
    assert_refused(2, /--undefined works only with --engine=valgrind/, "memcheck", "--undefined", "true")
    assert_refused(2, /--engine=none: give one of: vm valgrind/, "memcheck", "--engine=none", "true")
  end

  XML = <<~XML
    <?xml version="1.0"?>
    <valgrindoutput>
    <pid>7</pid>
    <args><argv><exe>/bin/program</exe></argv></args>
    <error><kind>InvalidRead</kind><what>Invalid read of size 1</what><stack><frame><obj>/a/b.so</obj><fn>f</fn></frame></stack></error>
  XML

  def test_xml_that_is_cut_or_broken_is_told_of_and_what_is_before_it_is_shown
    { "<error>\n<kind>" => /7: line 7: it ends in the middle of an element/, "</error>\n" => /7: line 6: mismatched tag/ }.each do |end_of_it, line|
      with_valgrind("valgrind-3.19.0", "7.xml" => XML + end_of_it, "7.log" => "") do |env|
        ran = heapprof("memcheck", "--engine=valgrind", "--exitcode=0", "--json", "-o", "report.json", "true", env: env)
        assert_match(/\Aheapprof memcheck: Valgrind's XML of process #{line}\n\z/, ran.err)
        assert_equal [1, [["invalid_read", "f", "b.so"]]],
                     [ran.status, JSON.parse(File.read("report.json"))["processes"][0]["records"].map { |r| r.values_at("kind", "function", "library") }]
      end
    end
  end

  private

  # Of the first function of an extension in that stack.
  def methods_of(record, stack) = record["stacks"][stack]["frames"].find { |frame| frame["extension"] }["methods"]

  def functions(record) = record["stacks"][0]["frames"].map { |frame| frame["name"] }

  def line_of(record) = record["frames"].map { |frame| frame["line"] }.find(&:positive?)

  # A script that begins at line 3. Nothing is left behind.
  def memcheck(script, *options)
    in_directory do |directory|
      File.write("script.rb", "require '-test-/heapprof_memcheck'\nM = HeapProfMemcheck\n#{script}")
      ran = heapprof("memcheck", "--engine=valgrind", "--json", "-o", "report.json", *options, *RUBY, "script.rb", env: { "TMPDIR" => directory })
      ran.out = File.read("report.json")
      assert_equal %w[report.json script.rb], Dir.children(directory).sort
      ran
    end
  end
end
