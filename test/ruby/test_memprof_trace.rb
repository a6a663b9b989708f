# frozen_string_literal: true

# test_memprof_trace.rb - trace, trace_request and the Rack middleware of lib/heapprof/memprof: what a block does is counted, all
# of it and nothing after it, also within another trace; malloc=all goes before.

require "json"
require_relative "lib/heapprof_test"
require_relative "lib/allocators"

class TestHeapProfMemprofTrace < Test::Unit::TestCase
  include HeapProfTest
  include HeapProfAllocators
  extend HeapProfAllocators::Cases

  SETUP = <<~'RUBY'
    require "heapprof/memprof"
    require "json"
    require "stringio"
    require "tmpdir"
    require "-test-/heapprof_plain"
    Plain = HeapProfPlain

    # What trace says of the block.
    def traced(&)
      Dir.mktmpdir do |directory|
        Memprof.trace_filename = File.join(directory, "traced.json")
        Memprof.trace(&)
        JSON.parse(File.read(Memprof.trace_filename))
      ensure
        Memprof.trace_filename = nil
      end
    end
  RUBY

  def in_memprof(script, *args) = in_file(script, "heapprof/memprof", SETUP, "--enable=frozen-string-literal", *args)

  # ---- objects and collections ----

  def test_objects_are_counted_by_type
    in_memprof(<<~'RUBY')
      kept = Array.new(150)
      work = -> { 100.times { |i| kept[i] = Object.new }; 50.times { |i| kept[100 + i] = [i, kept] }; 7.times { 2.0**900 } }
      work.call
      objects = traced(&work)["objects"]
      assert_equal [100, 50, 7], objects["types"].values_at("object", "array", "float")
      assert_equal objects["types"].values.sum, objects["created"]
      assert_equal({}, traced {}["objects"]["types"])
    RUBY
  end

  def test_collections_are_counted_and_timed
    in_memprof(<<~'RUBY')
      before = during = nil
      gc = traced { before = [GC.count, GC.total_time]; 3.times { GC.start }; during = [GC.count, GC.total_time] }["gc"]
      assert_equal 3, during[0] - before[0]
      assert_equal 3, gc["calls"]
      assert_in_delta (during[1] - before[1]) / 1e9, gc["time"], 1e-9
    RUBY
  end

  # ---- calls ----

  def test_reads_and_writes_are_counted_with_their_bytes
    in_memprof(<<~'RUBY')
      text = "x" * 54_321
      reader, writer = IO.pipe
      fd = traced do
        File.write("file", text)
        File.open("file") { |io| io.sysread(12_345) }
        writer.write("a")
        writer.syswrite("bc")
        reader.readpartial(10)
      end["fd"]
      assert_equal({ "calls" => 3, "bytes" => 54_324 }, fd["write"].slice("calls", "bytes"))
      assert_equal({ "calls" => 2, "bytes" => 12_348 }, fd["read"].slice("calls", "bytes"))
      assert_operator fd["read"]["time"], :>, 0
      assert_equal [0], fd.except("read", "write", "ppoll", "select", "poll").values.map { |counts| counts["calls"] }.uniq
      assert_equal 0, traced {}["fd"].values.sum { |counts| counts["calls"] }
    RUBY
  end

  def test_calls_of_a_library_that_is_loaded_meanwhile_are_counted
    in_memprof(<<~'RUBY')
      fd = traced do
        require "socket"
        server = TCPServer.new("127.0.0.1", 0)
        client = Socket.new(:INET, :STREAM)
        client.connect(server.local_address)
        served = server.accept
        client.send("12345", 0)
        assert_equal "12345", served.recv(10)
      end["fd"]
      assert_equal [1, 1, 5], [fd["connect"]["calls"], *fd["recvfrom"].values_at("calls", "bytes")]
      assert_equal 5, fd["send"]["bytes"] + fd["sendto"]["bytes"]
    RUBY
  end

  def test_waiting_is_counted_with_its_time
    in_memprof(<<~'RUBY')
      reader, = IO.pipe
      fd = traced { IO.select([reader], nil, nil, 0.05) }["fd"]
      waits = fd.values_at("select", "poll", "ppoll")
      assert_operator waits.sum { |counts| counts["calls"] }, :>=, 1
      assert_operator waits.sum { |counts| counts["time"] }, :>=, 0.049
      assert_equal false, waits.any? { |counts| counts.key?("bytes") }
    RUBY
  end

  def test_a_call_that_fails_is_counted_and_keeps_errno
    in_memprof(<<~'RUBY')
      reader, writer = IO.pipe
      reader.close
      fd = traced { assert_raise(Errno::EPIPE) { writer.syswrite("abc") } }["fd"]
      assert_equal({ "calls" => 1, "bytes" => 0 }, fd["write"].slice("calls", "bytes"))
    RUBY
  end

  under_each_allocator :requests_of_memory_are_counted, <<~'RUBY'
    size = 50_000_017
    actual = nil
    memory = traced do
      blocks = [Plain.malloc(size), Plain.calloc(size), Plain.realloc(Plain.malloc(10), size)]
      actual = blocks.sum { |block| Plain.bytes(block) }
      blocks.each { |block| Plain.free(block) }
    end["memory"]
    %w[malloc calloc realloc].each do |name|
      calls, requested, given = memory[name].values_at("calls", "requested_bytes", "actual_bytes")
      assert_operator calls, :>=, 1
      assert_include size..size + 1_000_000, requested, name
      assert_operator given, :>=, requested
    end
    assert_include actual..actual + 1_000_000, memory["free"]["actual_bytes"]
    assert_equal %w[actual_bytes calls], memory["free"].keys.sort
  RUBY

  def test_all_threads_count
    in_memprof(<<~'RUBY')
      fd = traced { Array.new(8) { |i| Thread.new { 100.times { File.write("f#{i}", "123") } } }.each(&:join) }["fd"]
      calls, bytes = fd["write"].values_at("calls", "bytes")
      assert_operator calls, :>=, 800
      assert_equal 2400 + 8 * (calls - 800), bytes # the others wake MRI's timer thread
    RUBY
  end

  # ---- on and off ----

  def test_nothing_is_counted_before_and_after
    in_memprof(<<~'RUBY')
      reflection = HeapProfile::Reflection
      traced {}
      before = reflection.counted_calls
      made = reflection.made_counts
      File.write("file", "x")
      Plain.free(Plain.malloc(10))
      100.times { Object.new }
      assert_equal [before, 0], [reflection.counted_calls, before[0]]
      assert_equal made, reflection.made_counts
    RUBY
  end

  def test_traces_may_be_within_each_other
    in_memprof(<<~'RUBY')
      Memprof.trace_filename = "lines"
      Memprof.trace do
        File.write("file", "12")
        Memprof.trace { File.write("file", "345") }
        File.write("file", "6789")
      end
      inner, outer = File.readlines("lines").map { |line| JSON.parse(line)["fd"]["write"] }
      assert_equal [1, 3], inner.values_at("calls", "bytes")
      assert_operator outer["bytes"], :>, 9 # the other's line is written, too
      assert_equal 4, outer["calls"]
    RUBY
  end

  def test_while_malloc_all_runs_calls_are_not_known
    in_memprof(<<~'RUBY')
      HeapProfile.start(interval: 1 << 30, malloc_interval: 1, malloc: :all)
      line = traced { GC.start }
      assert_equal [nil, nil, 1], [line["fd"], line["memory"], line["gc"]["calls"]]
      block = Plain.malloc(5000)
      rows = HeapProfile.snapshot.select { |row| row.caller&.start_with?("plain_malloc ") }
      assert_equal [Plain.bytes(block)], rows.map(&:inuse_malloc_space)
      HeapProfile.stop
      assert_equal 3, traced { File.write("file", "123") }["fd"]["write"]["bytes"]
    RUBY
  end

  def test_malloc_all_that_begins_meanwhile_goes_before
    in_memprof(<<~'RUBY')
      block = nil
      line = traced do
        HeapProfile.start(interval: 1 << 30, malloc_interval: 1, malloc: :all)
        block = Plain.malloc(5000)
      end
      assert_equal [nil, nil], line.values_at("fd", "memory")
      seen = -> { HeapProfile.snapshot.sum { |row| row.caller&.start_with?("plain_malloc ") ? row.inuse_malloc_space : 0 } }
      assert_equal Plain.bytes(block), seen.call
      more = Plain.malloc(7000)
      assert_equal Plain.bytes(block) + Plain.bytes(more), seen.call
      HeapProfile.stop
    RUBY
  end

  def test_a_trace_with_a_gap_knows_no_calls
    in_memprof(<<~'RUBY')
      Memprof.trace_filename = "lines"
      Memprof.trace do
        HeapProfile.start(malloc: :all)
        HeapProfile.stop
        Memprof.trace { File.write("file", "123") }
      end
      inner, outer = File.readlines("lines").map { |line| JSON.parse(line) }
      assert_equal [3, nil], [inner["fd"]["write"]["bytes"], outer["fd"]]
    RUBY
  end

  def test_usage_is_what_the_system_says
    in_memprof(<<~'RUBY')
      before = Process.times
      during = nil
      usage = traced { 300_000.times { Object.new }; during = Process.times }["rusage"]
      assert_include 0..(during.utime - before.utime + 0.1), usage["utime"]
      assert_operator usage["utime"] + usage["stime"], :>, 0
      # Of Linux's two peaks this one is kept across exec: it may be that of who has started us.
      peak = File.read("/proc/self/status")[/VmHWM:\s+(\d+)/, 1].to_i * 1024
      assert_operator usage["maxrss"], :>=, peak - (20 << 20)
      assert_equal %w[inblock majflt maxrss minflt nivcsw nvcsw oublock stime utime], usage.keys.sort
    RUBY
  end

  # ---- where it goes ----

  def test_the_value_is_the_blocks_and_the_line_is_appended
    in_memprof(<<~'RUBY')
      Memprof.trace_filename = "lines"
      assert_equal :value, Memprof.trace { :value }
      Memprof.trace {}
      lines = File.readlines("lines").map { |line| JSON.parse(line) }
      assert_equal [2, 0o600], [lines.size, File.stat("lines").mode & 0o777]
      assert_equal %w[fd gc memory objects rusage start time], lines[0].keys.sort
      assert_in_delta Time.now.to_f * 1e6, lines[0]["start"], 600e6
      assert_raise_with_message(ArgumentError, /a block is needed/) { Memprof.trace }
    RUBY
  end

  def test_without_a_file_it_is_stderr
    ran = run_ruby("--disable-gems", "-rheapprof/memprof", "-e", "Memprof.trace { Object.new }")
    assert_one_line(/\A\{"start":/, ran.err)
    assert_equal 1, JSON.parse(ran.err)["objects"]["types"]["object"]
  end

  def test_a_block_that_raises_is_counted_no_longer
    in_memprof(<<~'RUBY')
      Memprof.trace_filename = "lines"
      assert_raise(IOError) { Memprof.trace { raise IOError } }
      assert_equal [false, 0], [File.exist?("lines"), HeapProfile::Reflection.counted_calls[0]]
    RUBY
  end

  # ---- Rack ----

  def test_a_request_has_the_fields_of_memprof_and_no_value_of_a_query
    in_memprof(<<~'RUBY')
      Memprof.trace_filename = "lines"
      env = { "REQUEST_METHOD" => "POST", "REMOTE_ADDR" => "127.0.0.1", "PATH_INFO" => "/carts/\xff", "rack.input" => "secret",
              "QUERY_STRING" => "token=secret&b=secret&secret", "REQUEST_URI" => "/carts?token=secret",
              "action_dispatch.request.path_parameters" => { controller: "carts", action: "show", id: "secret" } }
      response = [200, {}, ["ok"]]
      app = ->(given) { assert_same env, given; File.write("file", "1234"); response }
      assert_same response, Memprof::Tracer.new(app).call(env)
      line = JSON.parse(text = File.read("lines"))
      assert_equal({ "REQUEST_METHOD" => "POST", "REQUEST_URI" => "/carts?token=[FILTERED]", "PATH_INFO" => "/carts/\xff".dump,
                     "QUERY_STRING" => "token=[FILTERED]&b=[FILTERED]&[FILTERED]", "REMOTE_ADDR" => "127.0.0.1" }, line["request"])
      assert_equal({ "controller" => "carts", "action" => "show" }, line["rails"])
      assert_equal %w[rails request start time tracers], line.keys.sort
      assert_equal %w[fd gc memory objects rusage], line["tracers"].keys.sort
      assert_equal [1, false], [line["tracers"]["fd"]["write"]["calls"], text.include?("secret")]
      Memprof.trace_request({}) {}
      assert_equal({}, JSON.parse(File.readlines("lines").last)["request"])
    RUBY
  end

  def test_the_file_may_be_given
    in_memprof(<<~'RUBY')
      Memprof.trace_filename = "lines"
      assert_equal :value, Memprof.trace("other") { :value }
      assert_equal [false, 1], [File.exist?("lines"), File.readlines("other").size]
    RUBY
  end

  # As memprof's tracer did.
  def test_the_tracers_own_file_is_a_temporary_one_with_the_pid
    in_memprof(<<~'RUBY')
      ENV["TMPDIR"] = Dir.pwd
      tracer = Memprof::Tracer.new(->(_) { [200, {}, []] })
      2.times { tracer.call({}) }
      name = "memprof_tracer-#{Process.pid}.json"
      assert_equal File.join(Dir.pwd, name), Memprof.trace_filename
      assert_equal [2, 0o600], [File.readlines(name).size, File.stat(name).mode & 0o777]
    RUBY
  end

  def test_a_link_in_a_directory_of_all_users_is_not_followed
    in_memprof(<<~'RUBY')
      Dir.mkdir("shared")
      File.chmod(0o1777, "shared")
      File.symlink("../target", "shared/link")
      File.mkfifo("shared/pipe")
      assert_raise(Errno::ELOOP) { Memprof.trace("shared/link") {} }
      assert_raise(Errno::EPERM, Errno::ENXIO) { Memprof.trace("shared/pipe") {} }
      assert_equal false, File.exist?("target")
      Memprof.trace("shared/file") {}
      assert_equal 1, File.readlines("shared/file").size
    RUBY
  end

  def test_the_middleware_prints_what_a_request_made
    in_memprof(<<~'RUBY')
      $kept = []
      app = lambda do |env|
        $kept << Object.new
        100.times { Module.new }
        [200, {}, []]
      end
      before, $stderr = $stderr, StringIO.new
      assert_equal [200, {}, []], Memprof::Middleware.new(app).call({})
      first = $stderr.string
      $stderr = StringIO.new
      Memprof::Middleware.new(app, force_gc: true).call({})
      forced = $stderr.string
      $stderr = StringIO.new
      Memprof::Middleware.new(app, { force_gc: true }).call({})
      forced_by_hash = $stderr.string
      $stderr = before
      assert_match(/^    100 .*it\.rb:4:Module$/, first)
      assert_match(/^      1 .*it\.rb:3:Object$/, first)
      assert_match(/^      1 .*it\.rb:3:Object$/, forced)
      [forced, forced_by_hash].each { |text| assert_operator text[/(\d+) .*:Module$/, 1].to_i, :<, 50 }
      assert_raise(ArgumentError) { Memprof::Middleware.new(app, { gc: true }) }
      assert_equal false, HeapProfile.running?
    RUBY
  end

  def test_requests_of_several_threads_are_served_one_after_the_other
    in_memprof(<<~'RUBY')
      before, $stderr = $stderr, StringIO.new
      inside = most = 0
      app = ->(env) { inside += 1; most = [most, inside].max; Thread.pass; inside -= 1; [200, {}, []] }
      middleware = Memprof::Middleware.new(app)
      Array.new(8) { Thread.new { 5.times { middleware.call({}) } } }.each(&:join)
      $stderr = before
      assert_equal 1, most
    RUBY
  end
end
