# frozen_string_literal: true
#
# test_native.rb - C functions among Ruby frames: those of gdb's backtrace, in its order, and no others. Each shape is a program that waits at one
# place for ever, so gdb and heapprof see the same stack.

require "rbconfig"
require_relative "lib/attached"

class TestHeapprofNative < Test::Unit::TestCase
  include Attached

  EXTENSION = "-test-/heapprof_native"
  GDB_FRAMES = File.expand_path("lib/gdb_frames.py", __dir__)

  RECURSION = <<~'RUBY'
    def Native.recurse_in_ruby(depth) = depth == 0 ? park : [depth].each { |n| recurses(n - 1) }
  RUBY

  SHAPES = {
    "a C method" => "Native.park",
    "a block called from C" => "Native.yields { Native.park }",
    "a block called from qsort" => "Native.sorts { Native.park }",
    "a block called from Ruby's sort" => "[2, 1].sort { Native.park }",
    "a block called from Ruby's sort_by" => "[2, 1].sort_by { Native.park }",
    "a block of C" => "Native.c_block",
    "rb_protect" => "Native.protects { Native.park }",
    "two blocks in each other" => "Native.yields { [1].map { Native.protects { Native.park } } }",
    "deep recursion from Ruby to C and back" => "#{RECURSION}Native.recurses(60)",
    "a method that to_s calls" => "o = Object.new\ndef o.to_s = Native.park\n%(\#{o})",
    "method_missing" => "o = Object.new\ndef o.method_missing(*) = Native.park\no.anything",
    "respond_to_missing?" => "o = Object.new\ndef o.respond_to_missing?(*) = Native.park\no.respond_to?(:anything)",
    "define_method" => "Native.define_singleton_method(:defined) { park }\nNative.send(:defined)",
    "a rescue clause" => "begin\n  raise 'x'\nrescue\n  Native.park\nend",
    "an ensure clause" => "begin\n  1\nensure\n  Native.park\nend",
    "a Hash that asks for a hash" => "o = Object.new\ndef o.hash = Native.park\n{ o => 1 }",
    "a comparison by <=>" => "o = Class.new { def <=>(_) = Native.park }\n[o.new, o.new].sort",
    "a file that is required" => "File.write('parks.rb', 'Native.park')\nrequire './parks'",
    "frames with a pointer, with an aligned stack" => "Native.odd_frames",
    "a signal handler" => "Native.signals",
    "zlib" => "Native.deflates",
    "OpenSSL" => "require 'openssl'\nkey = OpenSSL::PKey::EC.generate('prime256v1').to_pem(OpenSSL::Cipher.new('aes-128-cbc'), 'secret')\n" \
                 "OpenSSL::PKey.read(key) { Native.park }",
    "a C++ exception that is caught" => "Native.catches",
    "a C++ exception on its way" => "Native.unwinds",
    "a garbage collection that calls C" => "Native.collects",
    "a fiber" => "Fiber.new { Fiber.new { Native.yields { Native.park } }.resume }.resume",
    "an Enumerator" => "e = Enumerator.new { Native.park }\ne.next",
    "a thread, and threads that wait" => "$wait = Queue.new\nThread.new { $wait.pop }\nThread.new { IO.pipe[0].read }\nThread.new { sleep }\n" \
                                         "Thread.new { Native.waits }\nThread.pass until Thread.list.count { |t| t.status == 'sleep' } == 4\n" \
                                         "Thread.new { Native.yields { Native.park } }.join",
  }.freeze

  def setup
    super
    omit "gdb is not installed" unless system("which gdb", out: File::NULL)
  end

  SHAPES.each do |name, script|
    define_method("test_as_gdb_shows_#{name}") { assert_as_gdb(script) }
  end

  %w[block\ called\ from\ C block\ called\ from\ Ruby's\ sort_by deep\ recursion method\ that\ to_s rescue\ clause garbage Enumerator].each do |part|
    name = SHAPES.keys.find { |each| each.include?(part) }
    define_method("test_as_gdb_shows_#{name}_under_yjit") do
      omit "no YJIT" unless RbConfig::CONFIG["YJIT_SUPPORT"] != "no"
      assert_as_gdb("def work = (#{SHAPES[name]}\n)\nwork", "--yjit", "--yjit-call-threshold=1", machine_code: true)
    end
  end

  def test_c_functions_stand_inside_of_the_method_that_calls_them
    script = "#{RECURSION}def outer = Native.yields { inner }\ndef inner = Native.recurses(1)\nouter"
    with_shape(script) do |pid|
      expected = ["native_park", "park", "Native.park", "Native.recurse_in_ruby", "recurses", "Native.recurses", "block in Native.recurse_in_ruby",
                  "Array#each", "Native.recurse_in_ruby", "recurses", "Native.recurses", "Object#inner", "block in Object#outer", "call_yield",
                  "yields", "Native.yields", "Object#outer", "<main>"]
      shown = labels(threads(pid, "--native").first).map { |label| label.delete_suffix(" (heapprof_native.so)") }
      assert_equal expected, shown.grep_v(/libc/)
    end
  end

  def test_cxx_functions_are_shown_as_in_source
    with_shape(SHAPES["a C++ exception on its way"]) do |pid|
      shown = labels(threads(pid, "--native").first)
      assert_equal 1, shown.grep(/\A\(anonymous namespace\)::Parks::~Parks\(\).* \(heapprof_native\.so\)\z/).size, shown.join("\n")
      assert_empty shown.grep(/_Z/)
    end
  end

  def test_without_the_option_there_are_none
    with_shape(SHAPES["zlib"]) do |pid|
      frames = threads(pid).first["frames"]
      assert_equal ["Native.deflates", "<main>"], frames.map { |frame| frame["label"] }
      assert_equal [false], frames.map { |frame| frame["native"] }.uniq
    end
  end

  def test_rubys_own_functions_are_shown_if_asked_for
    with_shape(SHAPES["a block called from C"]) do |pid|
      all = labels(threads(pid, "--native-all").first)
      program = File.basename(EnvUtil.rubybin)
      assert_equal gdb_frames(pid)[pid].reject { |function, file| function == "?" && file == "-" }.size, all.size - 4, all.join("\n")
      assert_operator all.index { |label| label.start_with?("rb_vm_exec") }, :<, all.index("block in <main>"), program
      assert_equal "<main>", all.grep(/\A</).last
      assert_equal all.grep(/ \(heapprof_native/), labels(threads(pid, "--native").first).grep(/ \(heapprof_native/)
    end
  end

  # Static functions of a stripped library have no names; but they are there.
  def test_a_stripped_library
    in_directory do
      copy_extension("stripped")
      assert system("strip", "stripped/#{EXTENSION}.so")
      with_shape(SHAPES["a block called from C"], "-I#{Dir.pwd}/stripped") do |pid|
        shown = labels(threads(pid, "--native").first).grep(/heapprof_native/)
        assert_equal ["native_park", "?", "?", "?"], shown.map { |label| label[/\S+/] }
      end
    end
  end

  # What objcopy takes out of the library, by its build-id or by its link.
  def test_the_names_of_a_stripped_library_come_from_its_debug_file
    in_directory do
      copy_extension("linked")
      library, debug = %w[heapprof_native.so native.debug].map { |name| "#{Dir.pwd}/linked/-test-/#{name}" }
      assert system("objcopy", "--only-keep-debug", library, debug)
      assert system("objcopy", "--strip-all", "--remove-section=.note.gnu.build-id", library)
      Dir.chdir("linked/-test-") { assert system("objcopy", "--add-gnu-debuglink=native.debug", "heapprof_native.so") }
      with_shape(SHAPES["a block called from C"], "-I#{Dir.pwd}/linked") do |pid|
        assert_equal %w[native_park park call_yield yields], native_functions(pid)
        File.write(debug, "x", mode: "a")
        assert_equal %w[native_park ? ? ?], native_functions(pid)
      end
    end
  end

  def test_a_library_that_has_been_deleted_and_one_of_another_build
    in_directory do
      copy_extension("moved")
      library = "#{Dir.pwd}/moved/#{EXTENSION}.so"
      with_shape(SHAPES["a block called from C"], "-I#{Dir.pwd}/moved") do |pid|
        assert_equal %w[native_park park call_yield yields], native_functions(pid)
        File.rename(library, "#{library}.moved") # the kernel knows
        assert_equal %w[native_park park call_yield yields], native_functions(pid)
        File.delete("#{library}.moved")
        assert_equal %w[? ? ? ?], native_functions(pid)
        other = "#{library}.moved (deleted)" # what the kernel calls it now
        FileUtils.cp(RbConfig.ruby, other)
        assert_equal %w[? ? ? ?], native_functions(pid)
        File.delete(other)
        assert system("mkfifo", other)
        assert_equal %w[? ? ? ?], native_functions(pid)
      end
    end
  end

  def test_a_core_has_them_too
    omit "gcore is not installed" unless system("which gcore", out: File::NULL)
    in_directory do
      with_shape(SHAPES["zlib"]) do |pid|
        expected = threads(pid, "--native")
        assert system("gcore", "-o", "core", pid.to_s, out: File::NULL, err: File::NULL)
        assert_equal expected, heapprof!("stacks", "--json", "--native", "--core", "core.#{pid}").json.first["threads"]
      end
    end
  end

  def test_a_collection_is_shown_outside_of_what_it_calls
    with_shape(SHAPES["a garbage collection that calls C"]) do |pid|
      shown = labels(threads(pid, "--native").first).grep_v(/libc/)
      assert_equal ["native_park (heapprof_native.so)", "mark_it (heapprof_native.so)", "(garbage collection)", "collects (heapprof_native.so)",
                    "Native.collects", "<main>"], shown
    end
  end

  def test_record_counts_them
    with_shape(SHAPES["zlib"]) do |pid|
      ran = record_looks(5, "--native", "--idle", "--to", "collapsed", "-o", "-", pid)
      stacks = collapsed(ran.out)
      assert_equal 1, stacks.size, ran.out
      assert_match(/\A<main>;Native.deflates;deflates \(heapprof_native.so\);deflateInit_ \(libz.so.1\);/, stacks.keys.first.join(";"))
    end
  end

  # It is stopped once, and then again only if it does something else.
  def test_a_thread_that_goes_on_waiting_is_not_stopped_again
    with_shape("$ready.call\nNative.waits") do |pid|
      waits = -> { Thread.pass while File.read("/proc/#{pid}/syscall").start_with?("running") } # after a stop, too
      switches = -> { File.read("/proc/#{pid}/status")[/^voluntary_ctxt_switches:\s*(\d+)/, 1].to_i }
      threads_until(pid) { |all| labels(all.first).first == "Native.waits" && all.first["state"] == "blocked" }
      record_by_bell("--native", "--idle", "-o", File::NULL, "--to", "collapsed", pid) do |bell,|
        3.times do
          waits.call
          bell.ring
        end
        waits.call
        before = switches.call
        bell.ring(20)
        assert_equal before, switches.call
      end
    end
  end

  def test_they_need_a_stop
    %w[stacks record watch].each do |command|
      assert_refused 2, /--native: C functions can be read only while a thread stands still; leave out --stop=never/, command, "--native", "--stop=never", 1
    end
  end

  private

  # Runs the script until it is parked.
  def with_shape(script, *arguments)
    in_directory do
      beside("require '#{EXTENSION}'\n#{script}", *arguments) do |pid|
        Dir.children("/proc/#{pid}/task").each { |tid| wait_until_asleep(pid, tid) }
        yield pid
      end
    end
  end

  def wait_until_asleep(pid, tid)
    deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 30
    until File.read("/proc/#{pid}/task/#{tid}/stat")[/\) (\w)/, 1] == "S"
      flunk "thread #{tid} does not wait" if Process.clock_gettime(Process::CLOCK_MONOTONIC) > deadline
      Thread.pass
    end
  end

  def copy_extension(directory)
    FileUtils.mkdir_p("#{directory}/-test-")
    from = $LOAD_PATH.map { |path| "#{path}/#{EXTENSION}.so" }.find { |path| File.exist?(path) }
    FileUtils.cp(from, "#{directory}/-test-")
  end

  # The names of the extension's functions that are shown.
  def native_functions(pid)
    labels(threads(pid, "--native").first).grep(/heapprof_native/).map { |label| label[/\S+/] }
  end

  # Several names stand for one function of the C library.
  def plain(name) = name.sub(/@.*/, "").sub(/\A_+(GI_+)?(libc_)?/, "")

  # The same of a function as gdb shows it, which is told to show names as they are in the file.
  def plain_in_source(name) = name.start_with?("_Z") ? IO.popen(["c++filt", name], &:read).chomp : plain(name)

  # By native id: functions and their files, innermost first.
  def gdb_frames(pid)
    out, status = Open3.capture2e({ "DEBUGINFOD_URLS" => nil }, "gdb", "-nx", "-p", pid.to_s, "-batch", "-x", GDB_FRAMES)
    assert status.success?, out
    frames = out.scan(/^frame (\d+) (\S+) (.+)$/)
    assert_operator frames.size, :>, 3, out
    frames.each_with_object({}) { |(id, *frame), all| (all[id.to_i] ||= []) << frame }
  end

  # Whether gdb has the function in Ruby or in its program.
  def rubys_own?(file) = file == "-" || file.include?("/libruby")

  # What gdb shows, without Ruby's own functions and without how the thread was begun. A frame of YJIT's has no file.
  def expected_of(frames)
    frames = frames[0..frames.rindex { |function, file| function != "_start" && function != "(signal" && rubys_own?(file) }]
    frames = frames.reject { |function, file| function != "(signal" && rubys_own?(file) }
    frames.map { |function, file| file == "-" ? "(signal" : "#{plain_in_source(function)} (#{File.basename(file)[/\A.*?\.so/]})" }
  end

  def shown_of(thread)
    labels = thread["frames"].select { |frame| frame["native"] }.map { |frame| frame["label"] } - ["(garbage collection)"]
    labels.map { |label| label.start_with?("(signal") ? "(signal" : label.sub(/\A(.+) \(([^()]*?\.so)[^()]*\)\z/) { "#{plain($1)} (#{$2})" } }
  end

  def assert_as_gdb(script, *arguments, machine_code: false)
    with_shape(script, *arguments) do |pid|
      ruby = threads(pid).map { |thread| labels(thread) }
      shown = threads(pid, "--native")
      gdb = machine_code ? nil : gdb_frames(pid)
      assert_equal ruby, (shown.map { |thread| thread["frames"].reject { |frame| frame["native"] }.map { |frame| frame["label"] } })
      shown.each do |thread|
        expected = gdb ? expected_of(gdb.fetch(thread["native_id"])) : expected_without_yjit(script)
        assert_equal expected, shown_of(thread), labels(thread).join("\n")
      end
    end
  end

  # gdb has no table for YJIT's code. The C functions are the same without YJIT.
  def expected_without_yjit(script)
    with_shape(script) { |pid| return expected_of(gdb_frames(pid)[pid]) }
  end
end
