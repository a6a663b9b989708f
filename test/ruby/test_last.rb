# frozen_string_literal: true

# test_last.rb - the last profile of a process that crashes, or that has no memory left for it (vm/run/last.c): that it is there, that MRI's report and the exit status are as they
# would be, and where nothing is written.

require_relative "lib/heapprof_test"
require_relative "../cli/lib/heapprof_command"

class TestHeapProfLast < Test::Unit::TestCase
  include HeapProfTest
  include HeapprofCommand

  # For scripts: ways to crash.
  TOOLS = <<~'RUBY'
    require "fiddle"
    $stdout.sync = true
    $kept = Array.new(20_000) { "y" * 100 }
    def native(at, *types) = Fiddle::Function.new(at, types.map { |type| Fiddle.const_get("TYPE_#{type}") }, Fiddle::TYPE_VOIDP, need_gvl: true)
    def set(address, byte = 0) = native(Fiddle::Handle::DEFAULT["memset"], :INTPTR_T, :INT, :SIZE_T).call(address, byte, 1)
    def crash = set(16)
    # Of this ruby, by its number in the file.
    def own(offset) = File.foreach("/proc/self/maps").find { |line| line.include?(File.readlink("/proc/self/exe")) }.to_i(16) + offset
  RUBY

  def crashed(script, settings = "interval=16k", env: {}, **options)
    path = write_file("app.rb", TOOLS + script)
    out, err, status = Open3.capture3(clean(env.merge("RUBY_HEAPPROF" => settings)), EnvUtil.rubybin, "--disable-gems", path, rlimit_core: 0, **options)
    Ran.new(out, err, status)
  end

  # What the report says at its end, in our line.
  def said(ran) = ran.err.scrub[/^\* Heap profile: (.*)$/, 1]

  # The parts of the report.
  def parts(ran) = ran.err.scrub.lines.grep(/\A(--|\* |.*\[BUG\])/).map { |line| line[/\A-- [\w ]+|\A\* [\w ]+|\[BUG\] [\w ]+/] }

  def assert_last(ran, path, signal = "SEGV")
    assert_equal [Signal.list[signal], File.realpath(path)], [ran.status.termsig, said(ran)], ran.err.scrub.lines.grep(/heap prof|BUG/i).join
    assert_equal 0o100600, File.stat(path).mode
    assert_include heapprof!("info", path).out, "written by a copy: the program crashed"
    assert_match(/String.*\n/, heapprof!("top", "--group=class", path).out)
    assert_match(/^the last file was written by a copy: the program has crashed\n/, heapprof!("postmortem", path).out)
    assert_empty Dir.glob(".heapprof-*")
  end

  def test_a_crash_in_c_leaves_a_profile_and_the_report_is_as_ever
    in_directory do
      plain = crashed("crash", nil)
      ran = crashed("crash")
      assert_last(ran, "heapprof-#{ran.status.pid}.pb.gz")
      assert_equal plain.status.termsig, ran.status.termsig
      assert_operator parts(plain).size, :>, 5
      assert_equal [*parts(plain), "* Heap profile"], parts(ran)
      rss, unexplained = heapprof!("info", Dir["*.pb.gz"].first).out[/^ +rss: .*/].scan(/\d+/).map(&:to_i)
      assert_operator unexplained, :<, rss / 10
    end
  end

  def test_other_ways_to_crash
    { "SEGV" => "Process.kill(:SEGV, $$); sleep", "BUS" => "Thread.new { Process.kill(:BUS, $$) }; sleep",
      "ABRT" => 'native(Fiddle::Handle::DEFAULT["rb_bug"], :VOIDP).call("as asked")',
      "ILL" => "Thread.new { IO.pipe[0].read }; Process.kill(:ILL, $$); loop { }" }.each do |signal, script|
      in_directory do
        ran = crashed(script, "interval=16k,out=%e.pb.gz")
        assert_last(ran, "app.rb.pb.gz", signal)
      end
    end
  end

  # The parent goes on, and writes its own.
  def test_a_child_of_fork
    in_directory do
      ran = crashed("pid = fork { crash }; Process.wait(pid); puts $?.termsig, pid")
      signal, pid = ran.out.lines.map(&:to_i)
      assert_equal [Signal.list["SEGV"], true], [signal, ran.status.success?]
      assert_equal File.realpath("heapprof-#{pid}.pb.gz"), said(ran)
      assert_equal %W[heapprof-#{pid}.pb.gz heapprof-#{ran.status.pid}.pb.gz].sort, Dir["*.pb.gz"].sort
    end
  end

  def test_with_periodic_files_it_is_the_next
    in_directory do
      ran = crashed("sleep 0.005 until Dir['*-1.pb.gz'].any?; crash", "every=0.1,keep=0")
      assert_equal File.realpath(Dir["*.pb.gz"].max_by { |path| path[/-(\d+)\.pb/, 1].to_i }), said(ran)
    end
  end

  # ---- the copy has trouble ----

  # A lock of malloc's may be held for ever in it.
  def test_the_copy_that_writes_asks_malloc_for_nothing
    stingy = $LOAD_PATH.resolve_feature_path("-test-/heapprof_stingy")[1]
    in_directory do
      ran = crashed("crash", env: { "LD_PRELOAD" => stingy })
      assert_last(ran, "heapprof-#{ran.status.pid}.pb.gz")
      assert read_profile(Dir["*.pb.gz"].first).samples.any?(&:owner), "it is a copy that was asked for less"
    end
  end

  # The walk for owners looks at the type of an object, which is no address. A copy that does not walk writes.
  def test_a_heap_that_cannot_be_walked
    in_directory do
      ran = crashed(<<~'RUBY')
        GC.disable
        broken = Fiddle::Pointer.new(16)
        8.times { |i| set(Fiddle.dlwrap(broken) + 16 + i, 0x10) }
        crash
      RUBY
      assert_last(ran, "heapprof-#{ran.status.pid}.pb.gz")
      assert_empty read_profile(Dir["*.pb.gz"].first).samples.filter_map(&:owner)
    end
  end

  def test_a_file_that_cannot_be_written
    in_directory do |directory|
      Dir.mkdir("gone")
      ran = crashed("Dir.rmdir('gone'); crash", "1,out=gone/x.pb.gz")
      assert_equal ["not written: cannot write #{directory}/gone/x.pb.gz: No such file or directory", Signal.list["SEGV"]],
                   [said(ran), ran.status.termsig]
    end
  end

  # ---- memory is used up ----

  # No 128 kB are left in one piece.
  def test_a_process_that_ends_for_lack_of_memory
    in_directory do
      ran = crashed(<<~'RUBY', rlimit_as: 900 << 20)
        $more = []
        [20, 17].each do |bits|
          loop { $more << "x" * (1 << bits) }
        rescue NoMemoryError
        end
        "y" * (1 << 24)
      RUBY
      path = "heapprof-#{ran.status.pid}.pb.gz"
      assert_equal [1, true], [ran.status.exitstatus, File.exist?(path)], ran.err
      assert_match(/\A[^\n]*failed to allocate memory \(NoMemoryError\)\n/, ran.err)
      assert_equal 0o100600, File.stat(path).mode
      assert_include heapprof!("info", path).out, "written by a copy: memory was used up"
      assert_match(/^Verdict: strings\./, heapprof!("postmortem", path).out)
    end
  end

  # ---- where nothing is written ----

  def assert_unwritten(why, script, *arguments, **options)
    in_directory do
      ran = crashed(script, *arguments, **options)
      assert_equal [why, Signal.list["SEGV"]], [said(ran), ran.status.termsig]
      assert_include parts(ran), "* Process memory map"
      assert_empty Dir.children(".") - ["app.rb"]
    end
  end

  # A profile has the names of threads. This one's is no address.
  def test_a_copy_that_crashes_whatever_it_is_asked_for
    assert_unwritten("not written: a copy of the process was to write it, and crashed, too", <<~'RUBY')
      thread = Thread.new { sleep }
      thread.name = "x" * 1000
      8.times { |i| set(Fiddle.dlwrap(thread.name) + 24 + i, 0x10) }
      crash
    RUBY
  end

  # The function that is to free the memory reads from it first, and the address is not mapped.
  def test_in_a_gc
    assert_unwritten("not written: it crashed during a GC", <<~'RUBY')
      def leave(free) = 1000.times { Fiddle::Pointer.new(16, 1, free) }
      leave(native(Fiddle::Handle::DEFAULT["strlen"], :VOIDP))
      GC.start
    RUBY
  end

  # Where something is in the file of this ruby.
  def offset(name)
    line = IO.popen(["nm", File.realpath(RbConfig.ruby)], err: File::NULL, &:readlines).find { |each| each.split.last == name }
    omit "this ruby is stripped" unless line
    line.hex
  rescue Errno::ENOENT
    omit "needs nm"
  end

  def test_while_the_tables_change
    assert_unwritten("not written: it crashed while the profiler's tables changed", "set(own(#{offset("rb_heapprof_sequence")}), 1); crash")
  end

  # It has the lock of the blocks, and nobody gives it back.
  def test_inside_our_own_code
    assert_unwritten("not written: it crashed while the profiler's tables changed", "native(own(#{offset("rb_heapprof_gc_lock_blocks")})).call; crash")
  end

  def test_with_several_ractors
    assert_unwritten("not written: several Ractors ran", "Warning[:experimental] = false; Ractor.new { Ractor.receive }; crash")
  end

  def test_a_process_that_would_write_none_at_its_end
    assert_unwritten(nil, "crash", nil)
    assert_unwritten(nil, "crash", "1,out=")
    assert_unwritten(nil, "ObjectSpace::HeapProfile.stop; crash")
    assert_unwritten(nil, "ObjectSpace::HeapProfile.start; crash", nil)
  end
end
