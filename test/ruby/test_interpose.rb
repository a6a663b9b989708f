# frozen_string_literal: true

# test_interpose.rb - malloc=all: what extensions and libraries ask of the C library is found, and
# exact at interval 1; under each allocator, in threads, after a fork; and stop puts back what it was.

require_relative "lib/heapprof_test"
require_relative "lib/block_cases"

class TestHeapProfInterpose < Test::Unit::TestCase
  include HeapProfTest
  include HeapProfBlockCases
  extend HeapProfAllocators::Cases

  SETUP = <<~RUBY
    require #{File.join(__dir__, "lib/blocks").dump}
    require "-test-/heapprof_blocks"
    require "-test-/heapprof_leak"
    require "-test-/heapprof_node"
    require "-test-/heapprof_plain"
    Blocks = HeapProfBlocks
    Asked = Plain = HeapProfPlain
    FUNCTIONS = %w[malloc calloc posix_memalign aligned_alloc memalign].freeze

    def start(**options) = HeapProfile.start(interval: 1 << 30, malloc_interval: 1, malloc: :all, **options)
  RUBY

  # ---- what is seen ----

  def test_what_libc_asks_for_is_its_callers
    in_child(SETUP + <<~'RUBY')
      start
      def copied = Plain.strdup("x" * 1000)
      block = copied
      assert_equal Plain.bytes(block), in_use(:copied, /\Aplain_strdup \(heapprof_plain\.so\)\z/)
      Plain.free(block)
      assert_equal 0, in_use(:copied, /plain_strdup/)
    RUBY
  end

  def test_what_cxxs_new_asks_for_is_its_callers
    in_directory do |directory|
      source = write_file("grow.cc", 'extern "C" void *grow(long bytes) { return new char[bytes]; }')
      library = File.join(directory, "grow.so")
      out, status = Open3.capture2e("g++", "-shared", "-fPIC", "-g", "-o", library, source)
      assert status.success?, out
      in_child(SETUP + <<~RUBY)
        start
        handle = Plain.load(#{library.dump})
        def grown(handle) = Plain.call(handle, "grow", 1_000_000)
        grown(handle)
        assert_operator in_use(:grown, /\\Agrow \\(grow\\.so\\)\\z/), :>=, 1_000_000
      RUBY
    end
  rescue Errno::ENOENT
    flunk "g++ not found: install the Debian package g++"
  end

  def test_realloc_of_nothing_asks_and_to_nothing_frees
    in_child(SETUP + <<~'RUBY')
      start
      def asked = Plain.realloc(nil, 1000)
      block = asked
      assert_equal [Plain.bytes(block)] * 2, malloc_bytes(snapshot, :asked, /\Aplain_realloc/)
      assert_nil Plain.realloc(block, 0)
      assert_equal 0, in_use(:asked)
    RUBY
  end

  def test_what_asks_mris_allocator_is_counted_once
    in_child(SETUP + <<~'RUBY')
      start
      def asked = Blocks.malloc(10_000)
      def grown(block) = Blocks.realloc(block, 1_000_000)
      block = asked
      bytes = Blocks.bytes(block)
      assert_equal [bytes] * 2, malloc_bytes(snapshot, :asked, /\Ablocks_malloc/)
      block = grown(block)
      more = Blocks.bytes(block) - bytes
      assert_equal [more] * 2, malloc_bytes(snapshot, :grown, /\Ablocks_realloc/)
      block = Blocks.realloc(block, 50_000)
      assert_equal Blocks.bytes(block) - bytes, in_use(:grown, /\Ablocks_realloc/)
      Blocks.free(block)
      assert_equal [0, 0], [in_use(:asked, /blocks/), in_use(:grown, /blocks/)]
    RUBY
  end

  # ---- leaks, at the default interval, within 50 MB ----

  def test_leak_of_an_extension_through_xmalloc
    %w[ruby all].each do |malloc|
      in_child(SETUP + <<~RUBY)
        HeapProfile.start(malloc: :#{malloc})
        def leak = HeapProfLeak.call # #{__FILE__}
        48_000.times { leak }
        rows = rows(HeapProfile.snapshot(gc: true), label: "Object#leak")
        rows.select! { |row| row.caller == "leak_call (heapprof_leak.so)" }
        assert_bytes 48_000 * 1032, rows.sum(&:inuse_malloc_space), 1032, "malloc=#{malloc}"
        assert_equal method(:leak).source_location, rows.first.frames[1].then { |frame| [frame.path, frame.lineno] }
      RUBY
    end
  end

  def test_leak_of_an_extension_through_malloc
    in_child(SETUP + <<~'RUBY')
      def leak = HeapProfNode.parse(100)
      start
      leak
      bytes = in_use(:leak, / \(heapprof_node\.so\)\z/)
      HeapProfile.stop

      HeapProfile.start(malloc: :all)
      times = (50 << 20) / bytes
      times.times { leak }
      rows = rows(HeapProfile.snapshot(gc: true), label: "Object#leak")
      rows.select! { |row| row.caller&.end_with?(" (heapprof_node.so)") }
      assert_bytes times * bytes, rows.sum(&:inuse_malloc_space), 136, "nodes"
      assert_include ["node_new (heapprof_node.so)", "node_parse (heapprof_node.so)"], rows.first.caller
      assert_equal method(:leak).source_location, rows.first.frames[1].then { |frame| [frame.path, frame.lineno] }
    RUBY
  end

  def test_malloc_ruby_does_not_see_it
    in_child(SETUP + <<~'RUBY')
      HeapProfile.start(interval: 1 << 30, malloc_interval: 1)
      def leak = HeapProfNode.parse(100)
      leak
      assert_equal 0, HeapProfile.stat(:malloc_all)
      assert_empty snapshot.select { |row| row.caller&.include?("heapprof_node") }
    RUBY
  end

  # rbs 3.8.0 forgets two tables at each parse: blocks of 32, 80 and 32 bytes, for which malloc gives 40, 88 and 40. It comes with MRI's
  # archive, and its extension with the build.
  def test_leak_of_rbs
    build = File.dirname(EnvUtil.rubybin)
    extension = Dir[File.join(build, ".bundle/extensions/*/*/rbs-3.8.0")].first
    library = File.join(build, ".bundle/gems/rbs-3.8.0/lib")
    assert extension && File.directory?(library), "rbs 3.8.0 is not where the build puts bundled gems: #{build}/.bundle"
    in_child(SETUP + <<~RUBY)
      $:.unshift #{library.dump}, #{extension.dump}
      require "logger"
      require "rbs"
      require "fiddle"
      usable = Fiddle::Function.new(Fiddle::Handle::DEFAULT["malloc_usable_size"], [Fiddle::TYPE_VOIDP], Fiddle::TYPE_SIZE_T)
      size = [32, 80, 32].sum { |bytes| Array.new(20) { usable.call(Fiddle.malloc(bytes)) }.min }
      def parse = RBS::Parser.parse_type("Integer")
      HeapProfile.start(malloc: :all)
      350_000.times { parse }
      rows = rows(HeapProfile.snapshot(gc: true), label: "Object#parse")
      rows.select! { |row| row.caller&.end_with?(" (rbs_extension.so)") && row.inuse_malloc_space > 0 }
      assert_bytes 350_000 * size, rows.sum(&:inuse_malloc_space), 104, "rbs"
      assert_equal ["alloc_empty_table", "alloc_reset_table"], rows.map { |row| row.caller[/\\w+/] }.uniq.sort
      place = method(:parse).source_location
      rows.each { |row| assert_include row.frames.map { |frame| [frame.path, frame.lineno] }, place }
    RUBY
  end

  # ---- what is loaded ----

  def test_library_loaded_later_and_unloaded
    in_child(SETUP.sub(/^require "-test-\/heapprof_node"\n/, "") + <<~'RUBY')
      start
      path = $:.map { |directory| File.join(directory, "-test-/heapprof_node.so") }.find { |file| File.exist?(file) }
      def parsed(handle) = Plain.call(handle, "node_parse", 10)
      3.times do |round|
        handle = Plain.load(path)
        parsed(handle)
        assert_operator malloc_bytes(snapshot, :parsed, /\Anode_\w+ \(heapprof_node\.so\)\z/).first, :>=, 1500 * (round + 1)
        assert_equal 0, Plain.unload(handle)
      end
      Plain.load(path)
      HeapProfile.stop
      start
      HeapProfile.stop
    RUBY
  end

  def test_extension_required_later
    in_child(SETUP.sub(/^require "-test-\/heapprof_node"\n/, "") + <<~'RUBY')
      start
      require "-test-/heapprof_node"
      def parsed = HeapProfNode.parse(10)
      parsed
      assert_operator in_use(:parsed, /heapprof_node\.so/), :>=, 1500
    RUBY
  end

  def test_dlsym_knows_who_asks
    in_child(SETUP + <<~'RUBY')
      assert_true Plain.finds_itself_p
      start
      assert_true Plain.finds_itself_p
    RUBY
  end

  # ---- stop ----

  def test_stop_puts_back_what_was
    in_child(SETUP + <<~'RUBY')
      assert_true Plain.real_malloc_p
      2.times do
        start
        assert_false Plain.real_malloc_p
        copy = Plain.copy_malloc
        HeapProfile.stop
        assert_true Plain.real_malloc_p
        blocks = Array.new(100) { Plain.malloc_by(copy, 1000) }
        HeapProfile.start
        assert_true Plain.real_malloc_p
        HeapProfile.stop
        blocks.each { |block| Plain.free(block) }
      end
    RUBY
  end

  def test_malloc_of_a_librarys_own_is_left_alone
    in_child(SETUP + <<~'RUBY')
      Plain.own_malloc(true)
      own = Plain.copy_malloc
      start
      assert_equal own, Plain.copy_malloc
      assert_nil Plain.malloc_by(Plain.copy_malloc, 1000)
      HeapProfile.stop
      assert_equal own, Plain.copy_malloc
      start
      Plain.own_malloc(false)
      assert_not_equal own, Plain.copy_malloc
      HeapProfile.stop
      assert_true Plain.real_malloc_p
    RUBY
  end

  # ---- threads, processes, ractors ----

  def test_threads_that_ruby_does_not_know
    in_child(SETUP + <<~'RUBY')
      3.times do
        start(malloc_interval: 1000)
        known = Array.new(4) { Thread.new { 500.times { |i| Plain.free(Plain.realloc(Plain.malloc(i), i * 3 + 1)) } } }
        Plain.threads(16, 2000)
        known.each(&:join)
        snapshot
        HeapProfile.stop
        Plain.threads(4, 100)
      end
    RUBY
  end

  # Such a thread has no Ruby stack, but a C function.
  def test_what_a_native_thread_asks_for
    in_child(SETUP + <<~'RUBY')
      def asked = snapshot.select { |row| row.caller == "ask_in_thread (heapprof_plain.so)" }
      def bytes = [asked.sum(&:alloc_malloc_space), asked.sum(&:inuse_malloc_space)]
      start
      blocks = Array.new(100) { |i| Plain.malloc_in_thread(1000 + i) }
      sizes = blocks.map { |block| Plain.bytes(block) }
      blocks.first(10).each { |block| Plain.free(block) }
      blocks.last(10).each { |block| Plain.free_in_thread(block) }
      assert_equal [sizes.sum, sizes[10...-10].sum], bytes
      assert_equal [[]], asked.map(&:frames).uniq
      blocks[10...-10].each { |block| Plain.free(block) }
      assert_equal [sizes.sum, 0], bytes
      assert_equal 0, HeapProfile.stat(:dropped)
    RUBY
  end

  # Samples of such threads wait for one that has the GVL: who asks for numbers.
  def test_what_waits_has_its_site_in_the_numbers
    in_child(SETUP + <<~'RUBY')
      start(malloc_interval: 1 << 20)
      Plain.malloc_in_thread(64 << 20)
      stat = HeapProfile.stat
      assert_operator stat[:live_samples], :>=, 1
      assert_operator stat[:sites], :>=, 1
    RUBY
  end

  # There is room for so many.
  def test_more_than_can_wait_is_counted_as_dropped
    in_child(SETUP + <<~'RUBY')
      start(malloc_interval: 100)
      Plain.threads(4, 2000)
      assert_operator HeapProfile.stat(:dropped), :>, 0
      waited = snapshot.select { |row| row.caller&.start_with?("work (heapprof_plain.so)") }
      assert_operator waited.sum(&:alloc_malloc_space), :>, 0
    RUBY
  end

  def test_start_and_stop_while_threads_allocate
    in_child(SETUP + <<~'RUBY')
      busy = Thread.new { scaled(40).times { Plain.threads(8, 1000) } }
      while busy.alive?
        start(malloc_interval: 500)
        sleep 0.001
        HeapProfile.stop
      end
      busy.join
      assert_true Plain.real_malloc_p
    RUBY
  end

  def test_child_of_a_fork_goes_on
    in_directory do
      ran = run_ruby("-e", <<~'RUBY', heapprof: "malloc=all,interval=1g,malloc_interval=1,out=%p.pb.gz")
        require "-test-/heapprof_plain"
        def parents = HeapProfPlain.malloc(3_000_000)
        def childs = HeapProfPlain.malloc(5_000_000)
        block = parents
        child = fork do
          childs
          HeapProfPlain.free(block)
          HeapProfPlain.threads(4, 100)
        end
        Process.wait(child)
        puts Process.pid, child, $?.success?
      RUBY
      assert_clean ran
      parent, child, success = ran.out.split
      assert_equal "true", success
      in_use = lambda do |pid, label|
        text = pprof("-top", "-sample_index=inuse_malloc_space", "-unit=B", "-focus=#{label}", "#{pid}.pb.gz")
        text[/(\d+)B .*HeapProfPlain\.malloc$/, 1].to_i
      end
      assert_in_delta 3_000_000, in_use[parent, "parents"], 5000
      assert_in_delta 5_000_000, in_use[child, "childs"], 5000
      assert_equal 0, in_use[child, "parents"]
    end
  end

  def test_ractors
    in_child(SETUP + <<~'RUBY', "-W0")
      start(malloc_interval: 2000)
      ractors = Array.new(4) do
        Ractor.new do
          2000.times { |i| ["x" * 1000, HeapProfPlain.free(HeapProfPlain.malloc(i))].hash }
          GC.start
          :done
        end
      end
      assert_equal [:done] * 4, ractors.map(&:take)
      assert_operator HeapProfile.stat(:total_samples), :>, 0
      HeapProfile.snapshot(gc: true)
    RUBY
  end

  # YJIT asks for memory when it is told that a block's environment has moved to the heap, at which
  # moment the environment within still points to its old place.
  def test_yjit_asks_while_environments_move
    omit "built without YJIT" unless RbConfig::CONFIG["YJIT_SUPPORT"] == "yes"
    in_directory do
      write_file("moves.rb", "outer = 1\n[1].each { |x| $kept << proc { x + outer } }\n")
      in_child(SETUP + <<~'RUBY', "--yjit", "--yjit-call-threshold=1")
        $kept = []
        start
        100.times { load "./moves.rb" }
        stack = ["Kernel#proc", "block in <top (required)>", "Array#each", "<top (required)>", "Kernel#load"]
        rows = snapshot.select { |row| row.frames.first(5).map(&:label) == stack }
        rust = rows.select { |row| row.caller&.start_with?("_ZN", "_R") } # mangled names
        assert_operator rust.sum(&:alloc_malloc_space), :>, 0
      RUBY
    end
  end

  def test_gc_stress_and_compaction
    in_child(SETUP + <<~'RUBY')
      start
      GC.stress = true
      20.times { |i| ["x" * (1000 + i), [i] * 100, { i => i }, Plain.free(Plain.malloc(i))].hash }
      GC.stress = false
      GC.compact
      assert_operator snapshot.count, :>, 0
    RUBY
  end

  # ---- allocators ----

  under_each_allocator :extension_and_threads_until_stop, <<~'RUBY'
    start
    def asked = FUNCTIONS.map { |function| Plain.send(function, 10_000) }
    def parsed = HeapProfNode.parse(10)
    blocks = asked
    parsed
    assert_equal blocks.sum { |block| Plain.bytes(block) }, in_use(:asked)
    assert_operator in_use(:parsed, /heapprof_node\.so/), :>=, 1500
    grown = Plain.realloc(blocks[0], 1_000_000)
    (blocks[1..] << grown).each { |block| Plain.free_in_thread(block) }
    assert_equal 0, in_use(:asked)
    Plain.threads(8, 500)
    HeapProfile.stop
    assert_true Plain.real_malloc_p
  RUBY

  # ---- settings ----

  def test_setting_is_ruby_unless_set
    in_child(SETUP + <<~'RUBY')
      HeapProfile.start
      assert_equal 0, HeapProfile.stat(:malloc_all)
      HeapProfile.stop
      HeapProfile.profile(malloc: :all) { assert_equal 1, HeapProfile.stat(:malloc_all) }
      HeapProfile.start(malloc: :ruby)
      assert_equal 0, HeapProfile.stat(:malloc_all)
    RUBY
  end

  def test_wrong_setting_says_what_is_accepted
    in_child(SETUP + <<~'RUBY')
      [nil, true, "all", :some].each do |wrong|
        error = assert_raise(ArgumentError) { HeapProfile.start(malloc: wrong) }
        assert_equal "malloc: #{wrong.inspect} is neither (expected :ruby or :all)", error.message
      end
      assert_false HeapProfile.running?
    RUBY
    ran = run_ruby("-e", "p ObjectSpace::HeapProfile.running?", heapprof: "malloc=some")
    assert_equal "false\n", ran.out
    assert_one_line(/malloc=some: expected ruby \(.*\) or all \(.*\) \(running unprofiled\)/, ran.err)
  end
end
