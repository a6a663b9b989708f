# frozen_string_literal: true
#
# test_meant.rb - what was meant: a mistyped command, a file of another kind, a process where a file should be and a file
# where a process should be are told with the line to type.

require_relative "lib/heapprof_command"

class TestHeapprofMeant < Test::Unit::TestCase
  include HeapprofCommand

  DUMP = "\x89RBGRAF\n\x01\0\0\0".b

  def setup
    @before = Dir.pwd
    Dir.chdir(@directory = Dir.mktmpdir)
    write("heap.pb.gz", shop)
    write("raw.pb", shop.raw)
    write("objects.rbgraph", DUMP)
    write("core.1", "\x7fELF\x02\x01\x01#{"\0" * 9}\x04\0".b)
    write("page.html", "<!doctype html><html></html>")
    write("report.json", '{"rows":[]}')
  end

  def teardown
    Dir.chdir(@before)
    FileUtils.rm_rf(@directory)
  end

  def test_a_mistyped_command_is_told_with_the_one_that_was_meant
    { %w[topp] => "top", %w[dif a b] => "diff", %w[snap 1] => "snapshot", %w[memchek] => "memcheck", %w[querry x] => "graph query",
      %w[graph rport] => "graph report", %w[grpah top] => "graph", %w[help topp] => "top" }.each do |words, meant|
      assert_refused 2, /\Aheapprof: \S+( rport)? is not a command; did you mean heapprof #{meant}\?\n\z/, *words
    end
    assert_refused 2, /\Aheapprof: banana is not a command; type heapprof help to see all commands\n/, "banana"
    assert_refused 2, /banana is not a command/, "help", "banana"
    assert_refused 2, /graph banana is not a command; type one of these after graph: dump info /, "graph", "banana"
  end

  def test_the_second_word_of_a_command_leads_to_it_or_to_what_reads_the_file
    { %w[report objects.rbgraph] => "did you mean heapprof graph report objects.rbgraph?",
      %w[why objects.rbgraph String] => "did you mean heapprof graph why objects.rbgraph String?",
      %w[report heap.pb.gz] => "heap.pb.gz: is a profile; type heapprof top heap.pb.gz",
      %w[dump 42] => "did you mean heapprof graph dump 42 (its objects), or heapprof snapshot 42 (its heap profile)?",
      %w[report] => "report is not a command; did you mean heapprof graph report?" }.each do |words, meant|
      assert_refused 2, /#{Regexp.escape(meant)}\n\z/, *words
    end
  end

  def test_a_file_or_process_without_a_command_is_told_with_one
    assert_refused 2, /heap.pb.gz: is a profile; type heapprof top heap.pb.gz\n/, "heap.pb.gz"
    assert_refused 2, /objects.rbgraph: is an object graph; type heapprof graph report objects.rbgraph\n/, "objects.rbgraph"
    assert_refused 2, /objects.rbgraph: is an object graph; type heapprof graph report objects.rbgraph\n/, "graph", "objects.rbgraph"
    assert_refused 2, /42 is not a command; to look at a process, type heapprof stacks 42\n/, "42"
  end

  # Every command that reads a file.
  def test_an_object_graph_is_recognized_by_commands_of_profiles
    { %w[top] => "top", %w[diff] => "diff", %w[view] => "view", %w[merge] => "report", %w[convert --to=csv] => "convert",
      %w[info] => "info" }.each do |command, other|
      assert_refused 1, /objects.rbgraph: is an object graph; type heapprof graph #{other} objects.rbgraph\n/, *command,
                     *["objects.rbgraph"] * (command == %w[diff] ? 2 : 1)
    end
    ran = heapprof("top", "-", stdin: DUMP)
    assert_equal [1, "heapprof top: stdin: is an object graph; type heapprof graph top -\n"], [ran.status, ran.err]
  end

  def test_a_profile_is_recognized_by_commands_of_graphs
    graph = commands.grep(/\Agraph /) - ["graph dump"]
    assert_operator graph.size, :>=, 12
    graph.each do |command|
      word = command.delete_prefix("graph ")
      other = %w[top diff view info convert].include?(word) ? word : "top"
      more = { "why" => ["String"], "show" => ["0x10"], "convert" => ["--to=dot"], "diff" => ["raw.pb"] }.fetch(word, [])
      %w[heap.pb.gz raw.pb].each do |file|
        assert_refused 1, /#{file}: is a profile; type heapprof #{other} #{file}\n/, *command.split, file, *more
      end
    end
    ran = heapprof("graph", "top", "-", stdin: shop.gzip)
    assert_equal [1, "heapprof graph top: stdin: is a profile; type heapprof top -\n"], [ran.status, ran.err]
  end

  def test_a_profile_of_time_is_named_as_such
    write("time.pb", ProfileBytes.new.type("wall", "nanoseconds").sample(["/a.rb:1 main"], [5]))
    assert_refused 1, /time.pb: is a profile of time, and has no value that is called inuse_space; it has: wall\n/, "diff", "heap.pb.gz", "time.pb"
    assert_refused 1, /time.pb: is a profile; type heapprof top time.pb\n/, "graph", "report", "time.pb"
  end

  def test_other_files_that_heapprof_knows_are_recognized
    [%w[top], %w[graph report]].each do |command|
      assert_refused 1, /core.1: is a core file; type heapprof stacks --core core.1\n/, *command, "core.1"
      assert_refused 1, /page.html: is a page; open it in a browser\n/, *command, "page.html"
      assert_refused 1, /report.json: is JSON, which heapprof does not read/, *command, "report.json"
    end
  end

  def test_a_file_where_a_process_should_be_and_a_process_where_a_file_should_be
    [%w[stacks], %w[snapshot], %w[watch], %w[graph dump]].each do |command|
      assert_refused 1, /heap.pb.gz: is a profile; type heapprof top heap.pb.gz\n/, *command, "heap.pb.gz"
      assert_refused 1, /objects.rbgraph: is an object graph; type heapprof graph report objects.rbgraph\n/, *command, "objects.rbgraph"
      assert_refused 1, /text: no Ruby process that you may read has this name; heapprof ps lists the processes\n/, *command, "text"
    end
    assert_refused 2, /: give two profiles of one process, or more /, "leak", "heap.pb.gz"
    ran = heapprof("record", "./heap.pb.gz")
    assert_match(/heap.pb.gz: is a profile; type heapprof top/, ran.err)
    assert_refused 1, /42: no such file; if it is a process, type heapprof snapshot 42 first\n/, "top", "42"
    assert_refused 1, /42: no such file; if it is a process, type heapprof graph dump 42 first\n/, "graph", "top", "42"
  end

  def test_a_file_that_is_no_process_and_cannot_be_read
    write("empty", "")
    write("notes", "to do\n")
    Dir.mkdir("folder")
    [%w[leak], %w[stacks], %w[record], %w[graph dump]].each do |command|
      { "empty" => "is empty", "folder" => "is a directory", "./none" => "No such file or directory", "notes/none" => "Not a directory",
        "notes" => "is no profile and no object graph, nor has a Ruby process that you may read this name" }.each do |name, what|
        assert_equal "heapprof #{command.join(" ")}: #{name}: #{what}\n", heapprof(*command, name).err.lines.first
      end
    end
  end

  def test_the_version_without_a_command
    assert_equal [heapprof!("version").out] * 2, [heapprof!("-V").out, heapprof!("--version").out]
  end

  # Without a Ruby that may be read, there is nothing to complete.
  def test_processes_are_completed
    reader, writer = IO.pipe
    pid = Process.spawn(EnvUtil.rubybin, "--disable-gems", "-e", "puts 1; STDOUT.flush; sleep", out: writer)
    reader.gets
    assert_match(/^#{pid}\t\S*ruby.*sleep$/, heapprof!("help", "--processes").out)
    script = heapprof!("help", "--completion=bash").out
    { "stacks" => true, "graph dump" => true, "top" => false }.each do |command, complete|
      words = [PROGRAM, *command.split, pid.to_s[0..-2]]
      typed = "#{script}\nCOMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _heapprof; echo \" ${COMPREPLY[*]} \""
      out, err, = Open3.capture3("bash", "-c", typed, "bash", *words, chdir: "/")
      assert_equal [complete, ""], [out.include?(" #{pid} "), err], command
    end
  ensure
    Process.kill(:KILL, pid)
    Process.wait(pid)
    [reader, writer].each(&:close)
  end
end
