# frozen_string_literal: true

# Forks: every way to make a child, and every way for it to end. A child goes on as an actor, then
# looks whether its own profiler still counts right, and ends as it was told.

require_relative "../lib/known"

module Torture
  class Forks < Actor
    def by_exit! = ended(0) { exit!(0) }
    def by_exit = ended(0) { exit(0) }
    def by_status = ended(7) { exit(7) }
    def by_return = ended(0) { :end }
    def by_exec = ended(0) { exec("/bin/true") }
    def by_abort = ended(1) { hush; abort("planned") }

    def by_exception
      ended(1) { hush; raise Planned }
    end

    def by_throw
      ended(1) { hush; throw :nowhere }
    end

    def by_signal
      name = sample(%w[KILL TERM])
      ended(nil, Signal.list[name]) { hush; Process.kill(name, Process.pid); sleep }
    end

    # Without a block both return from the same call.
    def in_line
      seed = next_seed
      pid = fork
      life(seed) { exit!(0) } if pid.nil?
      reap(pid, 0)
    end

    def raw
      seed = next_seed
      pid = Process._fork
      life(seed) { exit!(0) } if pid == 0
      reap(pid, 0)
    end

    def in_a_thread
      Thread.new { by_exit }.join
    end

    def in_a_fiber
      Fiber.new { by_return }.resume
    end

    def nested
      ended(0) { by_exit! }
    end

    def popen
      seed = next_seed
      IO.popen("-") do |io|
        if io
          Check.equal! "alive", io.read, "what the other side of popen said"
        else
          life(seed) { $stdout.write("alive") }
        end
      end
      Check.equal! 0, $?.exitstatus, "status of popen's child"
    end

    # The daemon tells through a pipe that it was well.
    def daemon
      reader, writer = IO.pipe
      seed = next_seed
      pid = fork do
        reader.close
        Process.daemon(true)
        life(seed) { writer.write("alive") }
      end
      writer.close
      reap(pid, 0)
      Check.equal! "alive", reader.read, "what the daemon said"
    end

    def under_profile
      return if Poke.steady
      seed = next_seed
      Poke.tolerant do
        HeapProfile.profile(gc: one_in(2), **Settings.start(@random)) do
          reap(fork { life(seed) { mark } }, 0)
        end
      end
    end

    def while_writing
      path = File.join(@world.folder, "fork-#{Process.pid}-#{@name}.gz")
      over = false
      thread = Thread.new { Poke.tolerant { HeapProfile.snapshot.write(path) } until over }
      rand(1..5).times { by_exit! }
    ensure
      over = true
      thread&.join
    end

    def while_allocating
      over = false
      thread = Thread.new { Array.new(50) { |i| [i] } until over }
      rand(1..5).times { by_exit }
    ensure
      over = true
      thread&.join
    end

    def while_collecting
      begin_marking
      rand(10..500).times { keep(mark) }
      by_return
    end

    # Which Ruby reports on stderr.
    def with_finalizers_that_raise
      ended(0) do
        hush
        rand(1..20).times { ObjectSpace.define_finalizer(mark, ->(_id) { raise Planned }) }
        Poke.tolerant { HeapProfile.snapshot(gc: true) }
        exit(0)
      end
    end

    def commands
      Check.true! system("/bin/true"), "true is false"
      Check.equal! "x\n", `echo x`, "echo"
      Process.wait(spawn("/bin/true", pgroup: true))
    end

    private

    def ended(status, signal = nil, &ending)
      seed = next_seed
      reap(fork { life(seed, &ending) }, status, signal)
    end

    def life(seed)
      go_on(seed)
      Signals.ignore
      yield
    end

    def go_on(seed)
      calm
      Poke.steady = false
      random = Torture.random(seed, 1)
      type = [Allocation, Code, Collection, Fibers, Unwinding, Profiling].sample(random: random)
      type.new(@world, "#{@name}>#{Process.pid}", seed).run(random.rand(0..3))
      Known.check(random) if random.rand(3) == 0
    rescue Exception => e # nothing may end it early
      Check.fail!("in a forked child: #{e.full_message(highlight: false)}")
    end

    # What a child says when it ends is expected, but not by who watches the episode.
    def hush
      $stderr.reopen(File::NULL, "w")
    end

    def reap(pid, status, signal = nil)
      ended = Process.wait2(pid)[1]
      Check.equal! [status, signal], [ended.exitstatus, ended.termsig], "how the child ended"
    end
  end
end
