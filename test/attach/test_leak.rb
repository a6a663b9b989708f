# frozen_string_literal: true

# test_leak.rb - heapprof leak: a process that was started with nothing set is asked whether it leaks, and what. Its time is in the hands of the
# test: it works so much before each dump.

require_relative "lib/attached"

class TestHeapprofLeak < Test::Unit::TestCase
  include Attached

  # Works so many times as its stdin says, and says when it has.
  SERVE = <<~'RUBY'
    $ready.call
    while (line = $stdin.gets)
      Integer(line).times { work }
      $stdout.syswrite("done\n")
    end
  RUBY

  def serve(script, *options, env: {}, &block)
    in_directory do
      File.write("app.rb", script)
      beside("require './app.rb'\n#{SERVE}", *options, env: env, &block)
    end
  end

  # The program begins in a directory that has nothing of it.
  def serve_from_elsewhere(script, &block)
    in_directory do
      File.write("app.rb", script)
      Dir.mkdir("inside")
      Dir.chdir("inside") { beside("require '../app.rb'\n#{SERVE}", &block) }
    end
  end

  def work(input, output, times)
    input.puts times
    assert_equal "done\n", output.gets
  end

  # Runs `heapprof leak` on the process, which works before each dump but the first. Yields after that one.
  def leak(pid, times, input, output, *options)
    bell = Held::Bell.new
    Open3.popen3(ENVIRONMENT.merge(bell.env_of_polls), PROGRAM, "leak", "--seconds=60", pid.to_s, *options, **bell.descriptors) do |stdin, out, err, process|
      stdin.close
      bell.begun
      said = [out, err].map { |io| Thread.new { io.read } }
      await_file("heap-#{pid}-1.rbgraph", process)
      yield if block_given?
      2.times do
        work(input, output, times)
        bell.ring
      end
      return Ran.new(*said.map(&:value), process.value.exitstatus)
    end
  ensure
    bell.close
  end

  def await_file(path, process)
    sleep 0.001 until File.exist?(path) || !process.alive?
  end

  # The rows of the answer below "What holds it".
  def rows(out) = out[/^What holds it.*?\n(.*?)\n\n/m, 1].to_s.lines.grep(/^ +[\d.]+ ([kMG]?B|bytes?) /)
  def lines(out) = out[/^By the line.*?\n(.*?)\n\n/m, 1].to_s.lines

  # ---- what leaks ----

  LEAKS = {
    "an_array_in_a_constant" => ["module Audit\n  ENTRIES = []\n  def self.log = ENTRIES << +%(entry) * 40\nend\ndef work = Audit.log",
                                 /constant Audit::ENTRIES \(Array\): 2,000 new Strings/, /app\.rb:3 Audit\.log/],
    "a_hash_in_a_class_variable" => ["class Prices\n  @@seen = {}\n  def self.at(n) = @@seen[n] = [n.to_s * 20]\nend\n$n = 0\ndef work = Prices.at($n += 1)",
                                     /@@seen of Prices \(Hash\): 2,000 new Arrays/, /app\.rb:3 Prices\.at/],
    "closures" => ["class Bus\n  def initialize = @subscribers = []\n  def on(&block) = @subscribers << block\nend\nBUS = Bus.new\n" \
                   "def work = (body = %(b) * 500; BUS.on { body })",
                   /constant BUS -> @subscribers \(Array\): 2,000 new Procs/, /app\.rb:6 Object#work/],
    "threads" => ["def beat = Thread.new { data = %(x) * 2000; Queue.new.pop; data }\ndef work = beat", /thread: \d+ new Threads.*started at \S*app\.rb:1/, /app\.rb:1/, 100],
    "a_string" => ["LINES = +''\ndef work = LINES << %(line of a feed\n) * 20", /constant LINES \(String\): grew in place/, nil],
    "methods" => ["class Letter\nend\n$n = 0\ndef work = Letter.class_eval(%(def letter_\#{$n += 1} = [1, 2, 3].map { it + \#{$n} }))",
                  /methods of class Letter|Letter/, nil, 300]
  }.freeze

  LEAKS.each do |name, (script, holder, line, times)|
    define_method("test_a_leak_in_#{name}") do
      serve(script) do |pid, input, output|
        work(input, output, 300)
        ran = leak(pid, (times || 1000), input, output)
        assert_equal 0, ran.status, ran.err
        assert_match holder, rows(ran.out).first, ran.out
        assert_match line, lines(ran.out).first, ran.out if line
        assert_match(/^Memory of malloc that ruby has requested.*\n.*\n +\S+ \S+  \S*app\.rb:2 Object#work/, ran.out) if name == "a_string"
        assert_operator ran.out.lines.size, :<=, 24
        assert_left_alone(pid)
        assert_commands_work(ran.out)
      end
    end
  end

  # What it says to type next.
  def assert_commands_work(out)
    commands = out[/^Next: (.*)/m, 1].scan(/heapprof ([^\n;]+)/).flatten
    refute_empty commands
    commands.grep(/\Agraph why/).each { |command| assert_equal 0, heapprof(*command.split).status }
  end

  def assert_left_alone(pid)
    assert_refused 1, /process #{pid}: it is not profiled$/, "stop", pid
  end

  # Of 16 slots there is one sample, or none. How much is new is known all the same, and each block has a sample.
  def test_few_large_strings
    serve("class Upload\n  ALL = []\n  def self.receive = ALL << %(12345678) * (1 << 17)\nend\ndef work = Upload.receive") do |pid, input, output|
      ran = leak(pid, 8, input, output)
      assert_match(/constant Upload::ALL \(Array\): 16 new Strings/, rows(ran.out).first, ran.out)
      assert_match(/^ +16\.[01] MB  \S*app\.rb:3 /, ran.out)
      assert_empty(ran.out.scan(/^ +(\d+(?:\.\d+)?) MB/).flatten.map(&:to_f).select { |megabytes| megabytes > 17 })
    end
  end

  def test_labels
    script = "KEPT = []\ndef work = ObjectSpace::HeapProfile.label(endpoint: 'POST /cart') { KEPT << %(x) * 300 }"
    serve(script) do |pid, input, output|
      ran = leak(pid, 1000, input, output)
      assert_match(/app\.rb:2 .*endpoint: POST \/cart$/, lines(ran.out).first, ran.out)
    end
  end

  # Without the time: a step is over when its requests have begun.
  def test_requests
    script = "KEPT = []\ndef work = ObjectSpace::HeapProfile.label(endpoint: 'POST /cart') { KEPT << %(x) * 300 }"
    serve(script) do |pid, input, output|
      ran = Thread.new { heapprof("leak", "--requests=1000", pid) }
      2.times do |i|
        await_file("heap-#{pid}-#{i + 1}.rbgraph", ran)
        work(input, output, 500)
      end
      assert_match(/ and 6\d\d B for each of 1,000 requests \(alive: /, ran.value.out)
      assert_match(/watching .* for 1,000 requests, at most 600 s; /, ran.value.err)
    end
  end

  def test_requests_that_do_not_come
    serve("def work = nil") do |pid, _, _|
      ran = heapprof("leak", "--requests=10", "--seconds=1", pid)
      assert_match(/^heapprof leak: 0 requests began in 1 s, not 10; those count that begin with a label/, ran.err)
      assert_match(/nothing grew/, ran.out)
    end
  end

  def test_a_list_of_an_extension
    serve("require '-test-/heapprof_leak'\ndef keep = HeapProfLeak.keep(4000)\ndef work = keep") do |pid, input, output|
      ran = leak(pid, 1000, input, output)
      assert_match(/: no object grew, but memory outside of objects did: [\d.]+ MB in /, ran.out)
      assert_match(/^ +[\d.]+ MB  leak_keep \(heapprof_leak\.so\), called at app\.rb:2 Object#keep /, ran.out)
      assert_left_alone(pid)
    end
  end

  # Most of the memory of a compressor is never touched if it compresses little.
  def test_c_memory_that_objects_keep
    serve("require 'zlib'\nKEPT = []\ndef keep = KEPT << (Zlib::Deflate.new << 'hello ')\ndef work = keep") do |pid, input, output|
      ran = leak(pid, 60, input, output)
      assert_match(/: [\d.]+ kB more is held by objects, and [\d.]+ MB outside of them, than /, ran.out)
      assert_match(/^ +[\d.]+ MB  zlib_mem_alloc \(zlib\.so\), called at app\.rb:3 Object#keep .*\nThat is more than RSS grew, /, ran.out)
    end
  end

  def test_a_program_that_lies_elsewhere
    script = "require '-test-/heapprof_leak'\nKEPT = []\ndef keep = (KEPT << Array.new(40); HeapProfLeak.keep(4000))\ndef work = keep"
    serve_from_elsewhere(script) do |pid, input, output|
      ran = leak(pid, 1000, input, output)
      assert_match(/^ +[\d.]+ [kM]B  \/\S+\/app\.rb:3 Object#keep$/, lines(ran.out).first, ran.out)
      assert_match(/^ +[\d.]+ MB  leak_keep \(heapprof_leak\.so\), called at \/\S+\/app\.rb:3 Object#keep /, ran.out)
    end
  end

  # ---- what does not ----

  INNOCENT = {
    "garbage" => "def work = Array.new(100) { %(x) * 100 }",
    "a_full_cache" => "CACHE = Array.new(1000)\n$n = 0\ndef work = CACHE[($n += 1) % 1000] = %(x) * 200",
    # In use at each dump, and others each time.
    "requests_at_work" => "def work = $at_work = Array.new(rand(2000)) { %(x) * 200 }",
    "what_is_loaded_once" => "def work = $loaded ||= Array.new(5000) { %(x) * 200 }",
    "a_queue_that_empties" => "$queue = []\ndef work = (rand(100).times { $queue << %(x) * 200 }; $queue.clear if $queue.size > 1000)",
    "compaction" => "KEPT = Array.new(5000) { %(x) * 200 }\ndef work = ($n = $n.to_i + 1; GC.compact if $n % 50 == 0; %(x) * 200)",
    "sleep" => "def work = nil"
  }.freeze

  INNOCENT.each do |name, script|
    define_method("test_nothing_grew_with_#{name}") do
      serve(script) do |pid, input, output|
        work(input, output, 1500)
        ran = leak(pid, 300, input, output)
        assert_equal 0, ran.status, ran.err
        assert_match(/\Aprocess #{pid} \(.*\): nothing grew in /, ran.out)
        assert_empty rows(ran.out)
        assert_left_alone(pid)
        assert_equal ["app.rb"], Dir.children("."), "its dumps are left"
      end
    end
  end

  # ---- how it is left ----

  def test_a_profiler_that_was_on_stays_on
    serve("def work = (%(x) * 100)", env: { "RUBY_HEAPPROF" => "out=" }) do |pid, input, output|
      assert_match(/nothing grew/, leak(pid, 10, input, output).out)
      assert_match(/no longer profiled/, heapprof("stop", pid).out)
    end
  end

  def test_a_profiler_that_is_stopped_meanwhile
    serve(LEAKS["an_array_in_a_constant"].first) do |pid, input, output|
      ran = leak(pid, 1000, input, output) { heapprof!("stop", pid) }
      assert_match(/^heapprof leak: process #{pid}: somebody else has stopped its profiler meanwhile; /, ran.err)
      assert_match(/constant Audit::ENTRIES \(Array\)/, rows(ran.out).first)
      assert_left_alone(pid)
    end
  end

  def test_interrupted
    serve("def work = nil") do |pid,|
      Open3.popen3(ENVIRONMENT, PROGRAM, "leak", "--seconds=1000", pid.to_s) do |stdin, out, err, process|
        stdin.close
        await_file("heap-#{pid}-1.rbgraph", process)
        Process.kill(:INT, process.pid)
        assert_equal ["", 1], [out.read, process.value.exitstatus]
        assert_equal "heapprof leak: interrupted; nothing is left behind\n", err.read.lines.last
      end
      assert_left_alone(pid)
      assert_equal ["app.rb"], Dir.children(".")
    end
  end

  # The bell is the clock of the process's own thread: the time of the run is over. Meanwhile its interval has changed, as by itself when
  # samples become many.
  def test_what_a_killed_command_has_started_ends_by_itself
    in_directory do
      bell, (input, to), (from, output) = Held::Bell.new, IO.pipe, IO.pipe
      pid = Process.spawn({ "RUBYOPT" => nil, "RUBY_HEAPPROF" => nil }.merge(bell.env), *RUBY, "-e",
                          "$stdout.syswrite(%(ready\n)); $stdin.gets; ObjectSpace::HeapProfile.interval = 1 << 20; $stdout.syswrite(%(set\n)); $stdin.gets",
                          in: input, out: output, **bell.descriptors)
      bell.begun
      from.gets
      command = Process.spawn(ENVIRONMENT, PROGRAM, "leak", "-q", "-d", "1000", pid.to_s)
      sleep 0.001 until File.exist?("heap-#{pid}-1.rbgraph")
      Process.kill(:KILL, command)
      Process.wait(command)
      assert_refused 1, /it is profiled already$/, "start", pid
      to.puts
      assert_equal "set\n", from.gets
      assert bell.ring
      assert_refused 1, /its heap is not profiled/, "snapshot", pid
    ensure
      Process.kill(:KILL, pid)
      Process.wait(pid)
      [input, to, from, output, bell].each(&:close)
    end
  end

  # At once: nobody rings the bell.
  def test_a_process_that_ends_meanwhile
    [[], ["--requests=10"]].each do |options|
      serve("def work = exit!(true)") do |pid, input,|
        bell = Held::Bell.new
        Open3.popen3(ENVIRONMENT.merge(bell.env_of_polls), PROGRAM, "leak", "--seconds=60", *options, pid.to_s, **bell.descriptors) do |stdin, out, err, process|
          stdin.close
          bell.begun
          await_file("heap-#{pid}-1.rbgraph", process)
          input.puts "1"
          assert_equal ["", 1], [out.read, process.value.exitstatus]
          assert_match(/process #{pid}: it has ended/, err.read)
        end
      ensure
        bell.close
      end
    end
  end

  def test_a_locked_process
    serve("def work = nil", env: { "RUBY_HEAPPROF" => "locked" }) do |pid,|
      assert_refused 1, /RUBY_HEAPPROF=locked/, "leak", "-q", pid
    end
  end

  # ---- masters, commands, files ----

  # One that is named twice, or named beside its master, is watched once.
  def test_a_master_and_its_workers
    script = <<~'RUBY'
      KEPT = []
      def work = nil
      def serve(role) = (Process.setproctitle("test: #{role}"); $stdin.each_line { |line| Integer(line).times { KEPT << %(x) * 300 } if role == "worker 0"; $stdout.syswrite("done\n") })
      pipes = Array.new(2) { |i| IO.pipe.tap { |read, write| fork { write.close; $stdin.reopen(read); serve("worker #{i}") } } }
      $workers = pipes.map(&:last)
      def work = $workers.each { |pipe| pipe.puts(200) }
    RUBY
    serve(script + "\n$stdout.sync = true") do |pid, input, output|
      bell = Held::Bell.new
      workers = File.read("/proc/#{pid}/task/#{pid}/children").split
      Open3.popen3(ENVIRONMENT.merge(bell.env_of_polls), PROGRAM, "leak", workers.last, pid.to_s, pid.to_s, **bell.descriptors) do |stdin, out, err, process|
        stdin.close
        bell.begun
        said = [out, err].map { |io| Thread.new { io.read } }
        workers.each { |worker| await_file("heap-#{worker}-1.rbgraph", process) }
        2.times do
          input.puts 5
          11.times { assert_equal "done\n", output.gets }
          bell.ring
        end
        text, errors = said.map(&:value)
        assert_equal 0, process.value.exitstatus, errors
        assert_match(/\Aheapprof leak: watching 3 processes /, errors)
        assert_match(/\Aprocess \d+ \(test: worker 0\): .* more is held/, text)
        assert_match(/constant KEPT \(Array\)/, rows(text).first)
        assert_equal 2, text[/^The other processes:\n(.*)/m, 1].scan(/: nothing grew$/).size, text
      end
    ensure
      bell.close
      Process.kill(:KILL, *workers.map(&:to_i)) if workers
    end
  end

  def test_a_command
    in_directory do
      File.write("app.rb", "KEPT = []\nsleep 0.001 until (KEPT << %(x) * 1000).size > 1_000_000")
      Open3.popen3(ENVIRONMENT, PROGRAM, "leak", "--seconds=3", "--", *RUBY, "app.rb") do |stdin, out, err, process|
        stdin.close
        err.each_line { |line| break if line.include?("the command goes on") }
        Process.kill(:TERM, process.pid)
        text = out.read
        assert_equal Signal.list["TERM"], process.value.termsig
        assert_match(/constant KEPT \(Array\)/, rows(text).first, text)
      end
    end
  end

  def test_a_command_that_is_no_ruby_of_ours
    assert_refused 1, /^heapprof leak: the command ended before it was a Ruby that can be asked$/, "leak", "--", "false"
    assert_equal 127, heapprof("leak", "--", "no-such-command-at-all").status
  end

  def test_files
    serve(LEAKS["an_array_in_a_constant"].first) do |pid, input, output|
      files = Array.new(3) do |i|
        work(input, output, 500)
        heapprof("graph", "dump", pid, "-o", "#{i}.rbgraph").out.chomp
      end
      ran = heapprof("leak", *files)
      assert_equal [0, ""], [ran.status, ran.err]
      assert_match(/constant Audit::ENTRIES \(Array\)/, rows(ran.out).first, ran.out)
      ran = heapprof("leak", *files.first(2))
      assert_match(/^How certain: two dumps; a cache that fills looks the same/, ran.out)
      assert_refused 2, /give two to 8 dumps/, "leak", files.first
      reversed = heapprof("leak", *files.reverse)
      assert_equal [heapprof("leak", *files).out, 0], [reversed.out, reversed.status]
      assert_equal "heapprof leak: the dumps are read in the order of their times: #{files.join(" ")}\n", reversed.err
      assert_refused 1, /^heapprof leak: 1\.rbgraph and 1\.rbgraph are the same dump: /, "leak", "1.rbgraph", "1.rbgraph"
    end
  end

  # The page is that of `graph view`; of what does not grow there is none.
  def test_a_page
    need_page
    serve(LEAKS["an_array_in_a_constant"].first) do |pid, input, output|
      files = Array.new(3) do |i|
        work(input, output, 500)
        heapprof("graph", "dump", pid, "-o", "#{i}.rbgraph").out.chomp
      end
      path = page_of(*files)
      assert_include File.read(path), "Audit::ENTRIES"
      assert_equal 0o600, File.stat(path).mode & 0o777
      assert_nil page_of(files.last, files.last, files.last)
    end
  end

  def test_profiles_are_compared_by_line
    serve(LEAKS["an_array_in_a_constant"].first, env: { "RUBY_HEAPPROF" => "interval=1,out=" }) do |pid, input, output|
      files = Array.new(2) do |i|
        work(input, output, 500)
        heapprof("snapshot", pid, "-o", "#{i}.pb.gz")
        "#{i}.pb.gz"
      end
      assert_match(/Audit\.log/, heapprof("leak", *files).out)
      need_page
      page = File.read(page_of(*files))
      assert_include page, "Audit"
      assert_include page, "0.pb.gz"
    end
  end

  private

  def need_page
    omit "this heapprof has no page" if heapprof("graph", "view", "-o", "-", "none").err.include?("built without its page")
  end

  def page_of(*files)
    heapprof("leak", "--view", *files, env: { "TMPDIR" => Dir.pwd }).out[/^The page of what grew: (.+)$/, 1]
  end
end
