# frozen_string_literal: true
#
# test_core.rb - heapprof stacks --core reads a core file of a process of AArch64: qemu writes one when the process crashes.

require_relative "../cli/lib/heapprof_command"

class TestHeapprofAarch64Core < Test::Unit::TestCase
  include HeapprofCommand

  # Two threads; the program prints what MRI says of both, and ends by a signal.
  PROGRAM_TEXT = <<~'RUBY'
    def deep(n, name) = n == 0 ? crash(name) : deep(n - 1, name)
    def frames(thread) = thread.backtrace_locations.map { |at| [at.label, at.lineno] }
    def crash(name)
      puts [frames(Thread.current).drop(3), frames(Thread.list[1])].inspect
      $stdout.flush
      Process.kill(:ABRT, $$)
      sleep
    end
    def rest = sleep
    Thread.new { rest }.name = "rests"
    Thread.pass until Thread.list[1].status == "sleep"
    deep(3, "Ada")
  RUBY

  def test_stacks_of_a_core_are_those_that_the_program_has_seen
    in_core do |core, (main, rests)|
      threads = heapprof!("stacks", "--json", "--core=#{core}").json.first["threads"]
      assert_equal [[true, nil], [false, "rests"]], threads.map { |thread| thread.values_at("main", "name") }
      seen = threads.map { |thread| thread["frames"].map { |frame| frame.values_at("label", "line") } }
      assert_equal main, seen[0].last(main.size)
      assert_equal rests, seen[1]
    end
  end

  def test_locals_of_a_core
    in_core do |core,|
      text = heapprof!("stacks", "--values", "--core=#{core}").out
      assert_match(/in 'Object#deep'\n        n: 3\n        name: "Ada"\n/, text)
    end
  end

  private

  # qemu and the kernel write a core each, of what it has emulated and of qemu.
  def in_core
    in_directory do
      File.write("program.rb", PROGRAM_TEXT)
      out, err, status = Open3.capture3(EnvUtil.rubybin, "--disable-gems", "program.rb", rlimit_core: Process::RLIM_INFINITY)
      assert_equal Signal.list["ABRT"], status.termsig, err
      core, = Dir["qemu_*.core"]
      assert core, "qemu has written no core: #{err}"
      yield core, eval(out)
    end
  end
end
