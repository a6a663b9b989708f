# frozen_string_literal: true
#
# test_anywhere.rb - wherever a Ruby runs and whatever becomes of it, it is read, or one line says why not: other
# namespaces and roots, executables that are stripped, gone or replaced, exec, children, numbers that are used again,
# other tracers and limits.

require_relative "lib/attached"
require "rbconfig"

class TestHeapprofAnywhere < Test::Unit::TestCase
  include Attached

  NAMESPACES = {
    "mount" => %w[--mount], "pid" => %w[--pid --mount-proc], "user" => %w[--user --map-root-user],
    "all" => %w[--mount --pid --mount-proc --user --map-root-user --uts --ipc --net],
  }.freeze

  WORK = <<~'RUBY'
    def spin = loop { 1 + 1 }
    def rest = ($ready.call; sleep)
    Thread.new { Thread.current.name = "spins"; spin }
    rest
  RUBY
  RESTS = ["Kernel#sleep", "Object#rest", "<main>"].freeze

  # It is there with both threads, and the one that runs is stopped by its number here.
  def assert_read(pid, message = nil)
    all = threads_until(pid) { |found| found.size == 2 && labels(found[0]).first == "Kernel#sleep" }
    assert_equal RESTS, labels(all[0]), message
    assert_equal ["Kernel#loop", "Object#spin", "block in <main>"], labels(all[1]).last(3), message
    ran = record(pid)
    looks, not_stopped = ran.err[/: (\d+) looks/, 1].to_i, ran.err[/(\d+) times a thread could not be stopped/, 1].to_i
    assert_operator not_stopped, :<, looks, message
    assert_includes collapsed(ran.out).keys.flatten, "Object#spin", message
  end

  # Of some looks, or of those that the block asks for (record_by_bell).
  def record(*arguments, &block)
    block ||= ->(bell, *) { bell.ring(30) }
    ran = record_by_bell("--to=collapsed", *arguments, &block)
    assert_equal 0, ran.status, ran.err
    assert_match(/^heapprof record: [\d,]+ looks? in .* not read$/, ran.err)
    ran
  end

  def need(program, *arguments)
    return if system(program, *arguments, out: File::NULL, err: File::NULL)
    omit "not permitted, or not installed: #{[program, *arguments].join(" ")}"
  end

  # ---- namespaces and roots ----

  # Yields the number that we know it by: of the child that unshare has made.
  def beside_in(options, script = WORK, ruby: RUBY, env: {})
    need("unshare", *(options - %w[--root]).grep(/\A--/), "--fork", "true")
    beside(script, ruby: ["unshare", *options, "--fork", "--kill-child", *ruby], env: env) do |unshare, *pipes|
      yield Integer(File.read("/proc/#{unshare}/task/#{unshare}/children")), *pipes
    end
  end

  NAMESPACES.each do |name, options|
    define_method("test_other_namespaces_#{name}") do
      beside_in(options) { |pid| assert_read pid, name }
    end
  end

  # Its threads have other numbers there than here.
  def test_a_pid_namespace_of_its_own
    beside_in(NAMESPACES["pid"]) do |pid|
      all = threads_until(pid) { |found| found.size == 2 && labels(found[1]).include?("Object#spin") }
      native = all.map { |thread| thread["native_id"] }
      assert_equal 1, native.first
      refute_equal 1, pid
      inside = Dir["/proc/#{pid}/task/*/status"].map { |status| File.read(status)[/^NSpid:.*\t(\d+)$/, 1].to_i }
      assert_equal native, native & inside
    end
  end

  # From within, as from a container beside it, where the process is number 1.
  def test_from_within
    need("nsenter", "--version")
    beside_in(NAMESPACES["all"]) do |pid|
      out, err, status = Open3.capture3("nsenter", "--target", pid.to_s, "--all", PROGRAM, "stacks", "1")
      assert_equal ["", true], [err, status.success?]
      assert_match(/\Aprocess 1\nThread 1 \(main\): \w+, native thread 1\n.*in 'Object#rest'\n.*in '<main>'\nThread 2 "spins": .*in 'Object#spin'\n/m, out)
    end
  end

  # Root of a user namespace has no rights over what is outside of it.
  def test_from_a_user_namespace_to_outside
    need("unshare", *NAMESPACES["user"], "true")
    beside(WORK) do |pid|
      %w[stacks record snapshot].each do |command|
        out, err, status = Open3.capture3("unshare", *NAMESPACES["user"], PROGRAM, command, pid.to_s)
        assert_equal ["", 1, 1], [out, status.exitstatus, err.lines.size]
        assert_match(/\Aheapprof #{command}: process #{pid}: not permitted.* user namespace/, err)
      end
    end
  end

  def test_without_proc
    need("unshare", "--mount", "umount", "-l", "/proc")
    beside(WORK) do |pid|
      out, status = Open3.capture2e("unshare", "--mount", "sh", "-c", 'umount -l /proc; exec "$0" "$@"', PROGRAM, "stacks", pid.to_s)
      assert_equal ["heapprof stacks: process #{pid}: /proc is not mounted here, and nothing can be read without it\n", 1],
                   [out, status.exitstatus]
    end
  end

  # With nothing but what ruby cannot do without, stripped, under other names: a container of one program.
  def test_another_root
    in_directory do |root|
      copy_ruby("#{root}/app")
      libraries_of("#{root}/app").each { |path| copy(path, root) }
      Dir.mkdir("proc")
      beside_in(["--mount", "--pid", "--mount-proc=/proc", "--root", root], ruby: ["/app", "--disable-gems"], env: { "RUBYLIB" => nil }) do |pid|
        assert_read pid
        refute_equal File.stat("/").ino, File.stat("/proc/#{pid}/root/").ino
      end
    end
  end

  def test_a_profiled_process_in_other_namespaces
    beside_in(NAMESPACES["all"], PROFILED, env: { "RUBY_HEAPPROF" => "interval=512,out=" }) { |pid| assert_heap_read pid }
  end

  PROFILED = "def keep = 5_000.times.map { Object.new }\n$kept = keep\n$ready.call\nsleep"

  def assert_heap_read(pid)
    in_directory do
      ran = heapprof("snapshot", pid, "-o", "heap.pb.gz")
      assert_equal 0, ran.status, ran.err
      assert_match "Object#keep", heapprof!("top", "heap.pb.gz").out
    end
  end

  # ---- the executable ----

  def copy_ruby(path)
    need("strip", "--version")
    FileUtils.cp(EnvUtil.rubybin, path)
    assert system("strip", "--strip-all", path)
  end

  def copy(path, root)
    FileUtils.mkdir_p(File.dirname(root + path))
    FileUtils.cp(path, root + path)
  end

  def libraries_of(program)
    IO.popen(["ldd", program], &:read).scan(%r{(?:=> )?(/\S+) \(0x}).flatten
  end

  def test_an_executable_that_is_stripped_then_deleted_then_another
    in_directory do |directory|
      app = "#{directory}/app"
      copy_ruby(app)
      beside(WORK, ruby: [app, "--disable-gems"]) do |pid|
        assert_read pid, "stripped"
        File.delete(app)
        assert_match(/ \(deleted\)\z/, File.readlink("/proc/#{pid}/exe"))
        assert_read pid, "deleted"
        FileUtils.cp("/bin/sh", app)
        assert_read pid, "replaced"
      end
    end
  end

  def test_the_heap_of_an_executable_that_was_replaced
    in_directory do |directory|
      app = "#{directory}/app"
      copy_ruby(app)
      beside(PROFILED, ruby: [app, "--disable-gems"], env: { "RUBY_HEAPPROF" => "interval=512,out=" }) do |pid|
        File.delete(app)
        File.write(app, "\x7FELF" + "upgraded" * 100)
        assert_heap_read pid
      end
    end
  end

  # ---- exec, fork, vfork ----

  # Many looks' time: processes are looked for anew five times a second.
  LONG = 50

  def test_exec_to_something_else_and_back
    after = "def after = ($stdout.syswrite(%(after\n)); loop { 1 + 1 }); after"
    shell = "echo shell; read line; exec #{EnvUtil.rubybin} --disable-gems -e '#{after}'"
    beside("$ready.call; $stdin.gets; exec('/bin/sh', '-c', #{shell.dump})") do |pid, input, output|
      threads_until(pid) { |all| labels(all.first).first == "IO#gets" }
      ran = record(pid, "--idle") do |bell,|
        assert bell.ring
        ["shell\n", "after\n"].each do |said|
          input.puts
          assert_equal said, output.gets
          assert bell.ring(LONG)
        end
      end
      stacks = collapsed(ran.out).keys.flatten
      assert_includes stacks, "IO#gets"
      assert_includes stacks, "Object#after"
    end
  end

  def test_a_command_that_becomes_a_ruby_late
    late = "def late = ($stdout.syswrite(%(late\n)); $stdin.gets); late; puts %(done)"
    ran = record("--idle", "--", "/bin/sh", "-c", "read line; exec #{EnvUtil.rubybin} --disable-gems -e '#{late}'") do |bell, input, out|
      assert bell.ring(LONG)
      input.puts
      assert_equal "late\n", out.gets
      assert bell.ring(LONG)
      input.puts
      bell.ring_out
    end
    assert_equal "done\n", ran.out[/^done\n/]
    assert_includes collapsed(ran.out.sub("done\n", "")).keys.flatten, "Object#late"
  end

  # spawn is vfork and exec: until exec the child has its parent's memory, and is not to be taken for it.
  def test_children_that_are_spawned_and_forked
    script = <<~RUBY
      def in_fork = ($stdout.syswrite("forked\\n"); loop { 1 + 1 })
      def in_parent = loop { system("true"); `true`; Process.wait(fork { exit! }); ($count += 1) == 1 && $stdout.syswrite("round\\n") }
      $count = 0
      spawn(#{EnvUtil.rubybin.dump}, "--disable-gems", "-e", "def in_spawned = ($stdout.syswrite(%(spawned\\n)); loop { 1 + 1 }); in_spawned")
      spawn("sleep", "60")
      fork { in_fork }
      trap(:USR1) { $stdout.syswrite("\#{$count} rounds\\n") }
      $ready.call
      in_parent
    RUBY
    in_group(script) do |pid, output|
      assert_equal %W[forked\n ready\n round\n spawned\n], Array.new(4) { output.gets }.sort
      ran = record(pid, "--rate=500", "--children", "--idle") { |bell,| assert bell.ring(300) }
      functions = collapsed(ran.out).keys.flatten
      %w[Object#in_parent Object#in_fork Object#in_spawned].each { |name| assert_includes functions, name }
      Process.kill(:USR1, pid)
      assert_operator output.gets.to_i, :>, 0
    end
  end

  # As beside, of a group of processes that end together.
  def in_group(script)
    output, ours = IO.pipe
    pid = Process.spawn({ "RUBYOPT" => nil }, *RUBY, "-e", "$ready = -> { $stdout.syswrite(%(ready\\n)) }\n#{script}",
                        out: ours, pgroup: true)
    ours.close
    yield pid, output
  ensure
    Process.kill(:KILL, -pid)
    Process.wait(pid)
    output.close
  end

  # ---- ends, and numbers that are used again ----

  def test_a_process_that_is_killed_while_it_is_read
    script = "def deep(n) = n == 0 ? loop { Array.new(3) { |i| i.to_s } } : [1].each { deep(n - 1) }\n" \
             "8.times { Thread.new { deep(100) } }\n$ready.call\ndeep(100)"
    8.times do |i|
      beside(script) do |pid|
        killer = Thread.new { sleep 0.02 * i; Process.kill(:KILL, pid) }
        ran = heapprof("record", pid, "--rate=5000", "--stop", %w[auto always never][i % 3], "--duration=20", "--to=collapsed")
        killer.join
        assert_includes [0, 1], ran.status, ran.err
        assert_match(/\Aheapprof record: process #{pid}: /, ran.err) if ran.status == 1
      end
    end
  end

  HELD = File.expand_path("../cli/lib/held.rb", __dir__)

  # In a pid namespace of its own, where the next number is ours to say: `again.(pid) { }` ends a process, and starts
  # another of the same number.
  REUSE = <<~'RUBY'
    program, ruby, kind = ARGV
    start = ->(script) do
      (read, write), (stdin, input) = IO.pipe, IO.pipe
      pid = Process.spawn(ruby, "--disable-gems", "-e", script, in: stdin, out: write)
      write.close
      read.read(1)
      [pid, input]
    end
    rest = kind == "exec" ? "$stdin.gets; exec('sleep', '60')" : "loop { 1 + 1 }"
    old, input = start.("def of_the_old = ($stdout.syswrite(%(r)); #{rest}); of_the_old")
    bell = Held::Bell.new
    recorder = Process.spawn(bell.env, program, "record", old.to_s, "--to=collapsed", "--output=out", "--duration=100000", "--idle",
                             **bell.descriptors)
    bell.begun
    long = 50
    abort "it ended" unless bell.ring(long)
    if kind == "exec"
      input.puts
      Thread.pass until File.basename(File.readlink("/proc/#{old}/exe")) == File.basename(File.realpath("/bin/sleep"))
      bell.ring(long)
    end
    Process.kill(:KILL, old)
    Process.wait(old)
    File.write("/proc/sys/kernel/ns_last_pid", (old - 1).to_s)
    new, = start.("def of_the_new = ($stdout.syswrite(%(r)); loop { 1 + 1 }); of_the_new")
    abort "#{new} is not #{old}" if new != old
    bell.ring(long)
    Process.kill(:KILL, new)
    Process.kill(:INT, recorder)
    bell.ring_out
    Process.wait(recorder)
    puts $?.exitstatus
  RUBY

  %w[running exec].each do |kind|
    define_method("test_a_number_that_is_used_again_#{kind}") do
      need("unshare", "--pid", "--mount-proc", "--fork", "sh", "-c", "echo 100 > /proc/sys/kernel/ns_last_pid")
      in_directory do
        held = "module Held; def self.library = #{Held.library.dump}; end\n"
        out, err, status = Open3.capture3("unshare", "--pid", "--mount-proc", "--fork", "--kill-child", *RUBY, "-r", HELD, "-e", held + REUSE,
                                          PROGRAM, EnvUtil.rubybin, kind)
        assert status.success?, err
        assert_equal "0\n", out, err
        functions = collapsed(File.read("out")).keys.flatten
        assert_includes functions, "Object#of_the_old"
        refute_includes functions, "Object#of_the_new"
      end
    end
  end

  # ---- others who trace it, and limits ----

  def test_another_tracer
    need("strace", "-o", File::NULL, "true")
    beside(WORK) do |pid|
      tracer = Process.spawn("strace", "-f", "-o", File::NULL, "-p", pid.to_s, err: File::NULL)
      Thread.pass until Dir["/proc/#{pid}/task/*/status"].all? { |status| !File.read(status).include?("TracerPid:\t0\n") }
      threads_until(pid) { |all| labels(all.first) == RESTS }
      ran = record(pid, "--stop=always")
      assert_match(/^heapprof record: \d+ times a thread could not be stopped, and was read as it ran$/, ran.err)
      assert_includes collapsed(ran.out).keys.flatten, "Object#spin"
    ensure
      Process.kill(:TERM, tracer)
      Process.wait(tracer)
    end
  end

  # A debugger that holds all of its threads still.
  def test_a_debugger
    need("gdb", "--version")
    beside(WORK) do |pid|
      debugger = IO.popen(["gdb", "--nx", "--quiet", "-p", pid.to_s], "r+", err: File::NULL)
      debugger.puts "set confirm off", "echo attached\\n"
      nil until debugger.gets.include?("attached")
      all = threads(pid)
      assert_equal ["Object#rest", "Object#spin"], all.map { |thread| labels(thread)[-2] }
      debugger.puts "quit"
      debugger.close
    end
  end

  def test_few_files
    beside(WORK) do |pid|
      (4..12).each do |files|
        out, err, status = Open3.capture3(PROGRAM, "stacks", pid.to_s, rlimit_nofile: files)
        next assert_includes(out, "'Object#rest'") if status.success?
        assert_equal [1, 1], [status.exitstatus, err.lines.size], err
        assert_match(/\Aheapprof stacks: process #{pid}: .*(open files|too many|Too many)/, err)
        assert_operator files, :<, 10
      end
    end
  end

  def test_limits_of_the_process_do_not_matter
    clean = { "RUBYOPT" => nil, "RUBY_HEAPPROF" => nil }
    read, write = IO.pipe
    pid = Process.spawn(clean, *RUBY, "-e", "$stdout.syswrite(%(r)); sleep", out: write, rlimit_nofile: 10, rlimit_core: 0)
    read.read(1)
    assert_equal "<main>", labels(threads(pid).first).last
  ensure
    Process.kill(:KILL, pid)
    Process.wait(pid)
    [read, write].each(&:close)
  end

  # ---- what is no Ruby ----

  # Its own memory has in it what it looks for in others'.
  def test_itself
    [%w[stacks], %w[record], %w[snapshot -o never.pb.gz]].each do |command|
      out, err, status = Open3.capture3("/bin/sh", "-c", 'exec "$0" "$@" $$', PROGRAM, *command)
      assert_equal ["", 1], [out, status.exitstatus]
      assert_match(/\Aheapprof #{command.first}: process \d+: it is not a ruby/, err)
    end
  end

  def test_another_heapprof
    beside(WORK) do |pid|
      record(pid) do |bell, _, _, other|
        assert bell.ring
        assert_refused 1, /process #{other}: it is not a ruby/, "stacks", other
      end
    end
  end

  def test_a_command_that_is_no_ruby
    ran = record_by_bell("--", "/bin/sh", "-c", "echo up; exec cat") do |bell, input, out|
      assert_equal "up\n", out.gets
      assert bell.ring(LONG)
      input.close
      bell.ring_out
    end
    assert_equal ["", 1], [ran.out, ran.status]
    assert_match(/\Aheapprof record: process \d+: it is not a ruby.*\n\z/, ran.err)
    assert_refused 1, /\Aheapprof record: (process \d+: )?it (is not a ruby|has ended|ended before)/, "record", "--", "true"
  end

  def test_numbers_and_operands
    %w[stacks record snapshot watch].each do |command|
      [0, 4194304, 1 << 200].each { |pid| assert_refused 1, /there is no such process/, command, pid }
      assert_refused 2, /-1 is not an option/, command, "-1"
    end
    assert_refused 2, /usage/, "record"
    assert_refused 2, /usage/, "snapshot"
    assert_refused 2, /usage/, "watch"
    assert_refused 2, /this command takes at most 1 argument /, "snapshot", 1, 2
    assert_refused 2, /this command takes 1 argument /, "watch", 1, 2
    assert_refused 2, /takes no arguments/, "serve", 1
    assert_refused 1, /no-ruby: no Ruby process/, "snapshot", "no-ruby"
  end
end
