# frozen_string_literal: true
#
# test_snapshot.rb - heapprof snapshot: the heap profile of another process is what that process would take itself.

require_relative "lib/attached"

class TestHeapprofSnapshot < Test::Unit::TestCase
  include Attached

  # What is kept, and what has died; in names that are nobody else's.
  WORK = <<~'RUBY'
    class Kept; end
    class Dead; end
    module Shop
      def self.keep(n) = n.times.map { Kept.new }
      def self.waste(n) = n.times { Dead.new }
      def self.text(n) = n.times.map { |i| "x" * (1000 + i) }
    end
    $kept = [Shop.keep(5_000), Shop.text(500)]
    Shop.waste(5_000)
    1000.times { Array.new(10) } # so that no object of Shop's is just being made
  RUBY

  # Both profiles of one moment: the process's own, and ours, taken while it waits.
  def both(script, *arguments, settings: "interval=256")
    in_directory do |directory|
      own = "#{directory}/own.pb.gz"
      script += <<~RUBY
        $stdin.gets if $ready.call
        ObjectSpace::HeapProfile.snapshot(owners: false).write(#{own.dump})
        $stdout.syswrite("written\\n")
        $stdin.read
      RUBY
      beside(script, *arguments, env: { "RUBY_HEAPPROF" => "#{settings},out=" }) do |pid, input, output|
        threads_until(pid) { |all| all.any? { |thread| thread["state"] == "blocked" && labels(thread).first == "IO#gets" } }
        ran = heapprof("snapshot", pid, "-o", "outside.pb.gz")
        assert_equal 0, ran.status, ran.err
        assert_match(/\Aheapprof snapshot: wrote .*outside.pb.gz: [\d,]+ samples? alive/, ran.err)
        input.puts
        assert_equal "written\n", output.gets
        yield profile("outside.pb.gz"), profile(own), pid
      end
    end
  end

  # Values by class and stack.
  def profile(file)
    parsed = JSON.parse(heapprof!("convert", file, "--to=json").out)
    functions, locations = parsed["functions"], parsed["locations"]
    rows = {}
    parsed["samples"].each do |sample|
      stack = sample["locations"].map { |at| locations[at]["lines"].map { |number, line| [functions[number]["name"], line] } }
      rows[[stack, sample["labels"]]] = sample["values"]
    end
    [rows, parsed["sample_types"], parsed["comments"]]
  end

  # Values are rounded so that all of them add up, so each may be one more or less where others have come.
  def assert_same_rows(own, outside)
    expected, got = of_the_script(own[0]), of_the_script(outside[0])
    assert_equal expected.keys.sort_by(&:inspect), got.keys.sort_by(&:inspect)
    expected.each { |key, values| values.zip(got[key]) { |value, other| assert_in_delta value, other, 1, key.inspect } }
  end

  # Of those that the script is about; the snapshot itself allocates.
  def of_the_script(rows)
    rows.select { |(stack, _), _| stack.flatten(1).any? { |name, _| name.to_s.start_with?("Shop.") } }
  end

  def test_it_is_the_profile_that_the_process_takes
    ["", "GC.start\n"].each do |last|
      both(WORK + last) do |outside, own, pid|
        assert_equal own[1], outside[1]
        assert_same_rows own, outside
        assert_operator of_the_script(own[0]).size, :>, 3
        assert_includes outside[2], "pid: #{pid}"
        assert_includes outside[2], "interval: 256 bytes"
      end
    end
  end

  def test_every_object
    both(WORK, settings: "interval=1") do |outside, own, _|
      assert_same_rows own, outside
    end
  end

  # Dead objects that a lazy sweep has not come to are in neither.
  def test_in_the_midst_of_a_sweep
    script = WORK + "GC.start(immediate_sweep: false)\n"
    both(script, settings: "interval=64") do |outside, own, _|
      assert_same_rows own, outside
    end
  end

  # A process without memory for the names of C functions does not know them. Who reads it has memory of its own, and does.
  def without_callers((rows, *rest))
    sums = Hash.new { |hash, key| hash[key] = [0] * rows.first[1].size }
    rows.each do |(stack, labels), values|
      key = [stack, labels.reject { |name,| %w[class caller].include?(name) && labels.any? { |other,| other == "caller" } }]
      sums[key] = sums[key].zip(values).map(&:sum)
    end
    [sums, *rest]
  end

  # More than a budget of 2 MB has room for. At the end there is room again for what is alive, and for a site that there is: or the
  # process might have to make room for its last sample when it writes its profile, and the reader outside never makes any.
  THINNED = <<~'RUBY'
    $more = 20_000.times.map { |i| Object.const_set("C#{i}", Class.new).new }
    $more = nil
    GC.start
    1_000.times { Object.new }
  RUBY

  # Without blocks: the process itself may have no memory for the names of C functions that have asked for them.
  FULL = "interval=1,malloc_interval=0,memory=2m"

  def test_when_the_budget_has_been_used_up
    both(WORK + THINNED, settings: "interval=1,memory=2m") do |outside, own, _|
      assert_same_rows without_callers(own), without_callers(outside)
    end
  end

  # ---- equal, field by field ----

  # What a profile says of the process, of the time and of the tables' memory; every other byte is to be the same.
  VARIABLE = { time_nanos: 9, duration_nanos: 10 }.freeze
  COMMENT, TEXT = 13, 6

  # The fields of a message: [number, value], which is a number or bytes.
  def fields(bytes)
    at, all = 0, []
    while at < bytes.bytesize
      key, at = varint(bytes, at)
      value, at = varint(bytes, at)
      value = bytes.byteslice((at += value) - value, value) if key & 7 == 2
      all << [key >> 3, value]
    end
    all
  end

  # The number that is there, and where it ends.
  def varint(bytes, at)
    value = shift = 0
    loop do
      byte = bytes.getbyte(at)
      value |= (byte & 127) << shift
      at += 1
      shift += 7
      return value, at if byte < 128
    end
  end

  def varints(bytes)
    at, all = 0, []
    while at < bytes.bytesize
      value, at = varint(bytes, at)
      all << value
    end
    all
  end

  # Without comments and their texts; and what the comments say of the samples.
  def parts(file)
    all = fields(Zlib.gunzip(File.binread(file)))
    texts = all.filter_map { |number, value| value if number == TEXT }
    comments = all.filter_map { |number, value| value if number == COMMENT }.join
    spoken = texts.values_at(*varints(comments))
    all.reject! { |number, value| VARIABLE.value?(number) || number == COMMENT || number == TEXT && spoken.include?(value) }
    [all, spoken.take_while { |text| !text.start_with?("memory: ") }, texts]
  end

  # Takes both of one moment, at which the GVL is held in C: nothing happens between them. Before that a thread without
  # the GVL has asked for so many blocks.
  def assert_equal_profiles(script, settings:, blocks: 0, last: "")
    in_directory do |directory|
      script = <<~RUBY
        require "-test-/heapprof_barrier"
        #{script}
        path = "#{directory}/own.pb.gz"
        #{last}
        HeapProfBarrier.take(1, 0, path, #{blocks})
        $stdout.syswrite("written\n")
        $stdin.read
      RUBY
      beside(script, env: { "RUBY_HEAPPROF" => "#{settings},out=" }) do |pid, input, output|
        ran = heapprof("snapshot", pid, "-o", "outside.pb.gz")
        assert_equal 0, ran.status, ran.err
        input.write("x")
        assert_equal "written\n", output.gets
        (own, own_facts, texts), (outside, outside_facts) = parts("own.pb.gz"), parts("outside.pb.gz")
        assert_equal own_facts, outside_facts
        own.zip(outside).each_with_index { |(expected, got), i| assert_equal expected, got, "field #{i}, #{last}" }
        assert_equal own.size, outside.size
        yield texts, own_facts if block_given?
      end
    end
  end

  # A process that never stops allocating: each snapshot is one that existed.
  def test_a_process_that_allocates_all_the_time
    script = <<~'RUBY'
      class Pair; end
      def pairs = loop { $pairs = [Pair.new, Pair.new] }
      20_000.times { Pair.new }
      $ready.call
      pairs
    RUBY
    in_directory do
      beside(script, env: { "RUBY_HEAPPROF" => "interval=1,out=" }) do |pid|
        5.times do |i|
          ran = heapprof("snapshot", pid, "-o", "s#{i}.pb.gz")
          assert_equal 0, ran.status, ran.err
          top = heapprof!("top", "s#{i}.pb.gz", "--by=alloc_objects", "--group=class", "--json").json["rows"]
          assert_includes top.first(10).map { |row| row["what"] }, "Pair"
        end
      end
    end
  end

  def test_one_after_the_other
    in_directory do
      beside("class Leak; end\n$leak = []\n$ready.call\nloop { 100.times { $leak << Leak.new }; sleep 0.05 }",
             env: { "RUBY_HEAPPROF" => "interval=1,out=" }) do |pid|
        recorder = Process.spawn(PROGRAM, "snapshot", pid.to_s, "--every", "0.1", "--keep", "2", "-o", "leak-%n.pb.gz", err: File::NULL)
        numbers = -> { Dir["leak-*.pb.gz"].map { |file| file[/\d+/].to_i }.sort }
        sleep 0.01 until numbers.call.last.to_i >= 5
        Process.kill(:INT, recorder)
        Process.wait(recorder)
        assert_equal 0, $?.exitstatus
        files = numbers.call.map { |number| "leak-#{number}.pb.gz" }
        assert_equal [2, "leak-1.pb.gz"], [files.size, files.first]
        ran = heapprof("snapshot", pid, "-o", "last.pb.gz", "--diff", files.first)
        assert_equal 0, ran.status, ran.err
        assert_match "Leak", ran.out
      end
    end
  end

  def test_one_after_the_other_until_the_process_ends
    in_directory do
      beside("$ready.call; $stdin.gets", env: { "RUBY_HEAPPROF" => "1,out=" }) do |pid, input|
        Open3.popen3(ENVIRONMENT, PROGRAM, "snapshot", pid.to_s, "--every", "0.05") do |_, _, err, recorder|
          2.times { assert_match(/wrote/, err.gets) }
          input.puts
          assert_match(/^heapprof snapshot: process #{pid} (has ended|is no longer profiled)\n\z/, err.read)
          assert_equal 0, recorder.value.exitstatus
        end
      end
    end
  end

  def test_a_profile_without_a_name_does_not_overwrite_another
    in_directory do
      beside("$ready.call; sleep", env: { "RUBY_HEAPPROF" => "1,out=" }) do |pid|
        2.times { heapprof("snapshot", pid) }
        assert_equal ["heapprof-#{pid}-2.pb.gz", "heapprof-#{pid}.pb.gz"], Dir["*"].sort
      end
    end
  end

  def test_a_process_that_is_not_profiled
    beside("$ready.call; sleep") do |pid|
      assert_refused 1, /its heap is not profiled: `heapprof start #{pid}` starts that$/, "snapshot", pid
    end
  end

  # At interval 1 each object is a sample, and the last of each Ractor is pending.
  def test_equal_with_a_pending_sample
    assert_equal_profiles(WORK, settings: "interval=1")
    assert_equal_profiles(WORK, settings: "interval=256")
  end

  # Labels are found by the same rule outside as inside (the contract "labels"): of each type that can be made, of a class, of
  # its metaclass, of a class that has no name, of what is hidden from Ruby, and of no class at all.
  def test_equal_whatever_is_pending
    ["Last.new", "Class.new", "Class.new.new", "def self.m = 0", "-> { }", "/a\#{$$}/", "$kept.hash; {}", "o = Object.new; def o.a = 0",
     "Module.new", "Last.include(Module.new)", "Last.instance_method(:to_s)", "lambda(&:last)", "1.0e-200 / 3", "binding",
     "2**70", "Complex(1, 2)", "Rational(1, 3)", "'abc'.match(/b/)", "'x\#{$$}'.to_sym", "Struct.new(:a).new(1)", "IO.pipe",
     "catch(:a) { throw :a }", "Class.new { prepend Module.new }", "eval('1')", "[3, 1].each_slice(1).to_a", "Object.new.singleton_class",
     "[1, 2].sum { |i| i }; ObjectSpace.each_object(Class).first", "Ractor.current"].each do |last|
      assert_equal_profiles("class Last; end\n#{WORK}", settings: "interval=1", last:)
    end
  end

  # In a block whose endpoint is not known yet. The process waits in it, so that nothing is allocated behind it.
  def test_equal_when_what_is_pending_waits_for_its_name
    last = <<~'RUBY'
      ObjectSpace::HeapProfile.label(late: :endpoint) do
        HeapProfBarrier.take(1, 0, path, 0)
        $stdout.syswrite("written\n")
        $stdin.read
        exit!
      end
    RUBY
    assert_equal_profiles(WORK, settings: "interval=1", last:) { |texts,| assert_includes texts, "(before routing)" }
  end

  def test_equal_with_samples_of_several_ractors
    script = WORK + <<~'RUBY'
      $VERBOSE = nil
      class OfRactor; end
      ready = 3.times.map { |i| Ractor.new(i) { |n| kept = Array.new(100 + n) { OfRactor.new }; Ractor.yield(1); Ractor.receive; kept } }
      ready.each(&:take)
      others = -> { Dir["/proc/self/task/*/stat"].grep_v(%r{/#{Process.pid}/}).map { |stat| File.read(stat)[/\) (\w)/, 1] } }
      Thread.pass until others.call.uniq == ["S"] # each waits for a message: nobody wakes it any more
    RUBY
    assert_equal_profiles(script, settings: "interval=1") { |texts,| assert_includes texts, "OfRactor" }
  end

  def test_equal_with_blocks_that_wait_and_have_been_freed
    assert_equal_profiles(WORK, settings: "interval=256", blocks: 100) do |texts,|
      assert texts.any? { |text| text.start_with?("ask_for_blocks (") }
    end
  end

  # Classes that are named after their first object; a method, a block and C methods of such; and some that stay without.
  def test_equal_with_names_that_came_later
    script = <<~'RUBY'
      def made = Class.new { def initialize = @all = [[1].map { |i| i.to_s * 50 }, self.class.name.to_s * 2]; define_method(:more) { @m = [1] } }
      def singleton(klass) = klass.define_singleton_method(:build) { 50.times.map { new.tap(&:more) } }
      $all = 4.times.map { |i| made.tap { singleton(_1) } }
      $all << Class.new($all[0]) << Class.new($all[3]) << Struct.new(:a)
      $kept = $all.first(6).map { |klass| [klass.build, 50.times.map { klass.new }] } << 50.times.map { $all[6].new("a") }
      Named, Other, Record = $all[0], $all[1], $all[6]
      module Outer; end
      Outer::Inner = $all[2]
      $all[4].set_temporary_name("fake<1>")
    RUBY
    ["", "GC.start(immediate_sweep: false)"].each do |last|
      assert_equal_profiles(script, settings: "interval=1", last:) do |texts,|
        ["Named", "Outer::Inner", "Named#initialize", "block in Outer::Inner#initialize", "Record", "fake<1>", "#<Class < Object>"].each do |name|
          assert_includes texts, name
        end
      end
    end
  end

  def test_equal_in_the_midst_of_a_sweep
    assert_equal_profiles(WORK, settings: "interval=16", last: "$kept = nil; GC.start(immediate_sweep: false)")
  end

  def test_equal_when_samples_have_been_thinned
    assert_equal_profiles(WORK + THINNED, settings: FULL) do |_, facts|
      assert_operator facts.grep(/\Adoubled intervals: /).first[/\d+/].to_i, :>, 0
    end
  end

  # What was alive at the peak, and how old the dead were: also of blocks that no site has been told of, and of what is dead and
  # not swept.
  def test_equal_with_the_past
    past = "peak=1,lifetimes=1"
    script = WORK + "2.times { GC.start; Shop.waste(3_000) }\n"
    has = lambda do |texts, facts|
      %w[peak_space temp_space death_age].each { |name| assert_includes texts, name }
      assert_equal 1, facts.grep(/\Apeak: /).size
    end
    assert_equal_profiles(script, settings: "interval=1,#{past}", &has)
    assert_equal_profiles(script, settings: "interval=256,#{past}", blocks: 100, &has)
    assert_equal_profiles(script, settings: "interval=16,#{past}", last: "$kept = nil; GC.start(immediate_sweep: false)", &has)
    assert_equal_profiles(script + THINNED, settings: "#{FULL},#{past}") do |texts, facts|
      has.call(texts, facts)
      assert_operator facts.grep(/\Adoubled intervals: /).first[/\d+/].to_i, :>, 0
    end
  end

  def test_wrong_options
    assert_refused 2, /give either a PID or --core/, "snapshot"
    assert_refused 2, /--every=0/, "snapshot", Process.pid, "--every=0"
    assert_refused 1, /there is no such process/, "snapshot", 4194304
    beside("$ready.call; sleep", env: { "RUBY_HEAPPROF" => "1,out=" }) do |pid|
      assert_refused 2, /--output=%q/, "snapshot", pid, "-o", "%q"
      assert_refused 1, /No such file/, "snapshot", pid, "-o", "no/such/file.pb.gz"
    end
  end
end
