# frozen_string_literal: true

# test_boot.rb - RUBY_HEAPPROF, from the start of a process to its end (vm/boot.c): which values
# switch the profiler on, what a wrong one does, which ways to end write a profile, and that the
# program and its exit status never know.

require "etc"
require "fileutils"
require_relative "lib/heapprof_test"

class TestHeapProfBoot < Test::Unit::TestCase
  include HeapProfTest

  RUNNING = "print ObjectSpace::HeapProfile.running?"

  # Runs the script in a directory of its own; yields how it ran and what files it left.
  def run_here(script, *args, settings: "interval=1k,out=p.pb.gz", **options)
    in_directory do
      ran = run_ruby("--disable-gems", *args, "-", stdin: script, heapprof: settings, **options)
      yield ran, Dir.children(".").sort
    end
  end

  # ---- on or off ----

  def test_profiler_is_off_when_unset_empty_or_0
    [nil, "", "0"].each do |settings|
      run_here(RUNNING, settings: settings) do |ran, files|
        assert_clean ran, out: "false"
        assert_empty files
      end
    end
  end

  def test_1_profiles_by_the_defaults_into_the_current_directory
    run_here(RUNNING + "; p $$, ObjectSpace::HeapProfile.stat(:interval_bytes), " \
             "ObjectSpace::HeapProfile.stat(:memory_budget)", settings: "1") do |ran, files|
      running, interval, budget = ran.out.lines(chomp: true)
      assert_clean ran
      assert_equal %w[65536 67108864], [interval, budget]
      assert_equal ["heapprof-#{running.delete_prefix('true')}.pb.gz"], files
      assert_include read_profile(files.first).comments, "interval: 65536 bytes"
    end
  end

  def test_settings_are_those_of_the_variable
    run_here("p ObjectSpace::HeapProfile.stat", settings: "interval=3k,memory=2m,depth=2,seed=9,gc=0,out=x=y.gz") do |ran, files|
      assert_clean ran
      assert_equal ["x=y.gz"], files
      stat = eval(ran.out)
      assert_equal [3072, 2 << 20], stat.values_at(:interval_bytes, :memory_budget)
      profile = read_profile("x=y.gz")
      assert_operator profile.samples.map { |sample| sample.frames.size }.max, :<=, 3
    end
  end

  def test_1_may_come_before_other_settings_and_suffixes_be_large
    run_here("p ObjectSpace::HeapProfile.stat", settings: "1,interval=3K,memory=2M,out=p.pb.gz") do |ran, files|
      assert_clean ran
      assert_equal %w[p.pb.gz], files
      assert_equal [3072, 2 << 20], eval(ran.out).values_at(:interval_bytes, :memory_budget)
    end
  end

  # Without a GC: which free slots one leaves depends on what the machine stack looks like.
  def test_same_seed_gives_the_same_profile
    in_directory do
      path = write_file("script.rb", "GC.disable; $kept = Array.new(10_000) { 'x' * 20 }")
      estimates = Array.new(2) do
        assert_clean run_ruby("--disable-gems", path, heapprof: "interval=2k,seed=5,gc=0,out=p.pb.gz")
        read_profile("p.pb.gz").total(:inuse_objects, class_name: "String", label: "String#*")
      end
      assert_operator estimates.first, :>, 0
      assert_equal estimates.first, estimates.last
    end
  end

  # ---- who may ask for it ----

  # Yields a copy of ruby that anybody may run, and what runs it as a user without rights, with
  # settings: whether it is profiled.
  def as_nobody
    omit "needs root, to become somebody else" unless Process.uid == 0
    Dir.mktmpdir(nil, Etc.systmpdir) do |directory|
      File.chmod(0o777, directory)
      copy = File.join(directory, "copy")
      FileUtils.cp(File.join(File.dirname(EnvUtil.rubybin), "miniruby"), copy)
      script = File.join(directory, "script.rb")
      File.write(script, RUNNING)
      yield copy, -> do
        IO.popen("-") do |io|
          next io.read if io
          Process::GID.change_privilege(65534)
          Process::UID.change_privilege(65534)
          exec({ "RUBY_HEAPPROF" => "interval=1k,out=#{directory}/p.pb.gz" }, copy, script)
        end
      end
    end
  end

  def test_privileged_process_does_not_do_what_its_caller_asks
    as_nobody do |copy, run|
      File.chmod(0o755, copy)
      assert_equal "true", run.()
      [0o4755, 0o2755].each do |mode|
        File.chmod(mode, copy)
        assert_equal "false", run.(), mode.to_s(8)
      end
      File.chmod(0o755, copy)
      omit "needs setcap" unless system("setcap", "cap_net_raw+ep", copy, exception: false)
      assert_equal "false", run.()
    end
  end

  # ---- wrong values ----

  def test_wrong_value_is_one_line_and_the_program_runs_unprofiled
    {
      "interval=banana" => /interval=banana/,
      "interval=" => /interval/,
      "interval=0" => /interval=0/,
      "interval=-1" => /interval=-1/,
      "interval=1.5" => /interval=1\.5/,
      "interval=2000g" => /interval=2000g/,
      "nonsense=1" => /nonsense=1.*known keys/,
      "yes" => /yes.*key=value/,
      "2" => /2.*key=value/,
      "interval=4k," => /key=value/,
      ",interval=4k" => /key=value/,
      "interval=4k out=x" => /interval=4k out=x/,
      "depth=0" => /depth=0/,
      "depth=70000" => /depth=70000/,
      "memory=1k" => /memory=1k/,
      "seed=x" => /seed=x/,
      "gc=2" => /gc=2/,
      "out=,every=60" => /out= has no file name, which every, signal and at need/,
      "signal=USR2,out=" => /out= has no file name, which every, signal and at need/,
      "out=%q.gz" => /out=%q\.gz: expected a file name.*%p pid/,
      "1,interval=0" => /interval=0/,
      "INTERVAL=4k" => /INTERVAL=4k/,
      "line\nbreak=1" => /line.break=1/,
    }.each do |settings, message|
      run_here(RUNNING + "; exit 3", settings: settings) do |ran, files|
        assert_one_line message, ran.err
        assert_match(/\Aruby: heap profiler: RUBY_HEAPPROF: .*unprofiled/, ran.err)
        assert_equal "false", ran.out
        assert_equal 3, ran.status.exitstatus
        assert_empty files
      end
    end
  end

  def test_without_a_file_name_there_is_no_file
    run_here(RUNNING + "; exit 3", settings: "1,out=") do |ran, files|
      assert_equal ["true", "", 3], [ran.out, ran.err, ran.status.exitstatus]
      assert_empty files
    end
  end

  def test_very_long_wrong_value_is_one_short_line
    run_here(RUNNING, settings: "interval=" + "9" * 100_000) do |ran, files|
      assert_one_line(/interval=999/, ran.err)
      assert_operator ran.err.size, :<, 300
      assert_equal "false", ran.out
      assert_empty files
    end
  end

  # ---- ways to end ----

  # What a program keeps, and how it ends.
  def assert_profile_after(ending, exitstatus: nil, termsig: nil, err: "", stdin: "")
    in_directory do |directory|
      path = write_file("script.rb", "class Kept; end\n$kept = Array.new(50) { Kept.new }\n#{ending}")
      ran = run_ruby("--disable-gems", path, heapprof: "interval=1,out=p.pb.gz", stdin: stdin)
      assert_equal [exitstatus, termsig], [ran.status.exitstatus, ran.status.termsig], ran.err
      assert_operator err, :===, ran.err
      assert_equal %w[p.pb.gz script.rb], Dir.children(directory).sort
      assert_equal 50, read_profile("p.pb.gz").total(class_name: "Kept")
    end
  end

  def test_profile_after_the_end_of_the_script
    assert_profile_after("", exitstatus: 0)
  end

  def test_profile_after_an_uncaught_exception
    assert_profile_after("raise 'at last'", exitstatus: 1, err: /script\.rb:3:in '<main>': at last \(RuntimeError\)/)
  end

  def test_profile_after_exit_and_abort
    assert_profile_after("exit 7", exitstatus: 7)
    assert_profile_after("abort 'aborted'", exitstatus: 1, err: "aborted\n")
    assert_profile_after("def deep(n) = n == 0 ? exit(5) : deep(n - 1); deep(100)", exitstatus: 5)
  end

  def test_profile_after_exit_in_at_exit
    assert_profile_after("at_exit { exit 9 }; exit 2", exitstatus: 9)
  end

  def test_profile_after_an_exception_in_at_exit
    assert_profile_after("at_exit { raise 'late' }", exitstatus: 1, err: /late \(RuntimeError\)/)
  end

  def test_profile_after_throw_without_catch_and_break_from_proc
    assert_profile_after("throw :nowhere", exitstatus: 1, err: /uncaught throw :nowhere/)
  end

  def test_profile_after_a_stack_overflow
    assert_profile_after("def down = down; down", exitstatus: 1, err: /stack level too deep/)
  end

  def test_profile_after_a_signal_that_still_ends_the_process
    %w[TERM INT HUP].each do |signal|
      assert_profile_after("Process.kill(:#{signal}, $$); sleep", termsig: Signal.list[signal],
                           err: signal == "INT" ? /Interrupt/ : "")
    end
  end

  def test_profile_after_a_signal_while_a_thread_waits
    assert_profile_after("Thread.new { sleep }; Thread.new { Process.kill(:TERM, $$) }; Queue.new.pop",
                         termsig: Signal.list["TERM"])
  end

  def test_profile_when_other_threads_are_running
    assert_profile_after(<<~RUBY, exitstatus: 0)
      turns = Queue.new
      turn = -> { Array.new(10) { 'x' * 50 }; turns.push(true) if turns.num_waiting > 0 }
      4.times { Thread.new { loop(&turn) } }
      100.times { turns.pop }
    RUBY
  end

  # It would if the GVL were given up for the last GC or the file: MRI's test_thread.rb expects "false".
  def test_other_threads_do_not_see_the_main_thread_sleep_at_exit
    profile_script(<<~RUBY) do |out, _, ran|
      ready = Queue.new
      Thread.new(Thread.current) do |main|
        ready.push nil
        main.run
        Thread.pass until main.stop?
        puts "stopped"
      ensure
        puts main.status
      end
      ready.pop
    RUBY
      assert_equal "false\n", ran.out
      refute_empty read_profile(out).to_a
    end
  end

  def test_profile_has_what_at_exit_blocks_keep_and_those_blocks_see_the_profiler
    profile_script("class Late; end; at_exit { $late = Array.new(7) { Late.new }; #{RUNNING} }") do |out, _, ran|
      assert_equal "true", ran.out
      assert_equal 7, read_profile(out).total(class_name: "Late", label: "block in <main>")
    end
  end

  def test_no_profile_after_exit_bang_and_exec
    run_here("exit!(4)") do |ran, files|
      assert_equal [4, "", []], [ran.status.exitstatus, ran.err, files]
    end
    run_here("exec('true')") do |ran, files|
      assert_equal [0, "", []], [ran.status.exitstatus, ran.err, files]
    end
  end

  def test_no_profile_when_the_program_has_stopped_the_profiler
    run_here("ObjectSpace::HeapProfile.stop") do |ran, files|
      assert_clean ran
      assert_empty files
    end
  end

  def test_exit_profile_is_of_what_is_reachable_unless_gc_0
    script = "class Gone; end; GC.disable; Array.new(500) { Gone.new }.clear"
    profile_script(script) { |out,| assert_operator read_profile(out).total(class_name: "Gone"), :<=, 3 }
    profile_script(script, settings: "interval=1,gc=0") do |out,|
      assert_equal 500, read_profile(out).total(class_name: "Gone")
    end
  end

  def test_finalizer_that_raises_in_the_last_gc_harms_nothing
    script = "100.times { ObjectSpace.define_finalizer(Object.new, proc { raise 'no' }) }; exit 6"
    run_here(script) do |ran, files|
      assert_equal 6, ran.status.exitstatus
      assert_equal %w[p.pb.gz], files
    end
  end

  # ---- the file ----

  UNWRITABLE = {
    "missing/p.pb.gz" => /cannot write .*missing\/p\.pb\.gz: No such file or directory/,
    "there" => /cannot write .*there: Is a directory/,
    "there/" => /cannot write .*there\/: Is a directory/,
    "new/" => /cannot write .*new\/: Is a directory/,
    "file/p.pb.gz" => /cannot write .*file\/p\.pb\.gz: Not a directory/,
    "loop" => /cannot write .*loop: too many links/,
    "#{'n' * 300}.gz" => /cannot write .*: File name too long/,
    "#{'long/' * 815}p.gz" => /cannot write .*: File name too long/,
  }.freeze

  def test_unwritable_output_is_one_line_at_start_and_the_program_runs_unprofiled
    UNWRITABLE.each do |out, message|
      in_directory do
        File.write("file", "")
        File.symlink("loop", "loop")
        Dir.mkdir("there")
        ran = run_ruby("--disable-gems", "-e", "#{RUNNING}; exit 3", heapprof: "interval=1k,out=#{out}")
        assert_one_line message, ran.err
        assert_match(/\Aruby: heap profiler: RUBY_HEAPPROF: .* \(running unprofiled\)$/, ran.err)
        assert_equal ["false", 3, %w[file loop there]], [ran.out, ran.status.exitstatus, Dir.children(".").sort]
      end
    end
  end

  def test_output_that_has_become_unwritable_is_one_line_and_the_exit_status_is_the_programs_own
    { "Dir.rmdir('there')" => /cannot write .*there\/p\.pb\.gz: No such file or directory/,
      "Dir.rmdir('there'); File.write('there', '')" => /cannot write .*: Not a directory/,
      "Dir.mkdir('there/p.pb.gz')" => /cannot write .*: Is a directory/ }.each do |change, message|
      in_directory do
        Dir.mkdir("there")
        ran = run_ruby("--disable-gems", "-e", "#{change}; exit 3", heapprof: "interval=1k,out=there/p.pb.gz")
        assert_one_line message, ran.err
        assert_equal 3, ran.status.exitstatus
        assert_empty Dir.glob("**/.heapprof-*", File::FNM_DOTMATCH)
      end
    end
  end

  def test_working_directory_that_is_gone_is_one_line_unless_the_name_is_absolute
    in_directory do |directory|
      { "p.pb.gz" => /\A[^\n]+the working directory is gone[^\n]+unprofiled\)\n\z/,
        "#{directory}/p.pb.gz" => /\A\z/ }.each do |out, message|
        Dir.mkdir("gone")
        ran = run_ruby("--disable-gems", "-e", <<~RUBY, EnvUtil.rubybin, "--disable-gems", "-e", "exit 3")
          Dir.chdir("gone")
          Dir.rmdir("../gone")
          exec({ "RUBY_HEAPPROF" => #{"out=#{out}".dump} }, *ARGV)
        RUBY
        assert_match message, ran.err
        assert_equal [3, out.start_with?("/")], [ran.status.exitstatus, File.exist?("p.pb.gz")]
      end
    end
  end

  # A directory and the file are two.
  def test_profile_is_written_by_a_process_at_its_limit_of_descriptors
    { "files = []; begin; loop { files << File.open(IO::NULL) }; rescue Errno::EMFILE; end" => [50, 51],
      "" => [2, 3] }.each do |change, limits|
      limits.each do |limit|
        script = "trap(:CLD) { abort 'a child of ours' }; Process.setrlimit(:NOFILE, #{limit}); #{change}; exit 3"
        run_here(script) do |ran, files|
          assert_equal ["", 3, ["p.pb.gz"]], [ran.err, ran.status.exitstatus, files], "#{limit}: #{change}"
        end
      end
    end
  end

  def test_full_disk_is_one_line_and_leaves_no_partial_file
    [0, 100].each do |limit|
      run_here("Process.setrlimit(:FSIZE, #{limit}); exit 3") do |ran, files|
        assert_one_line(/cannot write .*p\.pb\.gz: File too large/, ran.err)
        assert_equal [3, []], [ran.status.exitstatus, files]
      end
    end
  end

  def test_stderr_that_is_a_full_file_does_not_change_the_exit_status
    in_directory do
      script = "$stderr.reopen('err', 'w'); Process.setrlimit(:FSIZE, 0); exit 3"
      ran = run_ruby("--disable-gems", "-e", script, heapprof: "out=p.pb.gz")
      assert_equal [3, ""], [ran.status.exitstatus, File.read("err")]
    end
  end

  def test_older_profile_stays_when_the_new_one_cannot_be_written
    in_directory do
      File.write("p.pb.gz", "older")
      ran = run_ruby("--disable-gems", "-e", "Process.setrlimit(Process::RLIMIT_FSIZE, 100); trap(:XFSZ, 'IGNORE')",
                     heapprof: "interval=1k,out=p.pb.gz")
      assert_one_line(/cannot write/, ran.err)
      assert_equal ["older", %w[p.pb.gz]], [File.read("p.pb.gz"), Dir.children(".")]
    end
  end

  def test_older_profile_is_replaced
    in_directory do
      File.write("p.pb.gz", "older")
      assert_clean run_ruby("--disable-gems", "-e", "0", heapprof: "interval=1k,out=p.pb.gz")
      assert_equal %w[p.pb.gz], Dir.children(".")
      assert_operator read_profile("p.pb.gz").samples.size, :>, 0
    end
  end

  def test_name_has_pid_program_time_number_and_percent
    before = Time.now.to_i
    in_directory do
      path = write_file("my-program.rb", "print $$")
      ran = run_ruby("--disable-gems", path, heapprof: "interval=1k,out=%p_%e_%t_%n_%%")
      assert_clean ran
      name = (Dir.children(".") - ["my-program.rb"]).first
      assert_match(/\A#{ran.out}_my-program\.rb_(\d+)_0_%\z/, name)
      assert_includes before..Time.now.to_i, name[/_(\d+)_0_/, 1].to_i
    end
  end

  def test_program_that_changes_directory_leaves_the_file_where_it_began
    run_here("Dir.mkdir('elsewhere'); Dir.chdir('elsewhere')") do |ran, files|
      assert_clean ran
      assert_equal %w[elsewhere p.pb.gz], files
      assert_empty Dir.children("elsewhere")
    end
  end

  # Root in a directory like /tmp, where another user has put a link to a file of root's.
  def test_link_in_a_directory_that_others_may_write_to_is_not_followed
    [0o1777, 0o770].each do |mode|
      in_directory do
        File.write("victim", "precious")
        Dir.mkdir("shared")
        File.chmod(mode, "shared")
        File.symlink("../victim", "shared/p.pb.gz")
        File.symlink("..", "shared/up")
        %w[shared/p.pb.gz shared/up/new].each do |out|
          ran = run_ruby("--disable-gems", "-e", "exit 3", heapprof: "interval=1k,out=#{out}")
          assert_one_line(/cannot write .*link in a directory that others may write to/, ran.err)
          assert_equal [3, "precious"], [ran.status.exitstatus, File.read("victim")]
        end
        assert_equal [%w[shared victim], %w[p.pb.gz up]], [Dir.children("."), Dir.children("shared")].map(&:sort)
      end
    end
  end

  def test_link_that_is_put_there_while_the_program_runs_is_not_followed
    in_directory do
      File.write("victim", "precious")
      Dir.mkdir("shared")
      File.chmod(0o1777, "shared")
      ran = run_ruby("--disable-gems", "-e", "File.symlink('../victim', 'shared/p.pb.gz')",
                     heapprof: "interval=1k,out=shared/p.pb.gz")
      assert_one_line(/the profile was not written: .*link in a directory that others may write to/, ran.err)
      assert_equal "precious", File.read("victim")
    end
  end

  def test_link_in_a_directory_of_our_own_is_followed_and_stays
    in_directory do
      Dir.mkdir("real")
      File.symlink("real", "dir")
      File.symlink("dir/../real/p.pb.gz", "link.gz")
      assert_clean run_ruby("--disable-gems", "-e", "0", heapprof: "interval=1k,out=dir/../link.gz")
      assert_equal [%w[dir link.gz real], %w[p.pb.gz]], [Dir.children(".").sort, Dir.children("real")]
      assert_operator read_profile("real/p.pb.gz").samples.size, :>, 0
    end
  end

  def test_only_the_owner_may_read_a_profile
    run_here("File.umask(0)") do |ran, files|
      assert_clean ran
      assert_equal [0o100600] * files.size, files.map { |file| File.stat(file).mode }
    end
  end

  def test_name_may_be_as_long_as_the_file_system_takes
    name = "n" * 255
    run_here("", settings: "interval=1k,out=#{name}") do |ran, files|
      assert_clean ran
      assert_equal [name], files
    end
  end

  def test_standard_output_may_be_the_file
    in_directory do
      ran = run_ruby("--disable-gems", "-e", "0", heapprof: "interval=1k,out=/dev/stdout", encoding: "BINARY")
      assert_equal [true, ""], [ran.status.success?, ran.err]
      File.binwrite("p.pb.gz", ran.out)
      assert_operator read_profile("p.pb.gz").samples.size, :>, 0
    end
  end

  # As for any file that is not a regular one. Not shown with /dev/null: run by root, a profiler
  # that got this wrong would take the machine's.
  def test_pipe_is_written_to_and_not_replaced
    in_directory do
      File.mkfifo("pipe")
      reader = Thread.new { File.binread("pipe") }
      assert_clean run_ruby("--disable-gems", "-e", "0", heapprof: "interval=1k,out=pipe")
      assert_equal "fifo", File.ftype("pipe")
      File.binwrite("p.pb.gz", reader.value)
      assert_operator read_profile("p.pb.gz").samples.size, :>, 0
    end
  end

  # ---- programs of all kinds ----

  def test_every_process_writes_a_file_of_its_own
    run_here(<<~RUBY, settings: "interval=1k,out=%p.pb.gz") do |ran, files|
      pids = [$$, fork { exit 1 }, spawn(#{EnvUtil.rubybin.dump}, "--disable-gems", "-e", "0"), fork { exit!(0) }]
      Process.waitall
      puts pids
    RUBY
      assert_clean ran
      assert_equal ran.out.lines(chomp: true).first(3).map { |pid| "#{pid}.pb.gz" }.sort, files
      files.each { |file| assert_operator read_profile(file).samples.size, :>, 0 }
    end
  end

  def test_e_option_and_rubyopt_and_gems
    in_directory do
      assert_clean run_ruby("-e", RUNNING, heapprof: "interval=1,out=e.pb.gz"), out: "true"
      assert_clean run_ruby("-e", RUNNING, heapprof: "interval=4k,out=w.pb.gz", env: { "RUBYOPT" => "-w -rset" }), out: "true"
      assert_clean run_ruby("-n", "-e", "print $_", heapprof: "interval=4k,out=n.pb.gz", stdin: "line\n"), out: "line\n"
      assert_equal %w[e.pb.gz n.pb.gz w.pb.gz], Dir.children(".").sort
      assert_include read_profile("e.pb.gz").frames_of("<main>").map(&:path), "-e"
    end
  end

  def test_version_help_and_syntax_errors_end_as_ever
    in_directory do
      assert_clean run_ruby("--version", heapprof: "interval=4k"), out: "#{RUBY_DESCRIPTION}\n"
      ran = run_ruby("-e", "def", heapprof: "interval=4k")
      assert_equal 1, ran.status.exitstatus
      assert_match(/syntax error/, ran.err)
      ran = run_ruby("missing.rb", heapprof: "interval=4k")
      assert_one_line(/No such file or directory -- missing\.rb/, ran.err)
    end
  end

  def test_command_line_without_a_program_leaves_no_profile
    [%w[-v], %w[--version], %w[-h], %w[--help], %w[-c -e 0], %w[--dump=insns -e 0], %w[--unknown],
     %w[missing.rb]].each do |args|
      in_directory do
        run_ruby(*args, heapprof: "interval=4k")
        assert_empty Dir.children("."), args.inspect
      end
    end
    in_directory do
      run_ruby("-v", "-e", "exit", heapprof: "interval=4k,out=p.pb.gz")
      assert_equal %w[p.pb.gz], Dir.children(".")
    end
  end

  def test_miniruby_is_profiled_as_well
    miniruby = File.join(File.dirname(EnvUtil.rubybin), "miniruby")
    assert_path_exist miniruby, "miniruby is made with ruby, in the same directory"
    in_directory do
      ran = run_ruby("-e", "class Mini; end; $kept = Array.new(5) { Mini.new }; #{RUNNING}",
                     ruby: miniruby, heapprof: "interval=1,out=p.pb.gz")
      assert_clean ran, out: "true"
      assert_equal 5, read_profile("p.pb.gz").total(class_name: "Mini")
    end
  end
end
