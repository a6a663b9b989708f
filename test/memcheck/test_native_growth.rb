# frozen_string_literal: true
#
# test_native_growth.rb - HeapProfile.native_growth: what extensions hold more of after each run of a block, whether something leads
# to it or not; and the assertions of Minitest and RSpec that are made of it.
#
# ../ext/leak keeps memory, ../ext/memcheck has other ways.

require_relative "../ruby/lib/heapprof_test"

class TestHeapProfNativeGrowth < Test::Unit::TestCase
  include HeapProfTest

  GEMS = File.expand_path("../../build/src/*/.bundle/gems", __dir__)
  PRELUDE = <<~'RUBY'
    require "-test-/heapprof_leak"
    require "-test-/heapprof_memcheck"
    L, M = HeapProfLeak, HeapProfMemcheck
    def grown(**options, &) = HeapProfile.native_growth(**options, &)
    def functions(&) = grown(&).map(&:function)
  RUBY

  def in_growing_child(script, *args, **options) = in_child(PRELUDE + script, *args, **options)

  # By script: C function, library, owner.
  GROWING = {
    "L.keep(1000)" => ["leak_keep", "heapprof_leak.so", "[C] heapprof_leak.so"],
    "($chain ||= L::Chain.new).add(1000)" => ["leak_chain_add", "heapprof_leak.so", "HeapProfLeak::Chain"],
    "($chains ||= []) << L::Chain.new" => ["leak_chain_new", "heapprof_leak.so", "HeapProfLeak::Chain"],
    "L.call" => ["leak_call", "heapprof_leak.so", nil],
    "M.keep(1000)" => ["memcheck_keep", "heapprof_memcheck.so", :any],
    "M.lose(1000)" => ["memcheck_lose", "heapprof_memcheck.so", :any],
    "M.lose_without_gvl(1000)" => ["lose_i", "heapprof_memcheck.so", :any],
    "Thread.new { L.keep(1000) }.join" => ["leak_keep", "heapprof_leak.so", "[C] heapprof_leak.so"]
  }.freeze

  def test_what_grows_is_found_with_its_owner
    in_growing_child(<<~RUBY)
      #{GROWING}.each do |script, (function, library, owner)|
        work = eval("proc { 10.times { \#{script} } }")
        growth, *others = grown(&work)
        assert_empty others.map(&:to_s), script
        assert_equal [function, library], [growth.function, growth.library], script
        assert_equal owner, growth.owner, script unless owner == :any
        assert_equal [3, growth.bytes], [growth.by_run.size, growth.by_run.sum], script
        assert_predicate growth, :frozen?
        refute_predicate HeapProfile, :running?
      end
    RUBY
  end

  # ---- other things than memory of malloc ----

  def test_registered_addresses_that_grow_are_found_at_their_line
    in_file(<<~'RUBY', "-test-/heapprof_memcheck")
      GROWN = ObjectSpace::HeapProfile.native_growth { 5.times { HeapProfMemcheck.register_address } }
      growth, *others = GROWN.select { |one| one.kind == :registered_addresses }
      assert_empty others
      assert_equal ["memcheck_register_address", 1], [growth.function, growth.backtrace[0][/:(\d+):/, 1].to_i]
      growth.by_run.each { |bytes| assert_operator bytes, :>=, 5 * 2 * 8 } # two words for each
      assert_match(/\Agrows: \d+ bytes in 3 runs \(.*\); addresses that rb_gc_unregister_address was not called for\n/, growth.to_s)
      assert_empty ObjectSpace::HeapProfile.native_growth { 5.times { HeapProfMemcheck.register_well } }.map(&:to_s)
    RUBY
  end

  def test_descriptors_that_no_object_has_are_found
    in_growing_child(<<~'RUBY')
      growth, *others = grown { 2.times { M.open("/dev/zero") } }
      assert_empty others.map(&:to_s)
      assert_equal [:file_descriptors, [2, 2, 2], ["/dev/zero"], 0], [growth.kind, growth.by_run, growth.names, growth.bytes]
      assert_equal "grows: 6 file descriptors in 3 runs (2, 2, 2); no IO or Dir has them\n  /dev/zero", growth.to_s
      $kept = []
      assert_empty(grown { $kept << File.open("/dev/zero") << Dir.open("/") << IO.pipe << IO.popen("true") }.map(&:to_s))
      assert_empty(grown { M.open_well("/dev/zero") }.map(&:to_s))
    RUBY
  end

  def test_mappings_that_grow_are_found
    in_growing_child(<<~'RUBY')
      { "M.map(8192)" => 8192, "M.map_file('/etc/passwd')" => 1, "M.lose_mapping(8192)" => 8192 }.each do |script, bytes|
        growth = grown { eval(script) }.find { |one| one.function.start_with?("map") }
        assert_equal [bytes] * 3, growth&.by_run, script
      end
      growth = grown { M.map_again(8192) }.find { |one| one.bytes >= 3 * 16384 }
      assert_equal "memcheck_map_again", growth&.function
      assert_empty(grown { M.map_well(8192) }.map(&:to_s))
    RUBY
  end

  # ---- the text ----

  def test_the_line_the_bytes_and_the_text
    in_file(<<~'RUBY', "-test-/heapprof_leak")
      def careless = HeapProfLeak.keep(4000)
      GROWTH, = ObjectSpace::HeapProfile.native_growth(times: 2) { 5.times { careless } }
      path = File.expand_path(__FILE__)
      assert_equal ["#{path}:1:in 'HeapProfLeak.keep'", "#{path}:1:in 'Object#careless'"], GROWTH.backtrace.first(2)
      assert_equal 2, GROWTH.by_run.size
      GROWTH.by_run.each { |bytes| assert_include 5 * 4016..5 * 4100, bytes }
      amount = "#{GROWTH.bytes} bytes in 2 runs (#{GROWTH.by_run.join(", ")})"
      assert_operator GROWTH.to_s, :start_with?, <<~TEXT
        grows: #{amount}; held by [C] heapprof_leak.so
          leak_keep (heapprof_leak.so)
              #{path}:1:in 'HeapProfLeak.keep'
              #{path}:1:in 'Object#careless'
      TEXT
      assert_equal "#<ObjectSpace::HeapProfile::NativeGrowth #{amount}, leak_keep (heapprof_leak.so)>", GROWTH.inspect
    RUBY
  end

  def test_what_grows_most_comes_first
    in_growing_child('assert_equal %w[leak_call leak_keep], functions { L.keep(10); L.call }')
  end

  def test_the_profiler_is_started_and_stopped
    in_growing_child(<<~'RUBY')
      runs = 0
      assert_empty grown(times: 5) { runs += 1 }
      assert_equal 6, runs
      assert_raise_with_message(ArgumentError, /a block is needed/) { HeapProfile.native_growth }
      [1, 0, -1, 101, nil, 2.5, "3"].each { |times| assert_raise_with_message(ArgumentError, /out of range/) { grown(times: times) { flunk } } }
      assert_raise(ZeroDivisionError) { grown { 1 / 0 } }
      refute HeapProfile.running?
      assert_equal 4, grown { break 4 }
      refute HeapProfile.running?
      assert_raise_with_message(RuntimeError, "the heap profiler is running already") { grown { grown { flunk } } }
      refute HeapProfile.running?
      assert_raise_with_message(RuntimeError, /not running/) { grown { HeapProfile.stop } }
      HeapProfile.start
      assert_raise_with_message(RuntimeError, "the heap profiler is running already") { grown { flunk } }
      assert HeapProfile.running?
    RUBY
  end

  # ---- nothing that does not grow ----

  def test_what_is_filled_once_does_not_grow
    in_growing_child(<<~'RUBY')
      once = 0
      assert_empty(grown do
        L.keep(1000) if (once += 1) <= 2
        L::Chain.new.add(100_000)
        10.times { M.keep_on_stack(1000) {} }
      end.map(&:to_s))
    RUBY
  end

  def test_what_ruby_keeps_is_no_native_growth
    in_growing_child(<<~'RUBY')
      $kept = []
      number = 0
      assert_empty(grown do
        $kept << "x" * 10_000 << Array.new(1000) << { number => "y" * 1000 }
        eval("def made_#{number += 1}; 1; end; class Made#{number}; attr_reader :a; end")
        "symbol_#{number}".to_sym.to_proc
        $kept << Thread.new {}.join << Fiber.new { Fiber.yield }.tap(&:resume)
        Regexp.new("a{#{number}}") =~ "aaa"
        GC.compact
      end.map(&:to_s))
    RUBY
  end

  # What some extensions of the standard library are for.
  CALLS = {
    "date" => 'Date.parse("2026-11-23").strftime("%F"); DateTime.now.iso8601',
    "strscan" => 's = StringScanner.new("test 1"); s.scan(/\w+/)',
    "json" => 'JSON.parse(JSON.generate([1, 2.5, nil, "x"] * 50)); (JSON.parse("[1,") rescue 0)',
    "zlib" => 'Zlib.inflate(Zlib.deflate("x" * 100_000)); (Zlib.inflate("zz") rescue 0)',
    "openssl" => 'OpenSSL::Digest::SHA256.hexdigest("x"); OpenSSL::HMAC.hexdigest("SHA1", "k", "d"); OpenSSL::SSL::SSLContext.new',
    "psych" => 'Psych.load(Psych.dump("a" => [1, { "c" => nil }])); (Psych.load("a: [") rescue 0)',
    "socket" => 's = TCPServer.new("127.0.0.1", 0); c = TCPSocket.new("127.0.0.1", s.addr[1]); s.accept.close; c.close; s.close',
    "digest/sha2" => 'Digest::MD5.hexdigest("x"); Digest::SHA512.new.update("x").hexdigest',
    "ripper" => 'Ripper.sexp("def a; 1; end")'
  }.freeze

  def test_the_extensions_of_the_standard_library_do_not_grow
    CALLS.each do |library, calls|
      in_child("assert_empty HeapProfile.native_growth { #{calls} }.map(&:to_s), #{library.dump}", "-r#{library}", "-rdigest")
    end
  end

  def test_under_heapprof_memcheck
    in_directory do |directory|
      ran = run_ruby("-r-test-/heapprof_leak", "-e", <<~'RUBY', heapprof: "memcheck=1,out=#{directory}/all-%p.pb.gz")
        2.times { puts ObjectSpace::HeapProfile.native_growth { HeapProfLeak.keep(1000) }.map(&:function) }
        p ObjectSpace::HeapProfile.native_growth { HeapProfLeak::Chain.new }, ObjectSpace::HeapProfile.running?
      RUBY
      assert_clean ran, out: "leak_keep\nleak_keep\n[]\ntrue\n"
    end
  end

  # ---- in tests ----

  MINITEST = Dir["#{GEMS}/minitest-*/lib"]
  RSPEC = Dir["/usr/share/rubygems-integration/all/gems/{rspec-{core,support,expectations,mocks},diff-lcs}-*/lib"]

  MESSAGE = <<~'TEXT'
    1 place where native memory grows, \d+ bytes

      grows: \d+ bytes in 3 runs \(\d+, \d+, \d+\); held by \[C\] heapprof_leak.so
        leak_keep \(heapprof_leak.so\)
            .*%s:\d:in 'HeapProfLeak.keep'
  TEXT

  def test_minitest
    ran = run_with(MINITEST, "it.rb", <<~'RUBY')
      require "minitest/autorun"
      require "heapprof/minitest"
      class GrowthTest < Minitest::Test
        def test_bad = assert_no_native_growth("so it is") { 20.times { HeapProfLeak.keep(3) } }
        def test_good = assert_no_native_growth(times: 2) { HeapProfLeak::Chain.new.add(3) }
      end
    RUBY
    assert_match(/2 runs, 2 assertions, 1 failures, 0 errors/, ran.out)
    assert_match(/GrowthTest#test_bad .*:\nso it is.\n#{format(MESSAGE, "it.rb")}/, ran.out)
  end

  def test_rspec
    ran = run_with(RSPEC, "it_spec.rb", <<~'RUBY')
      require "rspec/autorun"
      require "heapprof/rspec"
      RSpec.describe HeapProfLeak do
        it("good") { expect { HeapProfLeak::Chain.new.add(3) }.not_to grow_natively(times: 2) }
        it("bad") { expect { HeapProfLeak.keep(3) }.not_to grow_natively }
        it("grows") { expect { HeapProfLeak.keep(3) }.to grow_natively }
        it("does not") { expect { HeapProfLeak::Chain.new }.to grow_natively }
      end
    RUBY
    assert_match(/4 examples, 2 failures/, ran.out)
    message = "expected that no native memory grows: #{format(MESSAGE, "it_spec.rb")}"
    assert_match(/#{message}/, ran.out.gsub(/^       /, ""))
    assert_match(/expected that native memory grows, and it does not/, ran.out)
  end

  private

  def run_with(libraries, name, script)
    omit "its library is not here" if libraries.empty?
    in_directory do
      write_file(name, script)
      ran = run_ruby("--disable-gems", *libraries.map { |library| "-I#{library}" }, "-r-test-/heapprof_leak", name)
      assert_empty ran.err
      ran
    end
  end
end
