# frozen_string_literal: true

# test_marks.rb - files that are written when memory crosses a mark (vm/run/marks.c, frozen.c): by a program that computes, that
# sleeps, and that is stuck in C; what they say; and five ways to die of memory, with what `heapprof postmortem` says of each.

require_relative "lib/heapprof_test"
require_relative "lib/limited"
require_relative "../cli/lib/heapprof_command"

class TestHeapProfMarks < Test::Unit::TestCase
  include HeapProfTest

  # For scripts: bytes of RSS; waits for a file of that mark, or a dump, and returns its name. The copy that writes a dump has
  # memory of the group until it has ended.
  TOOLS = <<~'RUBY'
    $stdout.sync = true
    def rss = File.read("/proc/self/statm").split[1].to_i * 4096
    def file_at(mark, pid = $$)
      sleep 0.005 until (path = Dir["heapprof-#{pid}-at#{mark}-*.pb.gz"].first)
      path
    end
    def children = Dir["/proc/[0-9]*/stat"].count { |stat| File.read(stat)[/.*\) [^Z] (\d+)/, 1].to_i == $$ rescue false }
    def dump_at(mark, others: 0)
      sleep 0.005 until (path = Dir["heapprof-#{$$}-at#{mark}-*.rbgraph"].first) && children == others
      path
    end
    def native(name, *types, returns)
      require "fiddle"
      types = types.map { |type| Fiddle.const_get("TYPE_#{type}") }
      Fiddle::Function.new(Fiddle::Handle::DEFAULT[name], types, Fiddle.const_get("TYPE_#{returns}"), need_gvl: true)
    end
  RUBY

  STINGY = $LOAD_PATH.resolve_feature_path("-test-/heapprof_stingy")[1]

  # Without dumps of all objects, which go on when a program has ended, unless `graph` is true.
  def run_marked(script, settings, env: {}, prefix: [], graph: false, **options)
    settings += ",graph=0" unless graph
    path = write_file("app.rb", TOOLS + script)
    command = prefix + [EnvUtil.rubybin, "--disable-gems", path]
    Open3.popen3(clean(env.merge("RUBY_HEAPPROF" => settings)), *command, pgroup: true, **options) do |input, out, err, process|
      input.close
      said = [out, err].map { |io| Thread.new { io.read } }
      finished = process.join(TIMEOUT)
      Process.kill(:KILL, -process.pid) unless finished
      ran = Ran.new(*said.map(&:value), process.value)
      assert finished, "did not end in time: #{ran.err}"
      return ran
    end
  end

  # The comments of a file, as a Hash of Arrays.
  def comments(path)
    heapprof("info", "--json", path).json["comments"].filter_map { |line| line.split(": ", 2) if line.include?(": ") }
                                    .group_by(&:first).transform_values { |pairs| pairs.map(&:last) }
  end

  include HeapprofCommand

  def assert_explained(path)
    rss, unexplained = comments(path)["rss"].first.scan(/\d+/).map(&:to_i)
    assert_operator unexplained, :<, rss / 10, path
  end

  # ---- files ----

  def test_each_mark_writes_a_file_of_its_own
    in_directory do
      ran = run_marked(<<~'RUBY', "at=80m/120m,interval=16k")
        $kept = []
        { 80 => "80m", 120 => "120m" }.each do |size, mark|
          $kept << "x" * 20_000 while rss < size << 20
          file_at(mark)
        end
      RUBY
      assert_equal ["", "", true], [ran.out, ran.err, ran.status.success?]
      files = Dir["*.pb.gz"].sort
      pid = files.first[/\d+/]
      assert_equal %W[heapprof-#{pid}-at120m-2.pb.gz heapprof-#{pid}-at80m-1.pb.gz heapprof-#{pid}.pb.gz], files
      assert_empty Dir.glob(".heapprof-*")
      files.each { |path| assert_equal 0o100600, File.stat(path).mode, path }
      first, last = comments(files[1]), comments(files[0])
      assert_equal [["80m"], ["120m"]], [first["mark"], last["mark"]]
      [80, 120].zip([first, last]) { |size, found| assert_operator found["resident"].first.to_i, :>=, size << 20 }
      assert_nil first["grew"], "there was no file before"
      assert_match(/\A\d+ bytes, String, .*app\.rb:\d+\z/, last["grew"].first)
      assert_operator last["grew"].first.to_i, :>, 20 << 20
      assert_operator last["in memory"].sum(&:to_i), :>=, 120 << 20
      assert_equal last["in memory"].sum(&:to_i), last["rss"].first.to_i
      files.first(2).each { |path| assert_explained path }
    end
  end

  # On a loaded machine it may be taken for stuck, and be copied. So no copy writes here.
  def test_a_program_that_sleeps_writes
    in_directory do
      ran = run_marked(<<~'RUBY', "at=90m,out=here-%e.pb.gz", env: { "LD_PRELOAD" => STINGY, "STINGY_COPIES" => "1" })
        $kept = "x" * (100 << 20)
        path = nil
        sleep 0.005 until (path = Dir["here-*-at*"].first)
        puts path
      RUBY
      assert_equal ["here-app.rb-at90m-1.pb.gz\n", ""], [ran.out, ran.err]
      assert_nil comments("here-app.rb-at90m-1.pb.gz")["written by a copy"]
    end
  end

  # It waits for no interrupt until somebody writes to its pipe, and nothing in it lends the GVL.
  STUCK = <<~'RUBY'
    read = native("read", :INT, :VOIDP, :SIZE_T, :INT)
    grow = ->(bytes) { native("memset", :VOIDP, :INT, :SIZE_T, :VOIDP).call(native("malloc", :SIZE_T, :VOIDP).call(bytes), 1, bytes) }
    $kept = Array.new(50_000) { "y" * 100 }
  RUBY

  # Starts the script, waits for a file of that mark while it is stuck, and lets it go on.
  def stuck(settings, mark, script, env: {})
    settings += ",graph=0"
    in_directory do
      path = write_file("app.rb", TOOLS + STUCK + script)
      Open3.popen3(clean(env.merge("RUBY_HEAPPROF" => settings)), EnvUtil.rubybin, "--disable-gems", path) do |input, out, err, process|
        file = Timeout.timeout(TIMEOUT) do
          sleep 0.005 until (found = Dir["heapprof-*-at#{mark}-*.pb.gz"].first) || !process.alive?
          found
        end
        input.puts "on"
        yield file, out.read, err.read, process.value, process.pid
      ensure
        Process.kill(:KILL, process.pid) if process.alive?
      end
    end
  end

  def test_a_program_that_is_stuck_in_c_is_copied
    stuck("at=200m,interval=16k", "200m", <<~'RUBY') do |file, out, err, status, pid|
      grow.call(200 << 20)
      read.call(0, "\0" * 10, 3)
      begin
        Process.wait
      rescue Errno::ECHILD
        puts "no child"
      end
    RUBY
      assert_equal ["no child\n", "", true], [out, err, status.success?]
      found = comments(file)
      assert_equal [file[/\d+/]] * 2, [found["pid"].first, pid.to_s], "it is not the copy's"
      assert_equal ["the program did not give up the GVL"], found["written by a copy"]
      assert_equal 0o100600, File.stat(file).mode
      assert_explained file
      top = heapprof!("top", "--group=class", file).out
      assert_match(/String/, top)
      assert_match(/^Verdict: malloc\./, heapprof!("postmortem", file).out)
    end
  end

  # A lock of malloc's may be held for ever in it.
  def test_a_copy_asks_malloc_for_nothing
    stuck("at=200m,interval=16k", "200m", <<~'RUBY', env: { "LD_PRELOAD" => STINGY }) do |file, out, err, status|
      grow.call(200 << 20)
      read.call(0, "\0" * 10, 3)
    RUBY
      assert_equal ["", "", true], [out, err, status.success?]
      assert_equal ["the program did not give up the GVL"], comments(file)["written by a copy"]
      assert_explained file
      assert read_profile(file).samples.any? { |sample| sample.owner }, "it is not a copy that was asked for less"
    end
  end

  def test_files_of_a_copy_and_of_our_thread_are_one_series
    stuck("at=200m/300m,interval=16k", "200m", <<~'RUBY') do |file, out, err, status|
      grow.call(200 << 20)
      read.call(0, "\0" * 10, 3)
      grow.call(100 << 20)
      file_at("300m")
    RUBY
      assert_equal ["", "", true], [out, err, status.success?]
      pid = file[/\d+/]
      assert_equal %W[heapprof-#{pid}-at200m-1.pb.gz heapprof-#{pid}-at300m-2.pb.gz], Dir["*-at*"].sort
    end
  end

  def test_a_child_of_fork_has_its_own_files
    in_directory do
      ran = run_marked(<<~'RUBY', "at=120m,interval=64k")
        child = fork do
          $kept = "x" * (130 << 20)
          puts file_at("120m")[/\d+/].to_i == $$
        end
        Process.wait(child)
        puts $?.success?, Dir["*-at*"].size
      RUBY
      assert_equal ["true\ntrue\n1\n", ""], [ran.out, ran.err]
    end
  end

  def test_stop_ends_the_watch
    in_directory do
      ran = run_marked(<<~'RUBY', "at=120m")
        ObjectSpace::HeapProfile.stop
        $kept = "x" * (130 << 20)
        puts Dir["/proc/self/task/*"].size
      RUBY
      assert_equal ["", true], [ran.err, ran.status.success?]
      assert_empty Dir["*-at*"]
    end
  end

  # Our thread itself carries that out.
  def test_a_process_outside_can_stop_it
    in_directory do
      path = write_file("app.rb", TOOLS + <<~'RUBY')
        puts "ready"
        $stdin.gets
        puts ObjectSpace::HeapProfile.running?
        $kept = "x" * (130 << 20)
      RUBY
      Open3.popen3(clean("RUBY_HEAPPROF" => "at=120m"), EnvUtil.rubybin, "--disable-gems", path) do |input, out, err, process|
        assert_equal "ready\n", out.gets
        ran = heapprof("stop", process.pid)
        assert_equal 0, ran.status, ran.err
        input.puts
        assert_equal ["false\n", "", true], [out.read, err.read, process.value.success?]
      ensure
        Process.kill(:KILL, process.pid) if process.alive?
      end
      assert_empty Dir["*-at*"]
    end
  end

  def test_with_several_ractors_it_is_our_thread
    in_directory do
      ran = run_marked(<<~'RUBY', "at=120m,interval=64k")
        Warning[:experimental] = false
        ractor = Ractor.new { Ractor.receive }
        $kept = "x" * (130 << 20)
        file_at("120m")
        ractor.send(1)
        p ractor.take
      RUBY
      assert_equal ["1\n", ""], [ran.out, ran.err]
      assert_nil comments(Dir["*-at*"].first)["written by a copy"]
    end
  end

  def test_a_file_that_cannot_be_written_is_one_line
    in_directory do
      Dir.mkdir("gone")
      ran = run_marked(<<~'RUBY', "at=80m/100m,out=gone/x.pb.gz")
        Dir.rmdir("gone")
        line = $stderr.dup
        read, write = IO.pipe
        $stderr.reopen(write)
        $kept = ["x" * (80 << 20)]
        puts read.gets
        $kept << "x" * (30 << 20)
        Dir.mkdir("gone")
        $stderr.reopen(line)
      RUBY
      assert_match(%r{\Aruby: heap profiler: the profile was not written: cannot write .*gone/x-at80m-1\.pb\.gz: No such file or directory$},
                   ran.out)
      assert_predicate ran.status, :success?
    end
  end

  # ---- all objects, too ----

  # Grows to each mark, and waits for its file; with a dump, for that, too.
  GROWS = <<~'RUBY'
    class Cart
      def add(item) = (@items ||= []) << item
    end
    CART = Cart.new
    def grow(megabytes) = loop { rss < megabytes << 20 ? CART.add("x" * 20_000) : break }
  RUBY

  def test_a_mark_has_all_objects_dumped
    in_directory do
      ran = run_marked(GROWS + <<~'RUBY', "at=80m/140m", graph: true)
        [80, 140].each do |megabytes|
          grow(megabytes)
          file_at("#{megabytes}m")
          puts dump_at("#{megabytes}m")
        end
      RUBY
      assert_equal ["", true], [ran.err, ran.status.success?]
      dumps = ran.out.lines(chomp: true)
      assert_equal %w[at80m-1 at140m-2], dumps.map { |path| path[/at.*(?=\.rbgraph)/] }
      dumps.each do |path|
        assert_equal 0o100600, File.stat(path).mode
        assert_operator heapprof!("graph", "info", "--json", path).json["objects"], :>, 3000
      end
      said = heapprof!("postmortem", *Dir["*-at*.pb.gz"]).out
      grew = said[/^Who holds what grew: ([\d.]+) MB more, most of it in constant CART -> @items \(Array\): /, 1]
      assert_operator grew.to_f, :>, 40, said
      assert_equal "      heapprof graph report #{dumps.last}", said.lines(chomp: true).last
      assert_operator said.lines.size, :<=, 50
    end
  end

  # When the second file is there, our thread is done with the first.
  def test_nothing_is_dumped_if_that_is_not_wanted
    in_directory do
      ran = run_marked(GROWS + "grow(80); file_at('80m'); grow(140); file_at('140m')", "at=80m/140m")
      assert_equal ["", true], [ran.err, ran.status.success?]
      assert_empty Dir["*.rbgraph"]
    end
  end

  def test_nothing_is_dumped_if_memory_is_too_short_for_a_copy
    in_directory do
      ran = run_marked(GROWS + <<~'RUBY', "at=95%/98%,interval=64k", graph: true, rlimit_as: ADDRESS_SPACE)
        used = -> { File.read("/proc/self/statm").to_i * 4096 }
        kept = []
        [95, 98].each do |percent|
          kept << "x" * (1 << 20) while used.call < 900 * (percent + 0.2) / 100 * (1 << 20)
          file_at(percent)
        end
      RUBY
      assert_equal ["", true], [ran.err, ran.status.success?]
      assert_empty Dir["*-at95-*.rbgraph"]
    end
  end

  # The first and the last tell what grew; the last may not become whole.
  def test_three_dumps_are_kept
    in_directory do
      ran = run_marked(GROWS + <<~'RUBY', "at=80m/95m/110m/125m", graph: true)
        dumps = [80, 95, 110, 125].map { |megabytes| grow(megabytes); dump_at("#{megabytes}m") }
        sleep 0.005 while File.exist?(dumps[1])
        puts dumps - Dir["*.rbgraph"] == [dumps[1]]
      RUBY
      assert_equal ["true\n", ""], [ran.out, ran.err]
    end
  end

  # ---- limits ----

  ADDRESS_SPACE = 900 << 20

  def test_a_share_is_of_address_space
    in_directory do
      ran = run_marked(<<~'RUBY', "at=85%,interval=64k", rlimit_as: ADDRESS_SPACE)
        used = -> { File.read("/proc/self/statm").to_i * 4096 }
        $kept = []
        $kept << "x" * (1 << 20) while used.call < 900 * 0.86 * (1 << 20)
        puts file_at("85")
        begin
          loop { $kept << "x" * (1 << 20) }
        rescue NoMemoryError
          $kept = nil
          puts "no memory"
        end
      RUBY
      path = Dir["*-at85-1.pb.gz"].first
      assert_equal ["#{path}\nno memory\n", ""], [ran.out, ran.err]
      used, limit, name = comments(path)["limit"].first.match(/(\d+) of (\d+) bytes, (\w+)/).captures
      assert_equal [ADDRESS_SPACE, "RLIMIT_AS"], [limit.to_i, name]
      assert_operator used.to_i, :>=, ADDRESS_SPACE * 85 / 100
      assert_explained path
      assert_match(/^Verdict: strings\./, heapprof!("postmortem", path).out)
    end
  end

  # glibc reserves 64 MB for the arena of a thread that asks it for memory.
  def test_threads_of_ours_take_no_address_space_for_arenas_where_it_is_limited
    in_directory do
      ran = run_marked(GROWS + <<~'RUBY', "at=80m/100m/120m,interval=64k", rlimit_as: ADDRESS_SPACE)
        reserved = -> { File.foreach("/proc/self/maps").count { |line| line.include?(" ---p ") && line.scan(/\h+/).first(2).map(&:hex).reduce(:-) < -(32 << 20) } }
        before = reserved.call
        [80, 100, 120].each { |megabytes| grow(megabytes); file_at("#{megabytes}m") }
        puts reserved.call - before
      RUBY
      assert_equal ["0\n", ""], [ran.out, ran.err]
    end
  end

  # At the limit malloc has nothing to give, and the mark is the limit itself: the copy has what was set aside.
  def test_at_the_limit_the_copy_has_what_was_set_aside
    stuck("at=99%,interval=64k", "99", <<~'RUBY') do |file, out, err, status|
      Process.setrlimit(:AS, (rest = File.read("/proc/self/statm").to_i * 4096) + (100 << 20))
      (grow.call((rest + (100 << 20)) / 1000 * 995 - File.read("/proc/self/statm").to_i * 4096))
      read.call(0, "\0" * 10, 3)
    RUBY
      assert_equal ["", true], [err.lines.grep_v(/no limit of memory/).join, status.success?], out
      assert_operator read_profile(file).samples.size, :>, 0
    end
  end

  def test_without_a_limit_a_share_is_one_line
    in_directory do
      ran = run_marked("puts 1", "at=85%")
      omit "this machine's processes have a limit of memory" if ran.err.empty?
      assert_equal ["1\n", "ruby: heap profiler: RUBY_HEAPPROF: at=: this process has no limit of memory, of which a mark could be a " \
                           "part; give a size, such as at=512m\n"], [ran.out, ran.err]
      assert_match(/ a part; the marks that are sizes count$/, run_marked("puts 1", "at=85%/4000m").err)
    end
  end

  def test_a_broken_value_is_one_line
    { "at=0%" => "expected 1 to 4 marks", "at=x" => "expected marks of memory", "at=1%/2%/3%/4%/5%" => "expected 1 to 4 marks",
      "at=85%,out=" => "out= has no file name" }.each do |settings, message|
      in_directory do
        ran = run_marked("puts 1", settings)
        assert_equal ["1\n", 1, true], [ran.out, ran.err.lines.size, ran.status.success?], settings
        assert_include ran.err, message
      end
    end
  end

  # ---- five ways to die ----

  LIMIT = 300 << 20

  # Each says first what it takes, then waits for the files of a mark, and takes the rest. The copy that writes the first dump takes memory of
  # the group, too; that of the second dies first.
  WAYS = {
    "strings" => [<<~'RUBY', /\AVerdict: strings\. .* more than/],
      kept = []
      more = ->(bytes) { kept << "x" * 20_000 until kept.size * 20_000 > bytes }
      more.(170 << 20)
      file_at("50") && dump_at("50")
      more.(270 << 20)
      file_at("85")
      more.(1 << 40)
    RUBY
    "objects" => [<<~'RUBY', /\AVerdict: objects\. .* more than/],
      Node = Struct.new(:left, :right)
      kept = nil
      more = ->(bytes) { 1000.times { kept = Node.new(kept, [kept]) } while rss < bytes }
      more.(170 << 20)
      file_at("50") && dump_at("50")
      more.(270 << 20)
      file_at("85")
      more.(1 << 40)
    RUBY
    "malloc" => [<<~'RUBY', /\AVerdict: malloc\. .* more than/],
      malloc, memset = native("malloc", :SIZE_T, :VOIDP), native("memset", :VOIDP, :INT, :SIZE_T, :VOIDP)
      more = ->(bytes) { memset.call(malloc.call(1 << 20), 1, 1 << 20) while rss < bytes }
      more.(170 << 20)
      file_at("50") && dump_at("50")
      more.(270 << 20)
      file_at("85")
      more.(1 << 40)
    RUBY
    # Of most objects of a page one is left. What comes then does not fit between them.
    "fragmentation" => [<<~'RUBY', /\AVerdict: fragmentation\. .* more than/],
      kept = []
      fill = ->(bytes) { 1000.times { kept << Object.new } while rss < bytes }
      fill.(170 << 20)
      file_at("50") && dump_at("50")
      fill.(235 << 20)
      kept.select!.with_index { |_, i| i % 200 == 0 }
      GC.start
      more = ->(bytes) { kept << "x" * 20_000 while rss < bytes }
      more.(270 << 20)
      file_at("85")
      more.(1 << 40)
    RUBY
    "a child" => [<<~'RUBY', /\AVerdict: another process\. .* more than.*The largest of them: \d+ bytes, \d+ ruby/m],
      more = ->(megabytes) { spawn({ "RUBY_HEAPPROF" => nil }, File.readlink("/proc/self/exe"), "--disable-gems", "-e", "$kept = 'x' * (#{megabytes} << 20); sleep", %i[out err] => File::NULL) }
      $kept = "x" * (20 << 20)
      more.(130)
      file_at("50") && dump_at("50", others: 1)
      more.(110)
      file_at("85")
      more.(300)
      $kept << "y" * (1 << 20) while true
    RUBY
  }.freeze

  def die(script, prefix: [], **options)
    ran = run_marked(script, "at=50%/85%,interval=16k", prefix: prefix, graph: true, **options)
    files = Dir["*-at*.pb.gz"].sort_by { |path| path[/-(\d+)\.pb/, 1].to_i }
    assert_equal %w[50 85], files.map { |path| path[/-at(\d+)-/, 1] }, ran.err
    files.each { |path| assert_explained path }
    [ran, files, heapprof!("postmortem", *files.reverse).out]
  end

  WAYS.each do |name, (script, verdict)|
    define_method(:"test_killed_by_a_control_group_for_#{name.tr(" ", "_")}") do
      omit Limited::Group.refusal if Limited::Group.refusal
      group = Limited::Group.make(LIMIT)
      in_directory do
        ran, files, said = die(script, prefix: group.prefix)
        assert_equal Signal.list["KILL"], ran.status.termsig, ran.err
        used, limit, limit_name = comments(files.last)["limit"].first.match(/(\d+) of (\d+) bytes, ([\w.]+)/).captures
        assert_equal [LIMIT, group.limit_name], [limit.to_i, limit_name]
        assert_operator used.to_i, :>=, LIMIT * 85 / 100
        assert_match verdict, said[/^Verdict.*?\n\n/m]
        assert_operator said.lines.size, :<=, 50
      end
    ensure
      group&.remove
    end
  end

  # Without a control group the same end comes by the limit of address space. A child has a limit of its own.
  def test_killed_by_the_limit_of_address_space
    script = <<~'RUBY'
      used = -> { File.read("/proc/self/statm").to_i * 4096 }
      kept = []
      { 51 => "50", 86 => "85", 1000 => "never" }.each do |percent, mark|
        kept << "x" * (1 << 20) while used.call < 900 * percent * (1 << 20) / 100
        file_at(mark)
      end
    RUBY
    in_directory do
      ran, _, said = die(script, rlimit_as: ADDRESS_SPACE)
      assert_match(/NoMemoryError|failed to allocate memory/, ran.err)
      assert_match(/\AVerdict: strings\. .* more than/, said[/^Verdict.*?\n\n/m])
    end
  end
end
