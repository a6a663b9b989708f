# frozen_string_literal: true

# test_at.rb - heapprof start --at and heapprof serve --at: a process that was started with nothing set writes a profile when its memory crosses
# a mark, as with RUBY_HEAPPROF=at=. What cannot be is one line.

require_relative "lib/attached"

class TestHeapprofAt < Test::Unit::TestCase
  include Attached

  # Each line of stdin says how many megabytes are wanted; then it waits for a file of that mark, and says its name.
  GROWS = <<~'RUBY'
    def rss = File.read("/proc/self/statm").split[1].to_i * 4096
    def grow(bytes) = loop { rss < bytes ? ($kept ||= []) << "x" * 200_000 : break }
    def file(mark) = Dir["*-at#{mark}m-*.pb.gz"].first
    $ready.call
    while (line = $stdin.gets)
      grow(line.to_i << 20)
      sleep 0.005 until file(line.to_i)
      $stdout.syswrite("#{file(line.to_i)}\n")
    end
  RUBY

  # A copy of a process that writes all objects goes on when the process has ended.
  def in_directory
    super do |directory|
      yield directory
    ensure
      sleep 0.005 while works_in?(File.realpath(directory))
    end
  end

  def works_in?(directory)
    Dir["/proc/[0-9]*/cwd"].any? do |path|
      File.readlink(path) == directory && path[/\d+/].to_i != Process.pid
    rescue SystemCallError
      false
    end
  end

  def assert_marked(first, pid, *options)
    ran = heapprof("start", pid, *options)
    assert_equal [0, ""], [ran.status, ran.err]
    assert_equal "process #{pid} is profiled now, and writes #{first} when memory comes to its first mark; heapprof stop #{pid} ends it\n",
                 ran.out
  end

  def stop(pid) = assert_equal(0, heapprof("stop", pid).status)

  def assert_profile(path)
    assert_equal 0o100600, File.stat(path).mode
    assert_match(/^Verdict: strings\..*^The line of the application that holds most: -e:\d+:in 'Object#grow'/m, heapprof!("postmortem", path).out)
  end

  # ---- start --at ----

  def test_each_mark_writes_a_file
    in_directory do |directory|
      beside(GROWS) do |pid, input, output|
        assert_marked("#{directory}/heapprof-#{pid}-at80m-1.pb.gz", pid, "--at=80m/120m")
        input.puts 80
        assert_equal "heapprof-#{pid}-at80m-1.pb.gz\n", output.gets
        input.puts 120
        assert_equal "heapprof-#{pid}-at120m-2.pb.gz\n", output.gets
        assert_profile("heapprof-#{pid}-at120m-2.pb.gz")
        input.close
      end
    end
  end

  # Relative to where heapprof is, not the process.
  def test_the_name_is_the_users
    in_directory do |directory|
      beside(GROWS) do |pid, input, output|
        Dir.mkdir("50%")
        Dir.chdir("50%") { assert_marked("#{directory}/50%/app-#{pid}-at80m-1.pb.gz", pid, "--at=80m", "-o", "app.pb.gz") }
        stop(pid)
        assert_marked("#{directory}/ruby-#{pid}-at80m-1.pb.gz", pid, "--at=80m", "-o", "ruby-%p.pb.gz")
        input.puts 80
        assert_equal "ruby-#{pid}-at80m-1.pb.gz\n", output.gets
        assert_empty Dir.children("50%")
      end
    end
  end

  def test_stop_ends_it_and_start_begins_it_anew
    in_directory do |directory|
      beside(GROWS) do |pid, input, output|
        10.times do
          assert_marked("#{directory}/heapprof-#{pid}-at80m-1.pb.gz", pid, "--at=80m")
          stop(pid)
        end
        assert_marked("#{directory}/heapprof-#{pid}-at90m-1.pb.gz", pid, "--at=90m")
        input.puts 90
        assert_equal "heapprof-#{pid}-at90m-1.pb.gz\n", output.gets
        assert_equal ["heapprof-#{pid}-at90m-1.pb.gz"], Dir["*.pb.gz"]
      end
    end
  end

  def test_a_process_that_is_profiled_gets_marks_alone
    in_directory do |directory|
      beside(GROWS, env: { "RUBY_HEAPPROF" => "interval=1000,out=" }) do |pid, input, output|
        assert_marked("#{directory}/heapprof-#{pid}-at80m-1.pb.gz", pid, "--at=80m", "--interval=1m")
        input.puts 80
        assert_equal "interval: 1000 bytes", heapprof!("info", output.gets.chomp).out[/interval: .*bytes/]
      end
    end
  end

  def test_a_child_of_fork_writes_its_own
    in_directory do |directory|
      beside("$ready.call; $stdin.gets; child = fork { #{GROWS.sub("$ready.call", "")} }; Process.wait(child)") do |pid, input, output|
        assert_marked("#{directory}/heapprof-#{pid}-at80m-1.pb.gz", pid, "--at=80m")
        input.puts
        input.puts 80
        path = output.gets.chomp
        refute_equal pid.to_s, path[/\d+/]
        assert_profile(path)
        input.close
      end
    end
  end

  def test_what_cannot_be_is_one_line
    in_directory do |directory|
      beside("$ready.call; sleep") do |pid,|
        assert_refused 2, /at=x: expected marks of memory/, "start", pid, "--at=x"
        assert_refused 2, /--at: has a comma/, "start", pid, "--at=80m,signal=USR1"
        assert_refused 2, /--output: a file is written only at marks; give --at, too/, "start", pid, "-o", "x"
        assert_refused 2, /--output: has to name a file/, "start", pid, "--at=80m", "-o", "-"
        assert_refused 2, /--output: the name is too long/, "start", pid, "--at=80m", "-o", "x" * 4090
        assert_refused 1, %r{process #{pid}: cannot write /nowhere/x-#{pid}-at80m-1\.pb\.gz: No such file or directory$},
                       "start", pid, "--at=80m", "-o", "/nowhere/x.pb.gz"
        assert_refused 1, /process #{pid}: it is not profiled$/, "stop", pid
        assert_marked("#{directory}/heapprof-#{pid}-at80m-1.pb.gz", pid, "--at=80m")
        assert_refused 1, /process #{pid}: it writes at marks of its own already, and these stay$/, "start", pid, "--at=90m"
      end
      beside("$ready.call; sleep", env: { "RUBY_HEAPPROF" => "at=800m" }) do |pid,|
        assert_refused 1, /process #{pid}: it writes at marks of its own already, and these stay$/, "start", pid, "--at=90m"
      end
      beside("$ready.call; sleep", env: { "RUBY_HEAPPROF" => "locked" }) do |pid,|
        assert_refused 1, /RUBY_HEAPPROF=locked/, "start", pid, "--at=90m"
      end
    end
  end

  def test_a_share_without_a_limit_is_one_line
    in_directory do
      beside("$ready.call; sleep") do |pid,|
        ran = heapprof("start", pid, "--at=85%")
        omit "this machine's processes have a limit of memory" if ran.status == 0
        assert_equal "heapprof start: process #{pid}: at=: this process has no limit of memory, of which a mark could be a part; " \
                     "give a size, such as at=512m\n", ran.err
        assert_refused 1, /process #{pid}: it is not profiled$/, "stop", pid
        assert_equal 0, heapprof("start", pid, "--at=85%/4000m").status
      end
    end
  end

  def test_a_share_is_of_the_limit_that_the_process_has
    in_directory do |directory|
      beside("Process.setrlimit(:AS, 10 << 30); $ready.call; sleep") do |pid,|
        assert_marked("#{directory}/heapprof-#{pid}-at85-1.pb.gz", pid, "--at=85%")
      end
    end
  end

  # ---- serve --at ----

  # A host of its own: only its processes are found.
  HOST = <<~'RUBY'
    program, ruby, *scripts = ARGV
    spawn_ruby = lambda do |script, env = {}|
      reader, writer = IO.pipe
      pid = spawn({ "RUBYOPT" => nil, "RUBY_HEAPPROF" => nil }.merge(env), ruby, "--disable-gems", "-e", script, out: writer)
      writer.close
      [pid, reader]
    end
    say = ->(reader) { reader.gets.chomp }
    lines, server_err = IO.pipe
    old, old_out = spawn_ruby.(scripts[0])
    locked, locked_out = spawn_ruby.("puts 1; $stdout.flush; sleep", { "RUBY_HEAPPROF" => "locked" })
    marked, marked_out = spawn_ruby.("puts 1; $stdout.flush; sleep", { "RUBY_HEAPPROF" => "at=900m" })
    [old_out, locked_out, marked_out].each(&say)
    server = spawn(program, "serve", "--listen=#{Dir.pwd}/socket", "--at=80m", err: server_err)
    server_err.close
    lines.gets
    told = {}
    read = lambda do |count|
      count.times { line = lines.gets.chomp; told[line[/process (\d+)/, 1].to_i] = line }
    end
    read.(6) # this one; old has two workers
    new, new_out = spawn_ruby.(scripts[1])
    read.(1)
    workers = Dir.children("/proc").grep(/\A\d+\z/).map(&:to_i).select { |pid| File.read("/proc/#{pid}/stat")[/\) . (\d+)/, 1].to_i == old rescue false }
    puts({ "server" => told.transform_keys(&:to_s), "old" => old, "workers" => workers, "locked" => locked, "marked" => marked, "new" => new,
           "files" => [say.(old_out), say.(old_out), say.(new_out)] }.to_json)
    Process.kill(:TERM, server)
    Process.wait(server)
    puts "then: #{lines.read}"
    Process.kill(:KILL, old, locked, marked, new, *workers)
  RUBY

  # It grows when it is profiled, and says the name of the file.
  WORKER = <<~'RUBY'
    sleep 0.005 until ObjectSpace::HeapProfile.running?
    ($kept ||= []) << "x" * 200_000 while File.read("/proc/self/statm").split[1].to_i * 4096 < 80 << 20
    sleep 0.005 until (path = Dir["heapprof-#{$$}-at80m-*.pb.gz"].first)
    $stdout.syswrite("#{path}\n")
    sleep
  RUBY

  def test_serve_asks_each_process_once
    omit "needs namespaces of its own" unless system("unshare", "--pid", "--mount-proc", "--fork", "true", err: File::NULL)
    in_directory do |directory|
      old = "$0 = 'puma: cluster'; 2.times { fork { #{WORKER} } }; $stdout.syswrite(%(ready\n)); sleep"
      out, err, status = Open3.capture3("unshare", "--pid", "--mount-proc", "--fork", "--kill-child", RUBY.first, "--disable-gems", "-rjson", "-e",
                                        HOST, PROGRAM, RUBY.first, old, WORKER)
      assert_equal ["", true], [err, status.success?]
      first, *rest = out.lines
      assert_equal ["then: \n"], rest, "something was said of a process twice"
      found = JSON.parse(first)
      said = found["server"]
      assert_equal [1, *found.values_at("old", "locked", "marked", "new"), *found["workers"]].sort, said.keys.map(&:to_i).sort
      assert_equal "heapprof serve: process #{found["old"]} (puma: cluster) writes #{directory}/heapprof-#{found["old"]}-at80m-1.pb.gz " \
                   "when memory comes to its first mark", said[found["old"].to_s]
      assert_equal "heapprof serve: process #{found["locked"]}: it was started with RUBY_HEAPPROF=locked, and takes no requests",
                   said[found["locked"].to_s]
      assert_equal "heapprof serve: process #{found["marked"]}: it writes at marks of its own already, and these stay", said[found["marked"].to_s]
      assert_equal [*found["workers"], found["new"]].map { |pid| "heapprof-#{pid}-at80m-1.pb.gz" }.sort, found["files"].sort
      found["files"].each { |path| assert_equal 0o100600, File.stat(path).mode }
      assert_match(/^Verdict: strings\./, heapprof!("postmortem", *found["files"]).out)
    end
  end

  def test_serve_says_what_is_wrong_before_it_serves
    in_directory do |directory|
      assert_refused 2, /at=0%/, "serve", "--listen=#{directory}/socket", "--at=0%"
      assert_refused 2, /--output: a file is written only at marks; give --at, too/, "serve", "--listen=#{directory}/socket", "-o", "x"
      assert_empty Dir.children(directory)
    end
  end
end
