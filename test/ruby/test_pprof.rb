# frozen_string_literal: true

# test_pprof.rb - the file as tools see it: everything here goes through `go tool pprof`. What a
# program keeps is known, so the estimates can be judged; every view the README names must work.

require_relative "lib/heapprof_test"
require "socket"
require "net/http"
require "socket"

class TestHeapProfPprof < Test::Unit::TestCase
  include HeapProfTest

  # Keeps COUNT objects at each site: strings, arrays, structs and objects in slots of each size,
  # and hashes, whose slot is always the third. Each site is a method of its own.
  SITES = <<~'RUBY'
    COUNT = Integer(ENV.fetch("COUNT"))
    X = "x"
    LENGTHS = [2, 6, 15, 35, 70]
    STRUCTS = LENGTHS.map.with_index { |n, i| Object.const_set("Struct#{i}", Struct.new(*Array.new(n) { |j| :"m#{j}" })) }
    OBJECTS = LENGTHS.map.with_index do |n, i|
      klass = Object.const_set("Object#{i}", Class.new)
      klass.class_eval("def initialize\n#{Array.new(n) { |j| "@v#{j} = #{j}" }.join(';')}\nend")
      klass
    end

    module Strings
      5.times { |i| class_eval("def self.s#{i}(kept, n) = n.times { |i| kept[i] = X * #{[10, 50, 100, 250, 500][i]} }") }
    end
    module Arrays
      5.times { |i| class_eval("def self.s#{i}(kept, n) = n.times { |i| kept[i] = [#{(['i'] * LENGTHS[i]).join(',')}] }") }
    end
    module Structs
      5.times { |i| class_eval("def self.s#{i}(kept, n) = n.times { |i| kept[i] = Struct#{i}.new(i) }") }
    end
    module Objects
      5.times { |i| class_eval("def self.s#{i}(kept, n) = n.times { |i| kept[i] = Object#{i}.new }") }
    end
    module Hashes
      def self.s2(kept, n) = n.times { |i| kept[i] = { i => i } }
    end

    # Objects learn how many instance variables their class has from the first ones.
    OBJECTS.each { |klass| 3.times { klass.new } }
    KEPT = [Strings, Arrays, Structs, Objects, Hashes].flat_map do |site|
      site.singleton_methods.sort.map do |name|
        kept = Array.new(COUNT)
        site.public_send(name, kept, COUNT)
        kept
      end
    end
    puts Array.new(5) { |i| GC.stat_heap(i, :slot_size) }.join(" ")
  RUBY
  KINDS = %w[Strings Arrays Structs Objects].product([0, 1, 2, 3, 4]) + [["Hashes", 2]]

  # What -top says of each method of SITES: [number of objects], by "Strings.s0" and so on. Only the
  # site's own class counts, for the VM allocates caches on the way.
  def sites(out, index, *options)
    text = pprof("-top", "-cum", "-sample_index=#{index}", "-nodecount=100000", "-nodefraction=0",
                 "-tagfocus=class=^(String|Array|Hash|Struct\\d|Object\\d)$", *options, out)
    text.scan(/^ *\S+ +\S+% +\S+% +(\d+) +\S+% +(\w+\.s\d)$/).to_h { |cum, site| [site, cum.to_i] }
  end

  def assert_sites(count, interval, seed)
    profile_script(SITES, settings: "interval=#{interval},seed=#{seed}", env: { "COUNT" => count.to_s }) do |out, _, ran|
      slots = ran.out.split.map(&:to_i)
      %w[inuse_objects alloc_objects].each do |index|
        found = sites(out, index)
        KINDS.each do |kind, size|
          estimate = found.fetch("#{kind}.s#{size}", 0)
          assert_estimate count, estimate, slots[size], interval, "#{kind} of #{slots[size]} bytes, #{index}, seed #{seed}"
        end
      end
    end
  end

  COUNT = DEBUG_BUILD ? 1000 : 6000

  def test_estimates_of_known_sites_are_within_5_7_sigma_at_4k
    [1, 2, 3, 4, 5].each { |seed| assert_sites(COUNT, 4096, seed) }
  end

  def test_estimates_of_known_sites_are_within_5_7_sigma_at_small_intervals
    [40, 1000].each { |interval| assert_sites(COUNT, interval, 1) }
  end

  def test_numbers_of_known_sites_are_exact_at_1
    assert_sites(COUNT / 3, 1, 1)
  end

  # ---- what is in the file ----

  LEAK = <<~'RUBY'
    class Leak; end

    class Cache
      def fill(n)
        n.times { |i| ($cache ||= []) << Leak.new }
      end
    end

    Cache.new.fill(1000)
    GC.start
    def waste = Array.new(500) { "gone" }.clear
    waste
  RUBY

  def test_sample_types_period_and_default_are_as_documented
    profile_script(LEAK, settings: "interval=4k") do |out,|
      profile = read_profile(out)
      assert_equal %w[alloc_objects/count alloc_slot_space/bytes alloc_malloc_space/bytes alloc_space/bytes
                      inuse_objects/count inuse_slot_space/bytes inuse_malloc_space/bytes inuse_space/bytes[dflt]
                      rss_space/bytes inuse_variance/bytes^2], profile.header
      raw = pprof("-raw", out)
      assert_match(/^PeriodType: space bytes$/, raw)
      assert_match(/^Period: 4096$/, raw)
      assert_match(/^1: .*\[FN\]\[FL\]\[LN\]$/, raw)
    end
  end

  def test_comments_tell_interval_gc_samples_and_what_was_lost
    profile_script(LEAK, settings: "interval=1") do |out,|
      comments = read_profile(out).comments
      ["interval: 1 bytes", "malloc interval: 1 bytes", "dropped samples: 0", "folded sites: 0", "truncated stacks: 0",
       "doubled intervals: 0"].each do |comment|
        assert_include comments, comment
      end
      assert comments.grep(/\Aas of GC: \d+\z/).one?
      live, taken = comments.grep(/\Asamples: /).first.scan(/\d+/).map(&:to_i)
      assert_operator live, :<, taken
      assert_match(/interval: 1 bytes/, pprof("-comments", out))
    end
  end

  def test_comments_tell_which_process_it_was
    in_directory do |directory|
      path = write_file("app.rb", <<~'RUBY')
        $0 = "app: worker\t3"
        Thread.current.name = "first"
        Thread.new { Thread.current.name = "näh\nst"; sleep }
        Thread.new { sleep }
        sleep 0.01 until Thread.list[1].name
        print Process.pid, " ", Process.ppid
      RUBY
      ran = run_ruby("--disable-gems", path, "secret argument", heapprof: "out=p.pb.gz", env: { "SECRET" => "value" })
      comments = read_profile("p.pb.gz").comments
      pid, parent = ran.out.split
      host = Socket.gethostname
      ["pid: #{pid}", "parent: #{parent}", "program: #{path}", "title: app: worker?3", "host: #{host}",
       "directory: #{directory}", "threads: first, näh?st"].each { |comment| assert_include comments, comment }
      assert_not_match(/secret|value/, comments.join)
      assert_match(/\Arss: /, comments.last)
    end
  end

  # It is that of the moment, whoever writes it.
  def test_origin_is_that_of_the_process_that_took_the_snapshot
    in_directory do
      in_child(<<~'RUBY')
        HeapProfile.start
        profile = HeapProfile.snapshot
        File.write("parent", $$)
        Process.wait(fork { profile.write("p.pb.gz"); (HeapProfile.snapshot - profile).write("difference.pb.gz"); File.write("child", $$) })
      RUBY
      parent, child = File.read("parent"), File.read("child")
      assert_include read_profile("p.pb.gz").comments, "pid: #{parent}"
      comments = read_profile("difference.pb.gz").comments
      assert_equal ["pid: #{child}", "parent: #{parent}"], comments.grep(/\A(pid|parent):/)
    end
  end

  def test_comments_tell_the_interval_of_malloc_by_itself
    { "interval=4k,malloc_interval=64k" => "65536", "interval=4k" => "4096", "malloc_interval=0" => "0" }.each do |settings, bytes|
      profile_script(LEAK, settings: settings) do |out,|
        assert_include read_profile(out).comments, "malloc interval: #{bytes} bytes"
      end
    end
  end

  def test_labels_are_class_or_caller_and_age
    profile_script(LEAK, settings: "interval=1,rss=0") do |out,|
      profile = read_profile(out)
      leak = profile.where(class_name: "Leak")
      assert_equal 1000, leak.sum(&:inuse_objects)
      assert_includes [40_000, 48_000], leak.sum(&:inuse_space) # a debug build's slots are a word larger
      assert leak.all? { |sample| sample.gc_age && sample.gc_age >= 1 }
      blocks, objects = profile.samples.partition(&:caller)
      assert objects.all?(&:class_name)
      assert objects.all? { |sample| sample.gc_age.nil? == (sample.inuse_objects == 0) }
      assert_operator blocks.size, :>, 10
      assert blocks.all? { |sample| sample.class_name == (sample.owner || sample.caller[/\((.*)\)/, 1].then { |library| "[#{library}]" }) }
      assert blocks.all? { |sample| sample.gc_age.nil? == (sample.inuse_malloc_space == 0) }
      assert blocks.all? { |sample| sample.caller.match?(/\A\S+ \(\S+\)\z/) }
      assert_operator profile.total(:alloc_objects, class_name: "String", label: "Object#waste"), :>=, 500
    end
  end

  def test_by_class_is_all_of_it
    profile_script(LEAK, settings: "interval=1") do |out,|
      top = pprof("-top", "-cum", "-tagroot=class", "-nodecount=1000", out)
      assert_not_match(/<unknown>/, top)
      assert_match(/ T_IMEMO\(iseq\)$/, top)
      assert_match(/ 100% +\[VM\]$/, pprof("-top", "-cum", "-tagroot=class", "-sample_index=rss_space", out))
    end
  end

  # The values of an object's sample are of slots, those of a block's of the allocator; space is both.
  def test_each_sample_is_of_slots_or_of_the_allocator
    profile_script(LEAK, settings: "interval=1,rss=0") do |out,|
      profile = read_profile(out)
      profile.samples.each do |sample|
        assert_equal sample.alloc_slot_space + sample.alloc_malloc_space, sample.alloc_space
        assert_equal sample.inuse_slot_space + sample.inuse_malloc_space, sample.inuse_space
        mine, others = %i[alloc_slot_space inuse_slot_space alloc_objects inuse_objects], %i[alloc_malloc_space inuse_malloc_space]
        mine, others = others, mine if sample.caller
        assert_equal [0], others.map { |value| sample[value] }.uniq
        assert_operator sample[mine[0]], :>, 0
      end
      array = profile.where(label: "Cache#fill").select { |sample| sample.caller&.start_with?("ary_") }
      assert_operator array.sum(&:inuse_malloc_space), :>=, 8 * 1000
    end
  end

  # A function whose system_name equals its name loses what looks like template brackets.
  def test_names_with_brackets_and_operators_arrive_whole
    profile_script("class V; def <=>(o) = Object.new; def [](x) = Object.new; end; $k = [V.new <=> 1, V.new[1]]") do |out,|
      labels = read_profile(out).samples.flat_map(&:frames).map(&:label)
      ["<main>", "V#<=>", "V#[]", "<class:V>"].each { |label| assert_include labels, label }
      assert_match(/ <main>$/, pprof("-top", "-cum", "-nodefraction=0", out))
    end
  end

  # ---- views ----

  def test_top_shows_the_leak_first
    profile_script(LEAK) do |out,|
      assert_match(/^Type: inuse_space$/, pprof("-top", out))
      first = pprof("-top", "-cum", "-focus=Cache", out).lines.grep(/%/)[1..].map { |line| line.split.last }
      assert_include first, "Cache#fill"
    end
  end

  def test_list_shows_the_ruby_source
    profile_script(LEAK) do |out, path|
      text = pprof("-list=Cache#fill", "-sample_index=inuse_objects", out)
      assert_include text, path
      assert_match(/ 100\d  +5: +n\.times \{ \|i\| \(\$cache \|\|= \[\]\) << Leak\.new \}/, text)
    end
  end

  def test_traces_show_whole_stacks
    profile_script(LEAK) do |out,|
      text = pprof("-traces", "-sample_index=inuse_objects", "-tagfocus=class=Leak", out)
      assert_match(/class: *Leak\n *gc_age: *\d+\n *memsize: *[\d.]+kB\n +1000 +Class#new\n +block in Cache#fill\n +Integer#times\n +Cache#fill\n +<main>\n/, text)
    end
  end

  def test_tags_tell_classes_and_ages
    profile_script(LEAK) do |out,|
      text = pprof("-tags", "-sample_index=inuse_objects", out)
      assert_match(/^ *class: Total \d/, text)
      assert_match(/ 1000\.0 \( *[\d.]+%\): Leak$/, text)
      assert_match(/^ *gc_age: Total /, text)
    end
  end

  def test_tagroot_makes_classes_the_roots
    profile_script(LEAK) do |out,|
      text = pprof("-traces", "-tagroot=class", "-sample_index=inuse_objects", "-focus=Cache#fill", out)
      assert_match(/ 1000 +Class#new\n(?: +\S.*\n)+? +<main>\n +Leak\n/, text)
    end
  end

  def test_diff_base_leaves_what_grew
    in_directory do
      path = write_file("script.rb", <<~'RUBY')
        class Leak; end
        def steady = Array.new(300) { "steady" }
        def leak(n) = Array.new(n) { Leak.new }
        ObjectSpace::HeapProfile.start(interval: 1)
        kept = [steady, leak(100)]
        ObjectSpace::HeapProfile.snapshot(gc: true).write("base.pb.gz")
        kept << leak(250)
        ObjectSpace::HeapProfile.snapshot(gc: true).write("later.pb.gz")
      RUBY
      assert_clean run_ruby("--disable-gems", path)
      text = pprof("-top", "-cum", "-sample_index=inuse_objects", "-nodefraction=0", "-diff_base=base.pb.gz",
                   "-tagfocus=class=^(Leak|String)$", "later.pb.gz")
      assert_match(/ 250 +\S+% +Object#leak$/, text)
      refute_match(/ [1-9]\d* +\S+% +Object#steady$/, text)
    end
  end

  def test_http_serves_the_flame_graph
    profile_script(LEAK) do |out,|
      # Another process may take the free port before go does.
      page = Array.new(3).lazy.filter_map { serve(out, "/ui/flamegraph?si=inuse_space") }.first
      assert_include page || flunk("go tool pprof -http ended three times"), "Cache#fill"
    end
  end

  # The first page is a drawing, made by dot.
  def test_http_serves_the_graph
    profile_script(LEAK) do |out,|
      page = Array.new(3).lazy.filter_map { serve(out, "/ui/?si=inuse_space") }.first
      assert_match(/<svg.*Cache#fill/m, page, "dot draws it: install the Debian package graphviz")
    end
  end

  # A page of go tool pprof -http; nil when it ended before it served any.
  def serve(profile, path)
    port = TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] }
    pid = spawn("go", "tool", "pprof", "-no_browser", "-http=127.0.0.1:#{port}", profile, pgroup: true,
                in: File::NULL, %i[out err] => File::NULL)
    go = Process.detach(pid)
    fetch(port, path, go)
  ensure
    Process.kill(:KILL, -pid) if go&.alive? # go, and the tool it started
    go&.join
  end

  private

  # The page, as soon as the server listens.
  def fetch(port, path, go)
    EnvUtil.timeout(TIMEOUT) do
      Net::HTTP.get(URI("http://127.0.0.1:#{port}#{path}"))
    rescue Errno::ECONNREFUSED
      return unless go.alive?
      sleep 0.05
      retry
    end
  end
end
