# frozen_string_literal: true

# child.rb - one episode's process: started, waited for, and judged. It passes when it exits with 0
# in time, has said nothing, and no process of it is left.
#
# It and all that it forks hold the writing end of a pipe, the lifeline: at end of file all of
# them have ended. Those still there after a failure are found by a variable in their environment.

module Torture
  class Child
    VARIABLE = "TORTURE_EPISODE"

    attr_reader :failure

    def initialize(command, environment, folder, limit)
      @command, @folder, @limit = command, folder, limit
      @mark = "#{folder}-#{Process.pid}"
      @environment = environment.merge(VARIABLE => @mark)
    end

    # nil, or what went wrong.
    def run
      lifeline, held = IO.pipe
      pid = spawn(@environment, *@command, in: File::NULL, out: path("out"), err: path("err"),
                  held => held, pgroup: true, chdir: @folder)
      held.close
      in_time = lifeline.wait_readable(@limit)
      note_backtraces unless in_time
      left = in_time ? left_by(pid) : []
      kill_left unless in_time
      status = Process.wait2(pid)[1]
      @failure = left.empty? ? judge(in_time, status) : "left processes behind"
    ensure
      kill_left
      lifeline&.close
    end

    def text(name)
      File.read(path(name)) if File.exist?(path(name))
    end

    private

    def path(name)
      File.join(@folder, name)
    end

    def judge(in_time, status)
      return "hangs: not over after #{@limit} s; see backtraces" unless in_time
      return "ended by #{status.inspect}" unless status.success?
      return "wrote to stderr" unless said.empty?
      return "wrote to stdout" unless text("out").empty?
      return "left a temporary file" unless Dir.glob(path(".heapprof-*")).empty?
      "wrote a damaged profile" unless Dir.glob(path("*.pb.gz")).all? { |file| whole?(file) }
    end

    # Ruby warns of RUBY_FREE_AT_EXIT at any level of warnings. Intervals that double are as it should be in a small budget,
    # and signals may come faster than graphs are written.
    def said
      text("err").delete_prefix("#{@command[0]}: warning: Free at exit is experimental and may be unstable\n")
                 .gsub(/^ruby: heap profiler: the profile has fewer samples than were asked for: .*\n/, "")
                 .gsub("ruby: heap profiler: RUBY_HEAPGRAPH: no dump: the one before is still being written\n", "")
    end

    def whole?(file)
      system("gzip", "-t", file, err: path("gzip"))
    end

    # A copy that writes a graph has let go of the lifeline, and may write on when its parent has ended.
    def left_by(pid)
      left = processes - [pid]
      return left unless @environment["RUBY_HEAPGRAPH"]
      100.times do
        break if left.empty?
        sleep 0.1
        left = processes - [pid]
      end
      left
    end

    # Its processes, also those that have left its group.
    def processes
      wanted = "#{VARIABLE}=#{@mark}\0"
      Dir.children("/proc").grep(/\A\d+\z/).map(&:to_i).select do |pid|
        pid != Process.pid && "#{File.binread("/proc/#{pid}/environ")}\0".include?(wanted)
      rescue SystemCallError
        false
      end
    end

    def kill_left
      while (left = processes).any?
        left.each { |pid| kill(pid) }
      end
    end

    def kill(pid)
      Process.kill(:KILL, pid)
    rescue Errno::ESRCH
      nil # it has ended meanwhile
    end

    def note_backtraces
      processes.each do |pid|
        File.write(path("backtraces"), "==== #{pid}\n#{kernel_stacks(pid)}\n", mode: "a")
        system("gdb", "-p", pid.to_s, "-batch", "-ex", "set pagination off", "-ex", "thread apply all bt 60",
               in: File::NULL, out: [path("backtraces"), "a"], err: File::NULL)
      end
    end

    def kernel_stacks(pid)
      Dir.glob("/proc/#{pid}/task/*").map do |task|
        "#{task}: #{%w[comm wchan syscall].map { |name| read(File.join(task, name)) }.join(' | ')}"
      end.join("\n")
    end

    def read(file)
      File.read(file).chomp
    rescue SystemCallError => e
      e.class.name
    end
  end
end
