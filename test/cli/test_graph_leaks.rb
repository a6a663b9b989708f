# frozen_string_literal: true
#
# test_graph_leaks.rb - leaks of the kinds people have, planted in a program that dumps itself: heapprof graph names each by its
# place, with the way to it and where it was allocated.

require_relative "lib/heapprof_command"

class TestHeapprofGraphLeaks < Test::Unit::TestCase
  include HeapprofCommand

  # Runs the program, some of whose objects know where they were allocated; each call of dump writes 1.graph, 2.graph ...
  def dumps(program, *options)
    in_directory do
      write("program.rb", <<~RUBY)
        DUMPS = []
        def dump
          GC.start
          ObjectSpace::HeapGraph.dump("\#{DUMPS.size + 1}.graph", gc: true)
          DUMPS << nil
        end
        ObjectSpace::HeapProfile.start(interval: 2048)
        #{program}
      RUBY
      _, err, status = EnvUtil.invoke_ruby(["--disable-gems", *options, "program.rb"], "", true, true, timeout: 120)
      assert_equal ["", true], [err, status.success?]
      yield
    end
  end

  def suspects = heapprof!("graph", "report", "1.graph", "--json").json["suspects"].map { |suspect| suspect["text"] }

  # The first suspect in words: who keeps it, what it is gathered in, by which way it is alive, and the line where it was
  # allocated, which is the one with "# here".
  def assert_named(keeper, gathered, way, program)
    dumps("#{program}\ndump") do
      line = File.readlines("program.rb").index { |text| text.include?("# here") } + 1
      assert_match(/\A`#{keeper}` keeps [\d.]+ MB \(\d+\.\d%\), gathered in #{gathered}; kept alive by #{way}; allocated at .*program\.rb:#{line} /, suspects[0])
    end
  end

  def test_a_global_variable
    assert_named(/\$leak/, "one Array of 40,000 Strings", /global \$leak/, <<~RUBY)
      $leak = []
      40_000.times { |i| $leak << "item \#{i} " * 5 } # here
    RUBY
  end

  def test_a_constant_and_what_hangs_on_it
    assert_named("Cart::CACHE", "one Hash of 30,000 Orders", "constant Cart::CACHE -> @items", <<~RUBY)
      class Order; def initialize(i) = @name = "order \#{i} " * 5; end
      class Cart
        CACHE = new
        def items = @items ||= {}
      end
      30_000.times { |i| Cart::CACHE.items[i] = Order.new(i) } # here
    RUBY
  end

  def test_a_class_variable
    assert_named("Cart.@@all", "one Array of 40,000 Strings", "@@all of Cart", <<~RUBY)
      class Cart
        @@all = []
        def self.add(text) = @@all << text
      end
      40_000.times { |i| Cart.add("item \#{i} " * 5) } # here
    RUBY
  end

  def test_a_local_that_a_closure_has_caught
    assert_named("Bus.@subscribers", "one Array of 40,000 Strings", /@subscribers of Bus -> \[0\] -> .*local big/, <<~RUBY)
      class Bus
        @subscribers = []
        def self.on(&block) = @subscribers << block
      end
      def subscribe
        big = []
        40_000.times { |i| big << "item \#{i} " * 5 } # here
        Bus.on { big.size }
      end
      subscribe
    RUBY
  end

  # A few of them may lie on the machine stack, too.
  def test_many_subscribers
    assert_named("Bus.@subscribers", /one Array of (?:3,000|2,9\d\d) Procs/, "@subscribers of Bus", <<~RUBY)
      class Bus
        @subscribers = []
        def self.on(&block) = @subscribers << block # here
      end
      def subscribe(i)
        name = "subscriber \#{i} " * 50
        Bus.on { name }
      end
      3000.times { |i| subscribe(i) }
    RUBY
  end

  def test_a_local_of_a_fiber
    assert_named(/Thread\.current\[:log\]/, "one Array of 40,000 Strings", /ractor -> thread -> \[:log\]/, <<~RUBY)
      Thread.current[:log] = []
      40_000.times { |i| Thread.current[:log] << "item \#{i} " * 5 } # here
    RUBY
  end

  def test_a_thread_variable
    assert_named("Thread main", "one Array of 40,000 Strings", /ractor -> thread -> locals -> \[:log\]/, <<~RUBY)
      Thread.current.thread_variable_set(:log, [])
      40_000.times { |i| Thread.current.thread_variable_get(:log) << "item \#{i} " * 5 } # here
    RUBY
  end

  def test_a_list
    assert_named(/\$head/, "a list of 20,000 Nodes", /global \$head/, <<~RUBY)
      class Node
        def initialize(rest)
          @text = "node " * 20
          @rest = rest
        end
      end
      20_000.times { $head = Node.new($head) } # here
    RUBY
  end

  def test_a_variable_of_an_extension
    assert_named(/.*hostile_cache.*/, "one Array of 40,000 Strings", /C global hostile_cache in heapprof_hostile\.so/, <<~RUBY)
      require "-test-/heapprof_hostile"
      40_000.times { |i| HeapProfHostile.keep("item \#{i} " * 5) } # here
    RUBY
  end

  # Between dumps many come and go, at addresses that are used again, and compaction moves what is left. Of what leaks each is told; a
  # cache whose entries are all replaced, and what lives through one dump alone, are no survivors.
  def test_storms_and_compaction_leave_no_false_survivor
    omit "no compaction here" unless GC.respond_to?(:compact)
    dumps(<<~RUBY) do
      %w[Leaked Replaced Passing Steady].each { |name| Object.const_set(name, Class.new { def initialize = @text = "text " * 20 }) }
      LEAK, CACHE, PASSING, STEADY = [], [], [], Array.new(700) { Steady.new }
      def apart(&) = Thread.new(&).join # so that no stack keeps what was there
      def storm = apart { 20_000.times { [Leaked, Replaced, Passing, Steady].each(&:new) } }
      def turn(number)
        storm
        apart { LEAK.concat(Array.new(1000) { Leaked.new }) }
        apart { CACHE.clear.concat(Array.new(500 + number) { Replaced.new }) }
        apart { PASSING.clear.concat(Array.new(number * 100) { Passing.new }) }
        storm
        GC.compact
        storm
        dump
      end
      3.times { |number| turn(number) }
    RUBY
      json = heapprof!("graph", "diff", "1.graph", "2.graph", "3.graph", "--json").json
      rows = json["rows"].to_h { |row| [row["way"], row] }
      leak, passing = rows.values_at("constant LEAK", "constant PASSING")
      assert_equal [4000, 0, true], [*[leak["new"], leak["freed"]].map { |flow| flow["objects"] }, leak["by_step"].all?(&:positive?)]
      assert_equal [400, 0, true], [*[passing["new"], passing["freed"]].map { |flow| flow["objects"] }, passing["by_step"].all?(&:positive?)]
      assert_nil rows["constant STEADY"]
      assert_equal json["growth"], json["rows"].sum { |row| row["growth"] } + json["rest"]
      text = heapprof!("graph", "diff", "1.graph", "2.graph", "3.graph").out
      assert_match(/^ +[\d.]+ kB +[\d.]+ kB +[\d.]+ kB +[\d.]+ kB +0 B +[\d.]+ kB  constant LEAK \(Array\): 2,000 new Leakeds and 2,000 Strings(; the Array grew from [\d.]+ kB to [\d.]+ kB)(; allocated at .*)?$/, text)
    end
  end
end
