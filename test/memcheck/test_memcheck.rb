# frozen_string_literal: true
#
# test_memcheck.rb - heapprof memcheck: what extensions lose is found, by Ruby line and C function, and nothing else is.
#
# The extension that loses memory is ../ext/memcheck.

require_relative "../cli/lib/held"
require_relative "../cli/lib/heapprof_command"

class TestHeapprofMemcheck < Test::Unit::TestCase
  include HeapprofCommand

  RUBY = [EnvUtil.rubybin, "--disable-gems"].freeze
  BUILD = File.dirname(EnvUtil.rubybin)
  EXTENSION = "heapprof_memcheck.so"
  PLUGIN = "heapprof_memcheck_plugin.so"
  # For a script: where it is.
  PLUGIN_PATH = "$:.map { |path| File.join(path, '-test-', '#{PLUGIN}') }.find { |path| File.exist?(path) }"

  # What is lost, by script: blocks, blocks these lead to, C function.
  LOST = {
    "M.lose(1000)" => [1, 0, "memcheck_lose"],
    "3.times { M.lose(1000) }" => [3, 0, "memcheck_lose"],
    "M.lose_of_ruby(1000)" => [1, 0, "memcheck_lose_of_ruby"],
    "M.lose_table" => [1, 2, "memcheck_lose_table"],
    "M.lose_list(5)" => [1, 4, "memcheck_lose_list"],
    "M.lose_ring(5)" => [1, 4, "memcheck_lose_ring"],
    "M.lose_grown(1000)" => [1, 0, "memcheck_lose_grown"],
    "M.lose_freed" => [1, 0, "memcheck_lose_freed"],
    "M.lose_by_new(3)" => [1, 3, "memcheck_lose_by_new"],
    "M.lose_after { 'a' * 1000 }" => [1, 0, "memcheck_lose_after"],
    "M.unfreed" => [1, 0, "memcheck_unfreed"],
    "M.lose_unloaded(#{PLUGIN_PATH}, 1000)" => [1, 0, "memcheck_plugin_lose"],
    "Thread.new { M.lose(1000) }.join" => [1, 0, "memcheck_lose"],
    "Fiber.new { M.lose(1000) }.resume" => [1, 0, "memcheck_lose"],
    "begin; M.lose(1000); raise 'oops'; rescue; end" => [1, 0, "memcheck_lose"],
    "at_exit { M.lose(1000) }" => [1, 0, "memcheck_lose"],
  }.freeze

  LOST.each_with_index do |(script, (blocks, indirect, function)), i|
    define_method(:"test_lost_#{i}_#{function}") do
      record = lost_in("M = HeapProfMemcheck\n#{script}\n").first
      library = function == "memcheck_plugin_lose" ? PLUGIN : EXTENSION
      assert_equal ["definite", blocks, indirect, function, library, false],
                   record.values_at(*%w[kind blocks indirect_blocks function library core]), script
      assert_operator record["bytes"] + record["indirect_bytes"], :>=, 100 * blocks
      frame = record["frames"].first
      assert_match(/\AHeapProfMemcheck\.(lose\w*|unfreed)\z/, frame["name"])
      assert_equal ["script.rb", 3], [File.basename(frame["file"]), frame["line"]]
    end
  end

  # Whoever is not on the stack, because its last call is a jump, asks nevertheless.
  def test_an_allocator_that_ends_with_mris_request
    record = lost_in("5.times { HeapProfMemcheck::Unfreed.new }").first
    assert_equal ["definite", 5, "unfreed_alloc", EXTENSION, false], record.values_at("kind", "blocks", "function", "library", "core")
    assert_equal ["Class#new", "Integer#times", "<main>"], record["frames"].map { |frame| frame["name"] } - ["block in <main>"]
  end

  # Made by rb_obj_alloc, the struct is MRI's, which is not told. What it leads to is.
  def test_what_a_struct_leads_to_is_not_hidden_with_it
    records = lost_in("5.times { HeapProfMemcheck.make_unfreed.fill(200) }")
    filled = records.find { |record| record["function"] == "memcheck_fill" } || records.first
    assert_equal ["definite", EXTENSION, false], filled.values_at("kind", "library", "core")
    assert_include [[5, 0], [5, 5]], filled.values_at("blocks", "indirect_blocks")
  end

  def test_what_a_thread_asks_for_without_the_gvl_has_its_ruby_line_and_what_a_thread_of_its_own_asks_for_has_none
    { "M.lose_without_gvl(1000)" => ["HeapProfMemcheck.lose_without_gvl", "<main>"],
      "Thread.new { M.lose_without_gvl(1000) }.join" => ["HeapProfMemcheck.lose_without_gvl", "block in <main>"],
      "M.lose_in_thread(1000)" => ["[no frame]"] }.each do |script, names|
      record = lost_in("M = HeapProfMemcheck\n#{script}").first
      assert_equal ["lose_i", 1, names], [record["function"], record["blocks"], record["frames"].map { |f| f["name"] }], script
      assert_equal 3, record["frames"].last["line"] if names.size > 1
    end
  end

  # ---- for whom ----

  LIBRARY = "HeapProfMemcheck.lose_unloaded(#{PLUGIN_PATH}, 1000)"
  NAMELESS = "HeapProfMemcheck.lose_by_nameless(#{PLUGIN_PATH}, 1000)"

  def test_a_library_keeps_what_another_one_loses_on_its_behalf
    [EXTENSION, "heapprof_memcheck", PLUGIN].each do |name|
      ran = check(LIBRARY, "--only=#{name}")
      assert_equal [42, 1], [ran.status, ran.json["processes"][0]["leaks"]], name
    end
    ran = check("HeapProfMemcheck.lose(1000)\n#{LIBRARY}", "--only=#{PLUGIN}")
    assert_equal [1, 1], [ran.json["processes"][0]["leaks"], ran.json["processes"][0]["not_shown"]["others"]]
  end

  def test_the_c_method_that_runs_keeps_what_mri_has_a_library_do
    ran = check("HeapProfMemcheck.lose_by_mri(#{PLUGIN_PATH}, 1000)", "--only=#{EXTENSION}")
    records = ran.json["processes"][0]["records"]
    whom = { "function" => "memcheck_lose_by_mri", "library" => EXTENSION }
    assert_equal [42, 2, [["?", PLUGIN, whom]]],
                 [ran.status, records.sum { |one| one["blocks"] }, records.map { |one| one.values_at("function", "library", "for") }.uniq]
  end

  def test_it_is_said_for_which_function_another_library_asked
    record = lost_in(LIBRARY).first
    whom = { "function" => "memcheck_lose_unloaded", "library" => EXTENSION }
    assert_equal [whom, [whom]], record.values_at("for", "callers")
    assert_nil lost_in("HeapProfMemcheck.lose_list(2)").first["for"]
  end

  def test_a_function_without_a_name_is_named_by_whom_it_worked_for_with_and_without_the_gvl
    records = lost_in(NAMELESS)
    assert_equal [["?", PLUGIN, EXTENSION]] * 2, records.map { |record| [*record.values_at("function", "library"), record["for"]["library"]] }
    assert_equal %w[HeapProfMemcheck.lose_by_nameless], records.map { |record| record["frames"].first["name"] }.uniq
    in_directory do
      script = "require '-test-/heapprof_memcheck'\n#{NAMELESS}"
      lines = memcheck("--gen-suppressions", "-o", "report.json", script: script).out.scan(/suppressed by: (.*\n)/).flatten
      assert_equal ["heapprof_memcheck.so"], lines.map { |line| line[/\S+/] }.uniq
      File.write("known", lines.join)
      assert_equal [0, 2], memcheck("--json", "--suppressions=known", "-o", "report.json", script: script)
                             .then { |ran| [ran.status, ran.json["processes"][0]["not_shown"]["suppressed"]] }
    end
  end

  def test_what_templates_of_the_standard_library_ask_for_is_of_the_function_that_uses_them
    records = check("HeapProfMemcheck.lose_by_vector(100)", "--show=all").json["processes"][0]["records"]
    numbers = records.find { |record| record["kind"] == "indirect" }
    assert_equal ["leaky::fill(std::vector<long, std::allocator<long> >*, unsigned long)", %w[memcheck_lose_by_vector memcheck_lose_by_vector_i]],
                 [numbers["function"], numbers["callers"].map { |one| one["function"] }]
  end

  def test_a_leak_in_init
    record = lost_in("", env: { "MEMCHECK_INIT" => "1" }).first
    assert_equal ["Init_heapprof_memcheck", 1], record.values_at("function", "blocks")
    assert_match "require", record["frames"].map { |frame| frame["name"] }.join(" ")
  end

  def test_through_a_call_into_ruby_it_is_who_asked_last
    record = lost_in("def HeapProfMemcheck.back = lose(1000)\nHeapProfMemcheck.lose_through\n").first
    assert_equal ["memcheck_lose", %w[HeapProfMemcheck.lose HeapProfMemcheck.back HeapProfMemcheck.lose_through <main>]],
                 [record["function"], record["frames"].map { |frame| frame["name"] }]
    assert_equal [2, 2, 3, 3], record["frames"].map { |frame| frame["line"] }
  end

  def test_what_ruby_code_in_between_asks_for_is_not_the_extensions
    ran = check("HeapProfMemcheck.lose_after { $kept = Array.new(100) { |i| i.to_s * 100 } }", "--show=all")
    assert_equal [%w[memcheck_lose_after definite]], ran.json["processes"][0]["records"].map { |r| r.values_at("function", "kind") }
  end

  TWO = "require '-test-/heapprof_node'; HeapProfNode.parse(1)\nHeapProfMemcheck.lose(1000)"

  def test_of_two_extensions_each_has_its_own
    lost = ->(records) { records.map { |record| [record["library"], record["blocks"]] }.sort }
    assert_equal [[EXTENSION, 1], ["heapprof_node.so", 1]], lost[lost_in(TWO)]
    assert_equal [["heapprof_node.so", 1]], lost[check(TWO, "--only=heapprof_node").json["processes"][0]["records"]]
  end

  def test_each_process_is_reported
    ran = check("fork { HeapProfMemcheck.lose(1000) }; Process.wait")
    assert_equal [0, 1], ran.json["processes"].map { |process| process["leaks"] }.sort
    ran = check("system(#{RUBY[0].dump}, '--disable-gems', '-e', 'require \"-test-/heapprof_memcheck\"; HeapProfMemcheck.lose(1000)')")
    assert_equal [0, 1], ran.json["processes"].map { |process| process["leaks"] }.sort
  end

  KEPT = "HeapProfMemcheck.keep(1000); HeapProfMemcheck.keep_of_thread(1000); HeapProfMemcheck.keep_specific(1000)\n"

  def test_what_something_leads_to_is_no_leak
    assert_empty lost_in(KEPT, status: 0)
    ran = check(KEPT, "--show=all")
    assert_equal [0, %w[memcheck_keep memcheck_keep_of_thread memcheck_keep_specific]],
                 [ran.status, ran.json["processes"][0]["records"].map { |record| record["function"] if record["kind"] == "reachable" }.sort]
  end

  def test_what_only_its_middle_leads_to_is_possibly_lost
    script = "HeapProfMemcheck.keep_middle(1000)"
    assert_empty lost_in(script, status: 0)
    records = check(script, "--show=possible").json["processes"][0]["records"]
    assert_equal [%w[memcheck_keep_middle possible]], records.map { |record| record.values_at("function", "kind") }
  end

  def test_threads_and_fibers_that_are_left_behind_do_not_hide_what_they_lost_or_kept
    script = <<~RUBY
      threads = Array.new(3) { Thread.new { HeapProfMemcheck.lose(1000); HeapProfMemcheck.keep_of_thread(1000); sleep } }
      Thread.pass until threads.all?(&:stop?)
      FIBER = Fiber.new { HeapProfMemcheck.lose(2000); Fiber.yield }
      FIBER.resume
    RUBY
    records = lost_in(script).select { |record| record["function"] == "memcheck_lose" }
    assert_equal [1, 3], records.map { |record| record["blocks"] }.sort
  end

  # ---- mappings ----

  def test_a_mapping_that_nothing_leads_to_is_lost_and_others_are_not
    ran = check("M = HeapProfMemcheck\nM.lose_mapping(8192)\nM.map(8192)\nM.map_well(8192)\nM.map_again(8192)")
    record, *others = ran.json["processes"][0]["records"]
    assert_empty others
    assert_match(/\Amap\b/, record["function"])
    assert_equal [42, "definite", 1, 8192, 3], [ran.status, *record.values_at("kind", "blocks", "bytes"), record["frames"][0]["line"]]
  end

  # ---- the wrong allocator ----

  TO_LIBC = "memory of xmalloc was given to free or realloc"
  TO_RUBY = "memory of malloc was given to xfree or xrealloc"

  # By script: what is said, who did it, the line of that, who asked for the block (nil: MRI, as far as can be seen), and the line of that.
  MISMATCHED = {
    "M.free_of_ruby" => [TO_LIBC, "memcheck_free_of_ruby", 3, "memcheck_free_of_ruby", 3],
    "M.free_of_mri" => [TO_LIBC, "memcheck_free_of_mri", 3, "memcheck_free_of_mri", 3],
    "M.realloc_of_ruby" => [TO_LIBC, "memcheck_realloc_of_ruby", 3, "memcheck_realloc_of_ruby", 3],
    "M.xfree_of_libc" => [TO_RUBY, "memcheck_xfree_of_libc", 3, "make_block", 3],
    # MRI frees it at the end: there is no Ruby code then
    "KEPT = M.default_free_of_libc" => [TO_RUBY, "make_block", 0, "make_block", 3],
    "KEPT = M.dfree_of_ruby" => [TO_LIBC, "dfree", 0, "memcheck_dfree_of_ruby", 3],
    "KEPT = M.free_is_dfree" => [TO_LIBC, "memcheck_free_is_dfree", 0, "memcheck_free_is_dfree", 3],
    "KEPT = M.dfree_of_made" => [TO_LIBC, "jump_to_free", 0, nil, 3],
    "KEPT = M.zombie_of_made" => [TO_LIBC, "jump_to_free", 0, nil, 3],
    "KEPT = M.untyped_of_made" => [TO_LIBC, "memcheck_untyped_of_made", 0, "memcheck_untyped_of_made", 3],
    "M.dfree_of_ruby; 3.times { GC.start }" => [TO_LIBC, "dfree", 0, "memcheck_dfree_of_ruby", 3],
  }.freeze

  def test_a_block_that_is_given_to_the_wrong_allocator_is_an_error_with_both_lines
    MISMATCHED.each do |script, (what, freed, line, asked, asked_line)|
      ran = check("M = HeapProfMemcheck\n#{script}\n")
      assert_equal [42, 1], [ran.status, ran.json["processes"][0]["errors"]], "#{script} #{ran.err}"
      record, *others = ran.json["processes"][0]["records"]
      assert_empty others, script
      assert_equal ["mismatched_free", what, 1, freed, line, asked_line],
                   [*record.values_at("kind", "what", "times", "function"), record["frames"][0]["line"], record["asked"][0]["line"]], script
      assert_equal asked, record["asked_by"]["function"], script if asked
    end
  end

  def test_a_block_that_is_given_to_its_own_allocator_is_no_error
    ran = check("10.times { HeapProfMemcheck.free_well }\nKEPT = HeapProfMemcheck.free_well\nGC.start")
    assert_equal [0, []], [ran.status, ran.json["processes"][0]["records"]]
  end

  def test_the_report_says_who_freed_it_and_who_asked_for_it
    in_directory do
      ran = memcheck("-o", "report.json", script: "require '-test-/heapprof_memcheck'\n2.times { HeapProfMemcheck.xfree_of_libc }")
      assert_match(/ no leaks; 1 error.*\n\n  mismatched free: #{TO_RUBY}, 2 times\n    memcheck_xfree_of_libc \(#{EXTENSION}\)\n/, ran.out)
      assert_match(/      the block was asked for by make_block \(#{EXTENSION}\):\n        .*script\.rb:2:in 'HeapProfMemcheck\.xfree_of_libc'\n/, ran.out)
    end
  end

  # ---- sizes ----

  # What the type's dsize says of how many objects, and what they hold: 4,096 bytes and the struct, as the allocator rounds them.
  WRONG_SIZES = {
    "little" => [%r{\Aheapprof_sizes/little: it says 160 bytes of 10 objects, and 41\d{3} bytes are theirs alone\z}, "says_struct"],
    "much" => [%r{\Aheapprof_sizes/much: it says 4112 bytes of 1 object, and \d\d bytes are all that can be found\z}, "says_text"],
  }.freeze

  def sizes(kind) = check("KEPT = Array.new(10) { HeapProfSizes.#{kind} }\n", "--sizes")

  def test_a_dsize_that_says_too_little_or_too_much_is_an_error
    WRONG_SIZES.each do |kind, (what, function)|
      ran = sizes(kind)
      assert_equal [42, 1], [ran.status, ran.json["processes"][0]["errors"]], "#{kind} #{ran.err}"
      record, *others = ran.json["processes"][0]["records"]
      assert_empty others, kind
      assert_equal ["wrong_size", 1, function, "heapprof_memcheck.so", 2],
                   [*record.values_at("kind", "times", "function", "library"), record["frames"][0]["line"]]
      assert_match what, record["what"]
    end
  end

  def test_a_dsize_that_is_right_or_leaves_out_what_is_shared_is_none
    %w[right embedded shared cached silent].each do |kind|
      ran = sizes(kind)
      assert_equal [0, []], [ran.status, ran.json["processes"][0]["records"]], kind
    end
  end

  def test_sizes_are_compared_only_if_that_is_asked_for
    assert_equal 0, check("KEPT = HeapProfSizes.little").status
    assert_match(/--sizes works only with --engine=vm/, heapprof("memcheck", "--sizes", "--engine=valgrind", "ruby").err)
  end

  # ---- causes ----

  CALLS = "M = HeapProfMemcheck\nM.lose(1000)\nM.lose(2000)\n3.times { M.lose(10) }\nM.lose_list(3)\n"

  def test_calls_of_one_function_have_one_cause_whatever_line_they_are_on
    process = check(CALLS).json["processes"][0]
    assert_equal [4, 2, 2], [*process.values_at("leaks", "causes"), process["records"].map { |record| record["cause"] }.uniq.size]
    moved = check("\n\n\ndef again = HeapProfMemcheck.lose(1)\nagain").json["processes"][0]["records"][0]
    assert_include process["records"].map { |record| record["cause"] }, moved["cause"]
  end

  def test_only_what_is_not_in_the_baseline_is_shown
    in_directory do
      first = "require '-test-/heapprof_memcheck'\n#{CALLS}"
      assert_equal 0, memcheck("--json", "--write-baseline=known", "-o", "report.json", script: first).status
      assert_equal ["#", "definite memcheck_lose (#{EXTENSION})", "definite memcheck_lose_list (#{EXTENSION})"],
                   File.readlines("known", chomp: true).map { |line| line[/\A#|(?<=\A\h{16} ).*/] }.sort
      assert_equal 0o600, File.stat("known").mode & 0o777
      ran = memcheck("--json", "--baseline=known", "-o", "report.json", script: "\n\n#{first}")
      assert_equal [0, 0, 4], [ran.status, ran.json["processes"][0]["leaks"], ran.json["processes"][0]["not_shown"]["baseline"]]
      ran = memcheck("--json", "--baseline=known", "-o", "report.json", script: "#{first}M.lose_of_ruby(100)")
      assert_equal [42, %w[memcheck_lose_of_ruby]], [ran.status, ran.json["processes"][0]["records"].map { |record| record["function"] }]
      memcheck("--json", "--baseline=known", "--write-baseline=known", "-o", "report.json", script: "#{first}M.lose_of_ruby(100)")
      assert_equal 4, File.readlines("known").size
      File.write("known", "what?\n")
      assert_refused(1, /known: line 1: it does not begin with a number of 16 digits/, "memcheck", "--baseline=known", "true")
      assert_refused(1, /nothing: No such file or directory/, "memcheck", "--baseline=nothing", "true")
    end
  end

  # ---- Valgrind ----

  ALL = <<~RUBY
    require "-test-/heapprof_memcheck"
    M = HeapProfMemcheck
    def M.back = lose(111)
    M.lose(10_001); M.lose_of_ruby(500); M.lose_table; M.lose_list(5); M.lose_ring(4); M.lose_grown(2000); M.lose_freed
    M.lose_by_new(3); M.lose_without_gvl(600); M.lose_in_thread(700); M.lose_after { }; M.lose_through; M.unfreed
    M.keep(1); M.keep_of_thread(2); M.keep_specific(3); M.keep_middle(100)
  RUBY

  def test_valgrind_finds_the_same_blocks
    omit "no valgrind" unless system("valgrind", "--version", out: File::NULL, err: File::NULL)
    in_directory do
      ran = memcheck("--json", "--show=all", "-o", "report.json", script: ALL.dup)
      ours = ran.json["processes"][0]["records"].group_by { |record| record["kind"] }
      ours = %w[definite indirect possible].map { |kind| ours[kind].sum { |record| record["blocks"] } }
      _, err, = Open3.capture3({ "RUBY_FREE_AT_EXIT" => "1" }, "valgrind", "--leak-check=full", "--undef-value-errors=no",
                               *RUBY, "-W0", "script.rb")
      assert_equal %w[definitely indirectly possibly].map { |kind| err[/#{kind} lost: .* in ([\d,]+) blocks/, 1].to_i }, ours, err
    end
  end

  # ---- another allocator ----

  JEMALLOC = Dir["/usr/lib/*/libjemalloc.so.2"].first

  def test_with_jemalloc_leaks_are_found_and_nothing_that_is_none
    omit "no jemalloc" unless JEMALLOC
    in_directory do
      script = "require '-test-/heapprof_memcheck'\nM = HeapProfMemcheck\n3.times { M.lose(1000) }\nM.lose_list(5)\nM.keep(500)\n#{PLAIN}"
      ran = memcheck("--json", "-o", "report.json", script: script, env: { "LD_PRELOAD" => JEMALLOC })
      # jemalloc's own tables lead to where a slab of blocks begins, so one of three may be reachable.
      records = ran.json["processes"][0]["records"].to_h { |record| [record["function"], record["blocks"]] }
      assert_equal %w[memcheck_lose memcheck_lose_list], records.keys.sort
      assert_include [2, 3], records["memcheck_lose"]
    end
  end

  # ---- nothing that is none ----

  PLAIN = <<~RUBY
    KEPT = (1..1000).to_h { |i| [i.to_s * 20, [i, :"symbol_\#{i}", /a\#{i}/, 1.5 * i, 2**100 + i]] }
    Struct.new(:a, :b).new(1, 2)
    Thread.new { Thread.current[:a] = "x" * 1000 }.join
    Fiber.new { Fiber.yield "x" * 1000 }.resume
    Ractor.new { "x" * 1000 }.take
    eval("def evaluated(a, *b, c: 1, **d, &e) = [a, b, c, d, e]")
    ObjectSpace::WeakMap.new[KEPT] = KEPT
    begin; raise "oops"; rescue => $error; end
    GC.start
    GC.compact
    Process.wait(fork { exit!(0) })
    `true`
    $stdout.sync = true
    trap("USR1") { }
    at_exit { KEPT.clear }
  RUBY

  def test_a_program_that_loses_nothing_has_no_leak
    ran = in_directory { memcheck("--json", "--ruby", "-o", "report.json", script: PLAIN.dup) }
    assert_equal [0, []], [ran.status, ran.json["processes"][0]["records"]], ran.err
  end

  EXTENSIONS = %w[
    json digest digest/sha1 digest/md5 digest/sha2 digest/rmd160 digest/bubblebabble socket pathname objspace strscan stringio
    erb/escape monitor etc coverage pty date fiddle cgi/escape openssl zlib fcntl rbconfig/sizeof psych io/console io/wait
    io/nonblock ripper
  ].freeze

  USED = <<~RUBY
    JSON.parse(JSON.generate({ "a" => [1, 2.5, nil, "x" * 100] }))
    Psych.load(Psych.dump({ "a" => [1, { "b" => "c" }] }))
    Digest::SHA256.hexdigest("a"); Digest::MD5.new.update("b"); OpenSSL::Digest.hexdigest("SHA256", "a")
    Zlib.inflate(Zlib.deflate("a" * 100_000)); Zlib.gunzip(Zlib.gzip("b" * 1000))
    Date.parse("2020-01-01").to_s; DateTime.now.iso8601; StringScanner.new("abc").scan(/a/); StringIO.new("abc").read
    Socket.getaddrinfo("localhost", 80); Etc.getpwuid; Ripper.sexp("a = 1 + b"); Pathname("/tmp").exist?
    server = TCPServer.new("127.0.0.1", 0); client = TCPSocket.new("127.0.0.1", server.addr[1]); server.accept.close
    OpenSSL::PKey::RSA.new(1024).to_pem; OpenSSL::SSL::SSLContext.new; OpenSSL::BN.rand(100).to_s
    Fiddle::Function.new(Fiddle.dlopen(nil)["strlen"], [Fiddle::TYPE_VOIDP], Fiddle::TYPE_INT).call("abc")
    ObjectSpace.memsize_of([]); Monitor.new.synchronize { }; Coverage.supported?(:lines); ERB::Escape.html_escape("<a>")
    begin; OpenSSL::PKey.read("no key"); rescue OpenSSL::PKey::PKeyError; end
    begin; Zlib.inflate("no stream"); rescue Zlib::Error; end
    begin; JSON.parse("{"); rescue JSON::ParserError; end
    Process.wait(fork { Digest::MD5.hexdigest("c") })
  RUBY

  def test_the_extensions_of_the_standard_library_lose_nothing
    script = EXTENSIONS.map { |name| "require #{name.dump}\n" }.join
    ran = in_directory { memcheck("--json", "-o", "report.json", script: script + USED) }
    assert_equal [2, [[], []]], [ran.json["processes"].size, ran.json["processes"].map { |process| process["records"] }], ran.err
    assert_equal 0, ran.status, ran.err
  end

  # rbs 3.8.0 forgets the tables of type variables; it comes with MRI's archive.
  def test_the_leak_of_rbs
    extension = Dir[File.join(BUILD, ".bundle/extensions/*/*/rbs-3.8.0")].first
    library = File.join(BUILD, ".bundle/gems/rbs-3.8.0/lib")
    library = Dir[File.join(TOP, "build/src/*/.bundle/gems/rbs-3.8.0/lib")].first unless File.directory?(library)
    assert extension && library, "rbs 3.8.0 is not where the build puts bundled gems: #{BUILD}/.bundle"
    script = "require 'rbs'\n50.times { RBS::Parser.parse_type('Array[String]', variables: [:T]) }\n"
    ran = in_directory { memcheck("--json", "-o", "report.json", script: script, ruby: ["-I#{library}", "-I#{extension}"]) }
    record, *others = ran.json["processes"][0]["records"]
    assert_empty others
    assert_equal ["alloc_empty_table", "rbs_extension.so"], record.values_at("function", "library")
    # In 3 of 3,000 runs one of the 150 was where a block of Ruby's had been, and an old word led to it.
    assert_include [[50, 100], [50, 99]], record.values_at("blocks", "indirect_blocks")
    assert_equal [["RBS::Parser._parse_type", "parser_aux.rb"], ["block in <main>", "script.rb"]],
                 record["frames"].values_at(0, 2).map { |frame| [frame["name"], File.basename(frame["file"])] }
    assert_equal 42, ran.status
  end

  # ---- the command ----

  def test_the_report_for_people
    in_directory do |directory|
      File.write("script.rb", "require '-test-/heapprof_memcheck'\ndef forget = HeapProfMemcheck.lose_list(3)\n2.times { forget }\n")
      ran = heapprof("memcheck", *RUBY, "script.rb")
      path = File.join(File.realpath(directory), "script.rb")
      assert_match(<<~TEXT.gsub(/ +$/, ""), ran.err.gsub(/\(\d+\)/, "(PID)").gsub(/\d+ bytes/, "N bytes").sub(/not shown.*/, "not shown"))
        script.rb (PID): 1 leak, N bytes in 6 blocks; not shown

          definitely lost: N bytes in 2 blocks, which alone lead to N bytes in 4 blocks
            memcheck_lose_list (heapprof_memcheck.so)
                #{path}:2:in 'HeapProfMemcheck.lose_list'
                #{path}:2:in 'Object#forget'
                #{path}:3:in 'block in <main>'
                #{path}:3:in 'Integer#times'
                #{path}:3:in '<main>'

      TEXT
      assert_equal [42, ""], [ran.status, ran.out]
    end
  end

  def test_statuses
    assert_equal [0, 3, 42, 7, 3], [
      check("").status, check("exit 3").status, check("HeapProfMemcheck.lose(9); exit 3").status,
      check("HeapProfMemcheck.lose(9); exit 3", "--exitcode=7").status, check("HeapProfMemcheck.lose(9); exit 3", "--exitcode=0").status
    ]
    assert_refused 127, /no-such-command: No such file or directory/, "memcheck", "no-such-command"
    assert_refused 126, %r{/: Permission denied}, "memcheck", "/"
    assert_refused 2, /--exitcode=256: give at most 255/, "memcheck", "--exitcode=256", "true"
    assert_refused 2, /--timeout=0: give a whole number of 1 or more/, "memcheck", "--timeout=0", "true"
    assert_refused 2, /--show=some: give one of: definite possible all/, "memcheck", "--show=some", "true"
  end

  def test_only_one_library_and_what_is_rubys_own
    script = "HeapProfMemcheck.lose(1000)"
    { "heapprof_memcheck" => 42, EXTENSION => 42, "heapprof_mem" => 1, "libc" => 0, "parser" => 1 }.each do |name, status|
      ran = check(script, "--only=#{name}")
      assert_equal [status, status == 42 ? 0 : 1], [ran.status, ran.json["processes"][0]["not_shown"]["others"]], name
      assert_equal status == 1 ? "heapprof memcheck: --only=#{name}: no process has loaded a library of that name\n" : "", ran.err
    end
    process = check(script, "--ruby", "--show=all").json["processes"][0]
    assert_equal [0, true], [process["not_shown"]["core"], process["records"].any? { |record| record["core"] }]
    assert_operator check(script, "--show=all").json["processes"][0]["not_shown"]["core"], :>=, 1
  end

  # In the child of a fork nobody gives back what the other threads of its parent had from malloc.
  FORGOTTEN = "thread = Thread.new { sleep }; Thread.pass until thread.stop?\nProcess.wait(fork { })"

  def test_core_shows_what_ruby_itself_loses
    shown = ->(ran) { [ran.status, ran.json["processes"].sum { |process| process["leaks"] }] }
    assert_equal [0, 0], shown[check(FORGOTTEN)]
    ran = check(FORGOTTEN, "--ruby")
    record = ran.json["processes"].flat_map { |process| process["records"] }.first
    assert_equal [42, true, "definite", File.basename(RUBY[0]), ["Thread#initialize", 2]],
                 [ran.status, *record.values_at("core", "kind", "library"), record["frames"][0].values_at("name", "line")]
  end

  def test_the_report_as_junit_has_a_test_case_for_each_process
    in_directory do
      File.write("script.rb", "require '-test-/heapprof_memcheck'\nfork { HeapProfMemcheck.lose(1000) }; Process.wait\n")
      assert_equal 42, heapprof("memcheck", "--junit", "-o", "report.xml", *RUBY, "script.rb").status
      report = File.read("report.xml")
      assert_match(/<testsuite [^>]* tests="2" failures="1" errors="0">/, report)
      assert_equal [1, 1], [report.scan('<failure message="1 leak, 0 errors" type="definite">').size, report.scan("<system-out>").size]
    end
  end

  def test_the_report_as_sarif_has_a_result_for_each_leak_and_an_invocation_for_each_process
    in_directory do |directory|
      File.write("script.rb", "require '-test-/heapprof_memcheck'\nfork { HeapProfMemcheck.lose(1000) }; Process.wait\n")
      assert_equal 42, heapprof("memcheck", "--sarif", "-o", "report.sarif", *RUBY, "script.rb").status
      run = JSON.parse(File.read("report.sarif"))["runs"][0]
      assert_equal [true, true], run["invocations"].map { |invocation| invocation["executionSuccessful"] }
      result, *others = run["results"]
      assert_empty others
      place = result["locations"][0]["physicalLocation"]
      assert_equal ["definite", "file://#{File.realpath(directory)}/script.rb", 2],
                   [result["ruleId"], place["artifactLocation"]["uri"], place["region"]["startLine"]]
      assert_match(/\Adefinitely lost: .* in 1 block, asked for by memcheck_lose \(heapprof_memcheck\.so\)\z/, result["message"]["text"])
    end
  end

  def test_what_is_suppressed_is_no_leak
    script = "HeapProfMemcheck.lose(1000); HeapProfMemcheck.lose_of_ruby(1000)"
    in_directory do |directory|
      File.write("script.rb", "require '-test-/heapprof_memcheck'\n#{script}\n")
      ran = heapprof("memcheck", "--gen-suppressions", *RUBY, "script.rb")
      lines = ran.err.scan(/^    suppressed by: (.*)$/).flatten
      assert_equal [42, 2], [ran.status, lines.size]
      { lines[0..0] => [42, 1], lines => [0, 2] }.each do |known, (status, count)|
        File.write("known", known.join("\n"))
        ran = heapprof("memcheck", "--suppressions", "known", *RUBY, "script.rb")
        assert_equal status, ran.status, ran.err
        assert_match(/ #{count} records? suppressed/, ran.err)
      end
      File.write("wrong", "heapprof_memcheck.so\n")
      assert_refused 1, /wrong: line 1: expected LIBRARY FUNCTION/, "memcheck", "--suppressions=wrong", "true"
      assert_refused 1, /none: No such file/, "memcheck", "--suppressions=none", "true"
    end
  end

  # Runs a script that says when it is ready; then the time that it has is over, and with two rings also the time to end.
  def when_time_is_over(directory, script, rings:)
    bell = Held::Bell.new
    Open3.popen3(ENVIRONMENT.merge("TMPDIR" => directory).merge(bell.env), PROGRAM, "memcheck", "--timeout=600", *RUBY, "-e", script,
                 **bell.descriptors) do |_, out, err, process|
      bell.begun
      assert_equal "ready\n", out.gets
      bell.ring(rings)
      bell.close
      return err.read, process.value
    end
  ensure
    bell.close
  end

  def test_where_no_report_can_be_had_it_is_said_in_a_line
    assert_refused 1, /no process of true wrote a report/, "memcheck", "true"
    assert_refused 1, /no process of .* wrote a report/, "memcheck", *RUBY, "-e", "exit!(0)"
    in_directory do |directory|
      err, = when_time_is_over(directory, "puts %(ready); $stdout.flush; sleep", rings: 1)
      assert_match(/was ended after 600 seconds, as --timeout says\n-e \(\d+\): no leaks/, err)
      ran = heapprof("memcheck", "--output=none/report", *RUBY, "-e", "")
      assert_equal [1, "heapprof memcheck: none/report: No such file or directory\n"], [ran.status, ran.err]
    end
  end

  # What ends it, and the exit status or signal that heapprof then ends by.
  ENDS = {
    "Process.kill(:KILL, $$); sleep" => [nil, Signal.list["KILL"]], "Process.setrlimit(:CORE, 0); Process.kill(:ABRT, $$); sleep" => [nil, Signal.list["ABRT"]],
    "exec 'true'" => [1, nil], "exec 'sh', '-c', 'exit 7'" => [7, nil], "exit!(7)" => [7, nil]
  }.freeze

  def test_of_a_process_that_crashes_is_killed_or_execs_it_is_said_in_a_line
    in_directory do |directory|
      ENDS.each do |script, (status, signal)|
        _, err, ended = Open3.capture3(ENVIRONMENT.merge("TMPDIR" => directory), PROGRAM, "memcheck", *RUBY, "-e", script)
        assert_equal [status, signal], [ended.exitstatus, ended.termsig], script
        assert_match(/^heapprof memcheck: no process of \S+ wrote a report: .*$/, err)
        assert_empty Dir.children(directory), script
      end
    end
  end

  def test_one_that_does_not_heed_sigterm_is_killed_and_leaves_nothing
    in_directory do |directory|
      err, ended = when_time_is_over(directory, "trap(:TERM) { }; puts %(ready); $stdout.flush; loop { sleep }", rings: 2)
      assert_equal Signal.list["KILL"], ended.termsig
      assert_equal "heapprof memcheck: #{RUBY[0]}: was ended after 600 seconds, as --timeout says\n", err
      assert_empty Dir.children(directory)
    end
  end

  def test_with_more_blocks_than_memory_to_know_them_it_is_said
    script = "A = Array.new(100_000) { |i| \"%0700d\" % i }"
    ran = heapprof("memcheck", *RUBY, "-e", script, env: { "RUBY_HEAPPROF" => "memory=8m" })
    assert_equal 1, ran.status
    assert_match(/^-e \(\d+\): (not decided|.*\n  nothing is known of [\d,]+ blocks?)/, ran.err)
  end

  def test_settings_of_ones_own_are_kept
    echo = ["sh", "-c", "echo $RUBY_HEAPPROF; exec #{RUBY.join(' ')} -e 0"]
    { nil => "memory=4g,interval=1g,memcheck=1", "1" => "memory=4g,interval=1g,memcheck=1",
      "1,depth=9" => "memory=4g,interval=1g,depth=9,memcheck=1", "depth=9" => "memory=4g,interval=1g,depth=9,memcheck=1" }.each do |before, after|
      assert_match(/\A#{after},out=\S+$/, heapprof("memcheck", *echo, env: { "RUBY_HEAPPROF" => before }).out)
    end
  end

  def test_a_process_that_outlives_its_parent_is_waited_for
    in_directory do |directory|
      outlive = "parent = Process.pid; fork { sleep 0.01 while File.exist?(%(/proc/\#{parent})) }" # it has been waited for, then
      ran = heapprof("memcheck", "--json", *RUBY, "-e", outlive, env: { "TMPDIR" => directory })
      assert_equal [0, 2], [ran.status, JSON.parse(ran.err)["processes"].size]
      assert_empty Dir.children(directory)
    end
  end

  def test_a_report_that_cannot_be_written_is_an_error
    [[], %w[-o -], %w[-o /dev/full]].each do |out|
      command = [PROGRAM, "memcheck", *out, *RUBY, "-e", "0"]
      pid = spawn(*command, err: out.empty? ? :close : File::NULL, out: "/dev/full")
      assert_equal 1, Process.wait2(pid).last.exitstatus, command.inspect
    end
  end

  def test_nothing_is_left_behind
    in_directory do |directory|
      [[*RUBY, "-e", "0"], ["true"], ["no-such-command"], [*RUBY, "-e", "fork { }"]].each do |command|
        heapprof("memcheck", *command, env: { "TMPDIR" => directory })
        assert_empty Dir.children(directory), command.inspect
      end
    end
  end

  private

  # What is lost by a script that has the extension.
  def lost_in(script, status: 42, env: {})
    ran = check(script, env: env)
    assert_equal status, ran.status, ran.err
    ran.json["processes"].flat_map { |process| process["records"] }
  end

  def check(script, *options, env: {})
    in_directory { memcheck("--json", "-o", "report.json", *options, script: "require '-test-/heapprof_memcheck'\n#{script}", env: env) }
  end

  def memcheck(*options, script:, ruby: [], env: {})
    File.write("script.rb", script)
    ran = heapprof("memcheck", *options, *RUBY, "-W0", *ruby, "script.rb", env: env)
    ran.out = File.read("report.json")
    ran
  end
end
