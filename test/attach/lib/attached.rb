# frozen_string_literal: true

# attached.rb - what these tests share: a ruby that runs beside, and `heapprof` that reads it.

require "pathname"
require_relative "../../cli/lib/held"
require_relative "../../cli/lib/heapprof_command"

module Attached
  include HeapprofCommand

  RUBY = [EnvUtil.rubybin, "--disable-gems"].freeze

  # Other users run what is built. Where the clone lies below a folder that they may not enter, as /root is, they cannot.
  def needs_other_users
    omit "needs root, to be other users" unless Process.uid.zero?
    Pathname.new(PROGRAM).ascend do |path|
      omit "needs a clone that other users may enter: #{path}" if path.directory? && (path.stat.mode & 1).zero?
    end
  end

  # Whether a process may read another of the same user at all; a container may forbid it.
  def self.permitted?
    @permitted ||= begin
      pid = Process.spawn("sleep", "60")
      File.open("/proc/#{pid}/mem", "rb", &:close)
      [true]
    rescue Errno::EACCES, Errno::EPERM
      [false]
    ensure
      Process.kill(:KILL, pid)
      Process.wait(pid)
    end
    @permitted.first
  end

  def setup
    super
    omit "this system lets no process read another" unless Attached.permitted?
  end

  # Runs a script beside us until the block ends; yields its pid when it has said that it is ready, and the
  # end of a pipe that is its stdin. $ready.call says so, and then $told is true: what compacts waits for that, because in MRI a
  # write beside it may fail (doc/upstream-bugs: compaction-efault.rb).
  def beside(script, *arguments, ruby: RUBY, env: {})
    input, output = IO.pipe, IO.pipe
    prelude = "$ready = -> { $stdout.syswrite(%(ready\\n)); $told = true }\n"
    clean = { "RUBYOPT" => nil, "RUBY_HEAPPROF" => nil }
    pid = Process.spawn(clean.merge(env), *ruby, *arguments, "-e", prelude + script, in: input[0], out: output[1])
    output[1].close
    assert_equal "ready\n", output[0].gets
    yield pid, input[1], output[0]
  ensure
    Process.kill(:KILL, pid) if pid
    Process.wait(pid) if pid
    [*input, *output].each { |io| io.close unless io.closed? }
  end

  # Runs `heapprof record` and yields its bell, each ring of which is a look, its stdin, its stdout and its pid. It records until the block
  # ends, if its target does not end before. Its clock goes by the bell alone: a look, a period.
  def record_by_bell(*arguments, env: {})
    bell = Held::Bell.new
    command = [PROGRAM, "record", "--duration=100000", *arguments.map(&:to_s)]
    Open3.popen3(ENVIRONMENT.merge(env, bell.env, "HELD_STEP" => "0"), *command, **bell.descriptors) do |input, out, err, process|
      bell.begun
      errors = Thread.new { err.read }
      yield bell, input, out, process.pid
      Process.kill(:INT, process.pid) if bell.ring
      bell.ring_out
      [input, out].each { |io| io.set_encoding("UTF-8") unless io.closed? }
      return Ran.new(out.read, errors.value.force_encoding("UTF-8"), process.value.exitstatus)
    ensure
      Process.kill(:KILL, process.pid) if process.alive?
    end
  ensure
    bell&.close
  end

  # So many looks. With the number of a thread that is busy, or of a process, which is its main thread: it has run before each
  # (ring_as_it_runs).
  def record_looks(looks, *arguments, running: nil)
    record_by_bell(*arguments) { |bell,| running ? ring_as_it_runs(bell, looks, running) : bell.ring(looks) }
  end

  # So many looks, before each of which the target has run.
  def ring_as_it_runs(bell, looks, pid)
    looks.times do
      await_progress(pid)
      bell.ring
    end
  end

  # Waits until a processor has run the thread again: otherwise each look would see it at the same place. On a busy machine, a thread that
  # waits for a processor is not stopped.
  def await_progress(pid)
    time = -> { File.read("/proc/#{pid}/schedstat").to_i }
    before = time.call
    Thread.pass while time.call == before
  end

  # The threads that `heapprof stacks --json` shows.
  def threads(pid, *arguments)
    heapprof!("stacks", "--json", *arguments, pid).json.first["threads"]
  end

  def labels(thread) = thread["frames"].map { |frame| frame["label"] }

  # The threads, asked for again until the block is content with them.
  def threads_until(pid, *arguments)
    deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 30
    loop do
      all = threads(pid, *arguments)
      return all if yield all
      flunk all.inspect if Process.clock_gettime(Process::CLOCK_MONOTONIC) > deadline
    end
  end

  # Stacks of functions of `heapprof record --to collapsed`, outermost first, by how much of the time they take.
  def collapsed(text)
    stacks = Hash.new(0)
    text.each_line do |line|
      frames = line[/\A(.*) \d+$/, 1].split(";").map { |frame| frame.sub(/ \([^()]*:\d+\)\z/, "") }
      stacks[frames] += line[/\d+$/].to_i
    end
    stacks
  end
end
