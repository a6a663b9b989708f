# frozen_string_literal: true
#
# test_native_leaks.rb - HeapProfile.native_leaks: what a block has had extensions lose, in a process that goes on; and the assertions of
# Minitest and RSpec that are made of it.
#
# The extension that loses memory is ../ext/memcheck.

require_relative "../ruby/lib/heapprof_test"

class TestHeapProfNativeLeaks < Test::Unit::TestCase
  include HeapProfTest

  GEMS = File.expand_path("../../build/src/*/.bundle/gems", __dir__)
  PRELUDE = <<~'RUBY'
    require "-test-/heapprof_memcheck"
    M = HeapProfMemcheck
    def lost(&) = ObjectSpace::HeapProfile.native_leaks(&)
    def functions(&) = lost(&).map(&:function)
  RUBY

  def in_leaking_child(script, *args, **options) = in_child(PRELUDE + script, *args, **options)

  # By script: blocks with what they lead to, C function.
  LOST = {
    "M.lose(1000)" => [1, "memcheck_lose"],
    "M.lose_of_ruby(1000)" => [1, "memcheck_lose_of_ruby"],
    "M.lose_table" => [3, "memcheck_lose_table"],
    "M.lose_list(5)" => [5, "memcheck_lose_list"],
    "M.lose_ring(5)" => [5, "memcheck_lose_ring"],
    "M.lose_grown(1000)" => [1, "memcheck_lose_grown"],
    "M.lose_freed" => [1, "memcheck_lose_freed"],
    "M.lose_by_new(3)" => [4, "memcheck_lose_by_new"],
    "M.lose_after { 1 }" => [1, "memcheck_lose_after"],
    "M.unfreed" => [1, "memcheck_unfreed"],
    "M.shallow" => [1, "memcheck_shallow"],
    "M.lose_without_gvl(1000)" => [1, "lose_i"],
    "M.lose_in_thread(1000)" => [1, "lose_i"],
    "Thread.new { M.lose(1000) }.join" => [1, "memcheck_lose"],
    "Fiber.new { M.lose(1000) }.resume" => [1, "memcheck_lose"],
    "begin; M.lose(1000); raise 'oops'; rescue; end" => [1, "memcheck_lose"]
  }.freeze
  TIMES = 20
  AT_LEAST = 5 # old words may hold some

  def test_each_way_to_lose_memory_is_found_and_no_more_than_was_lost
    in_leaking_child(<<~RUBY)
      #{LOST}.each do |script, (blocks, function)|
        work = eval("proc { #{TIMES}.times { \#{script} } }")
        leaks = lost(&work)
        assert_equal [function, "heapprof_memcheck.so"], leaks.map { |leak| [leak.function, leak.library] }.flatten, script
        assert_includes #{AT_LEAST} * blocks..#{TIMES} * blocks, leaks[0].blocks + leaks[0].indirect_blocks, script
        assert_operator leaks[0].bytes + leaks[0].indirect_bytes, :>=, 100 * #{AT_LEAST}, script
        refute HeapProfile.running?
      end
    RUBY
  end

  def test_the_line_of_ruby_is_the_one_that_lost_it
    in_file(<<~'RUBY', "-test-/heapprof_memcheck")
      def careless = HeapProfMemcheck.lose(1000)
      LEAK, = ObjectSpace::HeapProfile.native_leaks { 20.times { careless } }
      def all_lose = HeapProfMemcheck.lose_list(3)
      LIST, = ObjectSpace::HeapProfile.native_leaks { 20.times { all_lose } }
      path = File.expand_path(__FILE__)
      abort LEAK.backtrace.inspect unless LEAK.backtrace.first(3) == [
        "#{path}:1:in 'HeapProfMemcheck.lose'", "#{path}:1:in 'Object#careless'", "#{path}:2:in 'block (2 levels) in <top (required)>'"
      ]
      abort LEAK.to_s unless LEAK.to_s.start_with?(<<~TEXT)
        definitely lost: #{LEAK.bytes} bytes in #{LEAK.blocks} blocks
          memcheck_lose (heapprof_memcheck.so)
              #{path}:1:in 'HeapProfMemcheck.lose'
              #{path}:1:in 'Object#careless'
      TEXT
      abort LIST.to_s unless LIST.to_s.match?(/\Adefinitely lost: \d+ bytes in \d+ blocks, which alone lead to \d+ bytes in \d+ blocks\n/)
      abort LEAK.inspect unless LEAK.inspect == "#<ObjectSpace::HeapProfile::NativeLeak #{LEAK.bytes} bytes in #{LEAK.blocks} blocks, memcheck_lose (heapprof_memcheck.so)>"
      abort LEAK.bytes.to_s unless LEAK.frozen? && (1000..1016).cover?(LEAK.bytes / LEAK.blocks)
    RUBY
  end

  def test_a_path_may_be_of_any_bytes
    in_leaking_child(<<~'RUBY')
      path = "a \xff\n.rb"
      require "heapprof/native_leaks"
      leaks = lost { eval("20.times { M.lose(1000) }", nil, path, 7) }
      assert_equal ["#{path}:7:in 'HeapProfMemcheck.lose'"], leaks.map { |leak| leak.backtrace.first }
      assert_include Heapprof::NativeLeaks.describe(leaks), leaks[0].backtrace[1].lines.last
    RUBY
  end

  def test_what_loses_most_comes_first
    in_leaking_child('assert_equal %w[memcheck_lose memcheck_lose_ring], functions { 20.times { M.lose_ring(5); M.lose(5000) } }')
  end

  # rbs 3.8.0 forgets the tables of type variables; it comes with MRI's archive.
  def test_the_leak_of_rbs
    build = File.join(File.dirname(EnvUtil.rubybin), ".bundle")
    paths = [*Dir["#{build}/extensions/*/*/rbs-3.8.0"], *Dir["{#{build}/gems,#{GEMS}}/rbs-3.8.0/lib"].first]
    assert_equal 2, paths.size, "rbs 3.8.0 is not where the build puts bundled gems"
    in_child(<<~'RUBY', "-rrbs", *paths.map { |path| "-I#{path}" })
      leak, *others = HeapProfile.native_leaks { 20.times { RBS::Parser.parse_type("Array[String]", variables: [:T]) } }
      assert_empty others
      assert_equal ["alloc_empty_table", "rbs_extension.so"], [leak.function, leak.library]
      assert_match(/parser_aux\.rb:\d+:in 'RBS::Parser\._parse_type'\z/, leak.backtrace.first)
    RUBY
  end

  # ---- nothing that is none ----

  def test_what_something_leads_to_is_not_lost
    in_leaking_child(<<~'RUBY')
      $kept = []
      assert_empty(lost do
        M.keep(1000)
        M.keep_of_thread(1000)
        M.keep_specific(1000)
        M.keep_middle(1000)
        $kept << M.unfreed << M.shallow # for as long as the object is there
        $kept << ("x" * 10_000) << { 1 => "y" * 1000 } << Array.new(1000) << Struct.new(*("a".."z").map(&:to_sym)).new
        eval("def made_here; 1; end; class Made; attr_reader :a; end")
        1000.times { |i| "symbol_#{i}".to_sym.to_proc }
        GC.compact
      end)
      assert_equal %w[memcheck_shallow memcheck_unfreed], functions { 10.times { M.unfreed; M.shallow } }.sort
    RUBY
  end

  def test_what_lies_on_a_stack_is_not_lost
    in_leaking_child(<<~'RUBY')
      def keeping = M.keep_on_stack(1000) { M.keep_of_thread(1000); M.keep_specific(1000); yield }
      waiting = []
      wait = -> { waiting << Thread.current; sleep }
      started = ->(thread) { Thread.pass until waiting.include?(thread) && thread.stop? }
      assert_empty lost { waiting << Fiber.new { keeping { Fiber.yield } }.tap(&:resume) }
      assert_empty lost { started.(Thread.new { keeping(&wait) }) }
      assert_empty lost { started.(Thread.new { Fiber.new { keeping(&wait) }.resume }) }
      assert_empty lost { started.(Thread.new { keeping { Fiber.new(&wait).resume } }) }
      assert_empty Thread.new { lost { started.(Thread.new { keeping(&wait) }) } }.value
    RUBY
  end

  def test_what_the_callers_own_frames_lead_to_is_not_lost
    in_leaking_child(<<~'RUBY')
      # The frame has the block before native_leaks begins, which then makes it longer.
      def around = M.grow_on_stack(1000) { |grow| yield lost(&grow) }
      [->(work) { work.call }, ->(work) { Fiber.new(&work).resume }, ->(work) { Thread.new(&work).value },
       ->(work) { Thread.new { Fiber.new(&work).resume }.value }].each do |where|
        told = nil
        where.call(-> { around { |leaks| told = leaks } })
        assert_empty told
      end
      told = nil
      M.grow_on_stack(1000) { |grow| Fiber.new { told = lost(&grow) }.resume }
      assert_empty told
    RUBY
  end

  def test_what_was_lost_before_is_not_the_blocks
    in_leaking_child(<<~'RUBY')
      10.times { M.lose(1000) }
      assert_empty lost { M.keep(10) }
      assert_equal ["memcheck_lose_ring"], functions { 20.times { M.lose_ring(5) } }
      assert_empty lost { }
    RUBY
  end

  # What each extension of the standard library is for, once before all is warm, and once more.
  CALLS = {
    "date" => 'Date.parse("2026-11-23").strftime("%F"); Date._parse("3rd Feb 2001"); DateTime.now.iso8601',
    "stringio" => 'StringIO.new("a\nb").gets; StringIO.new.puts("x" * 1000)',
    "strscan" => 's = StringScanner.new("test 1"); s.scan(/\w+/); s.scan_until(/(?<n>\d)/); s.named_captures',
    "json" => 'JSON.parse(JSON.generate([1, 2.5, nil, "x"] * 50)); (JSON.parse("[1,") rescue 0)',
    "zlib" => 'Zlib.inflate(Zlib.deflate("x" * 100_000)); (Zlib.inflate("zz") rescue 0); $kept = Zlib::Deflate.new.tap { _1 << "x" }',
    "openssl" => 'OpenSSL::Digest::SHA256.hexdigest("x"); OpenSSL::HMAC.hexdigest("SHA1", "k", "d"); OpenSSL::PKey::RSA.new(1024).to_pem;' \
                 'c = OpenSSL::Cipher.new("aes-256-cbc").encrypt; c.random_key; c.update("data") << c.final;' \
                 'OpenSSL::SSL::SSLContext.new; (OpenSSL::PKey.read("x") rescue 0); OpenSSL::X509::Name.parse("CN=a").to_s',
    "psych" => 'Psych.load(Psych.dump("a" => [1, { "c" => nil }])); (Psych.load("a: [") rescue 0)',
    "socket" => 's = TCPServer.new("127.0.0.1", 0); c = TCPSocket.new("127.0.0.1", s.addr[1]); s.accept.close; c.close; s.close;' \
                'Addrinfo.tcp("localhost", 80); Socket.getifaddrs; UNIXSocket.pair.each(&:close)',
    "digest/sha2" => 'Digest::MD5.hexdigest("x"); Digest::SHA512.new.update("x").hexdigest',
    "etc" => 'Etc.getlogin; Etc.getpwuid; Etc.getgrgid(0); Etc.uname',
    "pty" => 'PTY.open { }',
    "monitor" => 'Monitor.new.synchronize { }; Monitor.new.new_cond',
    "objspace" => 'ObjectSpace.trace_object_allocations { Object.new }; ObjectSpace.dump("x"); ObjectSpace.count_nodes',
    "ripper" => %q|Ripper.sexp("def a; 'x'; end"); Ripper.lex("a = <<X\nq\nX\n"); Ripper.sexp("def (")|,
    "cgi/escape" => 'CGI.escapeHTML("<a>" * 100); ERB::Escape.html_escape("<a>" * 100)',
    "fiddle" => 'Fiddle::Function.new(Fiddle::Handle::DEFAULT["strlen"], [Fiddle::TYPE_VOIDP], Fiddle::TYPE_INT).call("abc");' \
                '$kept = [Fiddle::Pointer.malloc(100, Fiddle::RUBY_FREE), Fiddle::Closure::BlockCaller.new(Fiddle::TYPE_INT, []) { 1 }]',
    "coverage" => 'Coverage.start; Coverage.result',
    "tempfile" => 'Tempfile.create("x") { |file| file.write "a" }; $kept = Tempfile.new("y")',
    "open3" => 'Open3.capture2("cat", stdin_data: "x"); Marshal.load(Marshal.dump([1, {}])); Enumerator.new { |y| y << 1; y << 2 }.next;' \
               '"é".encode("UTF-16").encode("EUC-JP"); RubyVM::InstructionSequence.compile("a = 1").to_binary; Random.bytes(4)'
  }.freeze

  def test_the_extensions_of_the_standard_library_lose_nothing
    CALLS.each do |library, calls|
      in_child(<<~RUBY, "-r#{library}", "-rerb/escape", "-rdigest")
        work = eval(#{"proc { #{calls} }".dump})
        first, again = HeapProfile.native_leaks(&work), HeapProfile.native_leaks { 3.times(&work) }
        assert_empty first.map(&:to_s), #{library.dump}
        assert_empty again.map(&:to_s), #{library.dump}
      RUBY
    end
  end

  def test_a_library_that_is_loaded_in_the_block_loses_nothing
    in_child('assert_empty HeapProfile.native_leaks { require "openssl"; require "psych"; require "socket"; require "ripper" }.map(&:to_s)')
  end

  # ---- the process goes on as it was ----

  def test_the_profiler_is_started_and_stopped
    in_leaking_child(<<~'RUBY')
      assert_raise(ArgumentError) { HeapProfile.native_leaks }
      assert_raise(ZeroDivisionError) { lost { 1 / 0 } }
      refute HeapProfile.running?
      assert_equal 3, catch(:out) { lost { throw :out, 3 } }
      assert_equal 4, lost { break 4 }
      refute HeapProfile.running?
      assert_raise_with_message(RuntimeError, "the heap profiler is running already") { lost { lost { flunk } } }
      refute HeapProfile.running?
      HeapProfile.start(interval: 1)
      assert_raise_with_message(RuntimeError, "the heap profiler is running already") { lost { flunk } }
      assert_equal 1, HeapProfile.stat(:interval_bytes)
      HeapProfile.stop
      error = assert_raise(RuntimeError) { lost { HeapProfile.stop } }
      assert_equal "native leaks cannot be told: the heap profiler was stopped in the block", error.message
      assert_equal ["memcheck_lose"], functions { 20.times { M.lose(1000) } }
    RUBY
  end

  def test_the_child_runs_no_ruby_code_and_writes_to_nobody
    in_directory do |directory|
      ran = run_ruby("-r-test-/heapprof_memcheck", "-e", <<~'RUBY', directory)
        at_exit { print "at_exit " }
        ObjectSpace.define_finalizer($object = Object.new, proc { print "finalizer " })
        file = File.open(File.join(ARGV[0], "file"), "w")
        file.write("unwritten")
        $stdout.print "once "
        pipe, out = IO.pipe
        trap("CHLD") { }
        p ObjectSpace::HeapProfile.native_leaks { 20.times { HeapProfMemcheck.lose(1000) } }.size
        p File.size(file), $?
        out.write "x" # the pipe is as open as it was
        p pipe.readpartial(9), Process.waitall
      RUBY
      assert_clean ran, out: "once 1\n0\nnil\n\"x\"\n[]\nat_exit finalizer "
    end
  end

  def test_fork_in_the_block
    in_leaking_child(<<~'RUBY')
      assert_equal ["memcheck_lose"], functions { 20.times { M.lose(1000) }; Process.wait(fork { M.lose_list(10) }) }
      assert_predicate $?, :success?
    RUBY
  end

  def test_other_ractors_are_refused
    in_leaking_child(<<~'RUBY', "-W0")
      words = "native leaks cannot be told while there are other Ractors"
      ractor = nil
      assert_raise_with_message(RuntimeError, words) { lost { ractor = Ractor.new { receive } } }
      assert_raise_with_message(RuntimeError, words) { lost { flunk } }
      assert_match words, Ractor.new { ObjectSpace::HeapProfile.native_leaks { } rescue $!.message }.take
      ractor.send(1).take
    RUBY
  end

  def test_under_gc_stress_and_with_yjit
    in_leaking_child(<<~'RUBY')
      assert_equal ["memcheck_lose"], functions { GC.stress = true; 20.times { M.lose(1000) }; String.new("x"); GC.stress = false }
    RUBY
    in_leaking_child(<<~'RUBY', "--yjit-call-threshold=2") if defined?(RubyVM::YJIT)
      def careless = M.lose(1000)
      assert_equal ["memcheck_lose"], functions { 100.times { careless } }
      assert_empty lost { 100.times { String.new("x") } }
    RUBY
  end

  def test_while_other_threads_run
    in_leaking_child(<<~'RUBY')
      threads = Array.new(3) { Thread.new { loop { String.new("x"); Thread.pass } } }
      5.times { assert_equal ["memcheck_lose_list"], functions { 20.times { M.lose_list(3) } } }
      5.times { assert_empty lost { Array.new(1000) } }
      assert(threads.all?(&:alive?))
    RUBY
  end

  # What it tells is told at the end, too; what was lost before it is not its.
  def test_under_heapprof_memcheck
    in_directory do |directory|
      ran = run_ruby("-r-test-/heapprof_memcheck", "-e", <<~'RUBY', heapprof: "memcheck=1,out=#{directory}/all-%p.pb.gz")
        10.times { HeapProfMemcheck.lose_ring(5) }
        puts ObjectSpace::HeapProfile.native_leaks { 20.times { HeapProfMemcheck.lose(1000) } }.map(&:function)
        p ObjectSpace::HeapProfile.running?
      RUBY
      assert_clean ran, out: "memcheck_lose\ntrue\n"
      file, = files = Dir["#{directory}/all-*.pb.gz"]
      assert_equal 1, files.size
      assert_equal %w[memcheck_lose memcheck_lose_ring], pprof("-tags", "-tagfocus=of=extension", file).scan(/(memcheck_\w+) /).flatten.uniq.sort
    end
  end

  # ---- where it cannot be told ----

  def test_a_child_that_fails_is_told
    in_leaking_child(<<~'RUBY')
      $kept = M.unfreeable
      error = assert_raise(RuntimeError) { lost { M.lose(1000) } }
      assert_match(/\Anative leaks cannot be told: the child that was to find out has failed \(pid \d+ SIGABRT/, error.message)
      refute HeapProfile.running?
    RUBY
  end

  # ---- in tests ----

  MINITEST = Dir["#{GEMS}/minitest-*/lib"]
  RSPEC = Dir["/usr/share/rubygems-integration/all/gems/{rspec-{core,support,expectations,mocks},diff-lcs}-*/lib"]

  MESSAGE = <<~'TEXT'
    1 leak, \d+ bytes in \d+ blocks

      definitely lost: \d+ bytes in \d+ blocks, which alone lead to \d+ bytes in \d+ blocks
        memcheck_lose_list \(heapprof_memcheck.so\)
            .*%s:\d:in 'HeapProfMemcheck.lose_list'
            .*%s:\d:in '.*'
  TEXT

  def test_minitest
    ran = run_with(MINITEST, "it.rb", <<~'RUBY')
      require "minitest/autorun"
      require "heapprof/minitest"
      class LeakTest < Minitest::Test
        def test_bad = assert_no_native_leak("so it is") { 20.times { HeapProfMemcheck.lose_list(3) } }
        def test_good = assert_no_native_leak { HeapProfMemcheck.keep(3) }
        def test_error = assert_no_native_leak { raise "oops" }
      end
    RUBY
    assert_match(/3 runs, 2 assertions, 1 failures, 1 errors/, ran.out)
    assert_match(/LeakTest#test_bad .*:\nso it is.\n#{format(MESSAGE, "it.rb", "it.rb")}/, ran.out)
    assert_match(/LeakTest#test_error:\nRuntimeError: oops/, ran.out)
  end

  def test_rspec
    ran = run_with(RSPEC, "it_spec.rb", <<~'RUBY')
      require "rspec/autorun"
      require "heapprof/rspec"
      RSpec.describe HeapProfMemcheck do
        it("good") { expect { HeapProfMemcheck.keep(3) }.not_to leak_natively }
        it("bad") { expect { 20.times { HeapProfMemcheck.lose_list(3) } }.not_to leak_natively }
        it("leaks") { expect { 20.times { HeapProfMemcheck.lose(3) } }.to leak_natively }
        it("keeps") { expect { HeapProfMemcheck.keep(3) }.to leak_natively }
      end
    RUBY
    assert_match(/4 examples, 2 failures/, ran.out)
    message = "expected that extensions lose no memory: #{format(MESSAGE, "it_spec.rb", "it_spec.rb")}"
    assert_match(/#{message}/, ran.out.gsub(/^       /, ""))
    assert_match(/expected that extensions lose memory, and they have lost none/, ran.out)
  end

  private

  def run_with(libraries, name, script)
    omit "its library is not here" if libraries.empty?
    in_directory do
      write_file(name, script)
      ran = run_ruby("--disable-gems", *libraries.map { |library| "-I#{library}" }, "-r-test-/heapprof_memcheck", name)
      assert_empty ran.err
      ran
    end
  end
end
