# frozen_string_literal: true
#
# test_graph_answers.rb - small programs that heapprof graph once told something wrong about: what grew between two dumps, and
# what keeps an object alive.

require_relative "lib/heapprof_command"

class TestHeapprofGraphAnswers < Test::Unit::TestCase
  include HeapprofCommand

  # Runs the program, each of whose calls of dump writes 1.graph, 2.graph ...
  def in_dumps_of(program)
    in_directory do
      write("program.rb", <<~RUBY)
        $VERBOSE = nil
        DUMPS = []
        def dump = ObjectSpace::HeapGraph.dump("\#{DUMPS.push(nil).size}.graph", gc: true)
        #{program}
      RUBY
      _, err, status = EnvUtil.invoke_ruby(["--disable-gems", "program.rb"], "", true, true, timeout: 120)
      assert_equal ["", true], [err, status.success?]
      yield
    end
  end

  # The rows of the difference by their way. They and the rest are the growth.
  def difference
    json = heapprof!("graph", "diff", *Dir["*.graph"].sort, "--json", "-n0").json
    assert_nil json["inexact"]
    assert_equal json["growth"], json["bytes"].last - json["bytes"].first
    assert_equal json["growth"], json["rows"].sum { |row| row["growth"] } + json["rest"]
    json["rows"].each { |row| assert_equal row["growth"], row["new"]["bytes"] - row["freed"]["bytes"] + row["grown"] }
    json["rows"].to_h { |row| [row["way"], row] }
  end

  def suspects(*options, dump: 1)
    heapprof!("graph", "report", "#{dump}.graph", "--json", *options).json["suspects"].map { |suspect| suspect["text"] }
  end

  def ways_to(class_name)
    address = heapprof!("graph", "why", "1.graph", class_name, "--json").json[0]["example"]["address"]
    heapprof!("graph", "why", "1.graph", address, "--json").json["ways"].map { |way| way["way"] }
  end

  def test_the_first_use_of_a_constant_is_no_growth
    in_dumps_of(<<~RUBY) do
      class Leak; end
      L = Array.new(100_000) { Leak.new }
      def use = L.size
      dump
      use
      dump
    RUBY
      assert_equal [], difference.keys.grep(/constant L\b/)
      assert_operator heapprof!("graph", "diff", "1.graph", "2.graph", "--json").json["growth"].abs, :<, 100_000
    end
  end

  # To empty one of the two variables frees nothing. A frame is no second holder, and neither is a second reference of the first one.
  def test_what_two_hold_is_not_told_as_held_by_one
    in_dumps_of(<<~RUBY) do
      class Q; end
      class R; end
      $pears = $plums = []
      $nuts = []
      dump
      30_000.times { $pears << Q.new; $nuts.push(r = R.new, r) }
      $nuts.each { break dump }
    RUBY
      told = heapprof!("graph", "diff", "1.graph", "2.graph", "--json").json["rows"].map { |row| row["what"] }
      assert_match(/\Aglobal \$p(ears|lums), among others \(Array\): 30,000 new Q objects/, told.grep(/ Q /).join)
      assert_match(/\Aglobal \$nuts \(Array\): 30,000 new R objects/, told.grep(/ R /).join)
      keep = suspects(dump: 2)
      assert_match(/; kept alive by global \$p(ears|lums), among others(;|\z)/, keep.grep(/ Q /).join)
      assert_match(/; kept alive by global \$nuts(;|\z)/, keep.grep(/ R /).join)
    end
  end

  def test_a_leak_beside_a_first_use_has_a_row_of_its_own
    in_dumps_of(<<~RUBY) do
      class Leak; end
      L = Array.new(1000) { Leak.new }
      def use = L.size
      def grow(n) = L.concat(Array.new(n) { Leak.new })
      dump
      use; grow(20_000)
      dump
      grow(20_000)
      dump
    RUBY
      way, row = difference.first
      assert_equal ["constant L", 40_000, 0, true], [way, row["new"]["objects"], row["freed"]["objects"], row["by_step"].all? { |bytes| bytes >= 800_000 }]
    end
  end

  def test_a_buffer_that_is_appended_to_grows_in_place
    in_dumps_of(<<~RUBY) do
      LOG = +""
      20_000.times { LOG << "entry " * 10 }
      dump
      80_000.times { LOG << "entry " * 10 }
      dump
    RUBY
      way, row = difference.first
      assert_equal ["constant LOG", 0, row["growth"]], [way, row["new"]["objects"], row["grown"]]
      assert_operator row["growth"], :>=, 4_000_000
      assert_match(/^ +[\d.]+ MB +0 B +0 B +[\d.]+ MB  constant LOG \(String\): grew in place, from [\d.]+ MB to [\d.]+ MB$/, heapprof!("graph", "diff", "1.graph", "2.graph").out)
    end
  end

  def test_collections_of_what_is_no_object_grow_in_place
    in_dumps_of(<<~RUBY) do
      NUMBERS, COUNTS = [], {}
      dump
      100_000.times { |i| NUMBERS << i; COUNTS[i] = i }
      dump
    RUBY
      rows = difference
      assert_equal [true, true], ["constant NUMBERS", "constant COUNTS"].map { |way| rows.fetch(way)["grown"] >= 800_000 }
    end
  end

  # At shift the elements' memory becomes an object of its own, which the Array shares with nobody.
  def test_a_queue_cancels_out
    in_dumps_of(<<~RUBY) do
      class Job; def initialize(n) = @n = "j" * 500; end
      QUEUE = Array.new(2000) { Job.new(_1) }
      dump
      QUEUE.shift
      QUEUE.push(Job.new(1))
      dump
    RUBY
      assert_operator difference.fetch("constant QUEUE", { "growth" => 0 })["growth"].abs, :<, 20_000
    end
  end

  def test_methods_with_names_of_their_own_are_one_row_and_a_suspect
    in_dumps_of(<<~RUBY) do
      module Views; end
      def render(n) = Views.module_eval("def show_\#{n} = [\#{'1,' * 300}]")
      50.times { |n| render(n) }
      dump
      (50...2000).each { |n| render(n) }
      dump
    RUBY
      way, row = difference.first
      assert_match(/\Aconstant Views -> method show_/, way)
      assert_operator row["growth"], :>=, 4_000_000
      assert_match(/\Amethods of module Views: 1,950 new method entries, /, row["what"])
      assert_no_match(/T_[A-Z]/, heapprof!("graph", "diff", "1.graph", "2.graph").out)
      assert_match(/\Amethods show_\* \(2,000\) of module Views keep [\d.]+ MB \(\d+\.\d%\)/, suspects(dump: 2)[0])
    end
  end

  # Each row names what holds its bytes, and not something else that is new.
  def test_names_that_hold_much_have_rows_of_their_own
    in_dumps_of(<<~RUBY) do
      class P; end
      class Box; class << self; attr_accessor :full, :half; end; end
      dump
      $full = Array.new(40_000) { P.new }
      $half = Array.new(20_000) { P.new }
      FULL = Array.new(40_000) { P.new }
      HALF = Array.new(20_000) { P.new }
      Box.full = Array.new(40_000) { P.new }
      Box.half = Array.new(20_000) { P.new }
      trap(:USR1, [40_000].map { |count| kept = Array.new(count) { P.new }; proc { kept } }[0])
      trap(:USR2, [20_000].map { |count| kept = Array.new(count) { P.new }; proc { kept } }[0])
      Thread.new { kept = Array.new(40_000) { P.new }; Thread.stop; kept }
      Thread.new { kept = Array.new(20_000) { P.new }; Thread.stop; kept }
      Thread.pass until Thread.list.count(&:stop?) == 2
      dump
    RUBY
      rows = heapprof!("graph", "diff", "1.graph", "2.graph", "--json").json["rows"]
      told = rows.to_h { |row| [row["what"][/\A(.*?): .*?(?:; started at (\S+))?\z/, 1] + $2.to_s, row["new"]] }
      { "global $full" => 40_000, "global $half" => 20_000, "constant FULL" => 40_000, "constant HALF" => 20_000, "@full of Box" => 40_000,
        "@half of Box" => 20_000, "trap USR1" => 40_000, "trap USR2" => 20_000, "ractor -> threadprogram.rb:15" => 40_000,
        "ractor -> threadprogram.rb:16" => 20_000 }.each do |what, count|
        assert_includes told, what
        assert_in_delta count, told[what]["objects"], 100, what
      end
    end
  end

  def test_names_that_hold_little_are_one_row
    in_dumps_of(<<~RUBY) do
      class P; end
      dump
      500.times { |i| eval("$small_\#{i} = Array.new(50) { P.new }") }
      $large = Array.new(20_000) { P.new }
      dump
    RUBY
      rows = heapprof!("graph", "diff", "1.graph", "2.graph", "--json").json["rows"]
      told = rows.to_h { |row| [row["what"], row["new"]["objects"]] }
      assert_includes told.keys, "global $large: 1 new Array and 20,000 P objects"
      small = told.keys.grep(/\A500 places, such as global \$small_\d+: 500 new Arrays and 25,000 P objects\z/)
      assert_equal [25_500], told.values_at(*small)
    end
  end

  # Of what is new, the classes that have most bytes are named.
  def test_what_is_new_is_told_by_its_bytes
    in_dumps_of(<<~RUBY) do
      class Holder; def initialize = (@text = "t" * 20_000; @many = Array.new(9) { Object.new }; @few = [{ 1 => 2 }, 1..2, 3r]); end
      LIST = []
      dump
      200.times { LIST << Holder.new }
      dump
    RUBY
      assert_match(/: 200 new Holders, 200 Strings, /, difference["constant LIST"]["what"])
    end
  end

  def test_a_row_says_what_is_new_and_what_grew_in_place_beside_it
    in_dumps_of(<<~RUBY) do
      class Order; def initialize = @lines = [Object.new]; end
      ALL = {}
      Thread.current[:list] = []
      dump
      1000.times { |i| ALL[i] = Order.new }
      Thread.current[:list].concat(Array.new(500) { "x" * 50 })
      dump
    RUBY
      text = heapprof!("graph", "diff", "1.graph", "2.graph").out
      assert_match(/  constant ALL \(Hash\): 1,000 new Orders, 1,000 (?:Arrays and 1,000 Objects|Objects and 1,000 Arrays); the Hash grew from \d+ B to [\d.]+ kB(;.*)?$/, text)
      assert_match(/  ractor -> thread -> \[:list\] \(Array\): 500 new Strings; the Array grew from 40 B to [\d.]+ kB(;.*)?$/, text)
    end
  end

  def test_a_list_of_two_steps_is_folded
    in_dumps_of(<<~RUBY) do
      class Entry; def initialize(p) = @pair = [p, 1]; end
      $tail = nil
      2000.times { $tail = Entry.new($tail) }
      dump
      2000.times { $tail = Entry.new($tail) }
      dump
    RUBY
      assert_equal ["global $tail"], difference.first(1).map(&:first)
      assert_match(/\A`\$tail` keeps [\d.]+ kB .*a list of 2,000 (Entry -> Array|Array -> Entry); kept alive by global \$tail/, suspects("--least=5")[0])
      assert_operator heapprof!("graph", "why", "1.graph", "Entry").out.bytesize, :<, 1000
      assert_operator heapprof!("graph", "tree", "1.graph").out.lines.grep(/Entry/).size, :<=, 4
      assert_operator heapprof!("graph", "convert", "1.graph", "--to=pprof").out.bytesize, :<, 200_000
    end
  end

  # From each node others branch off.
  def test_a_tree_is_counted_as_a_whole
    in_dumps_of(<<~RUBY) do
      class Node
        def initialize(depth) = (@text = "v" * 100; @left, @right = Node.new(depth - 1), Node.new(depth - 1) if depth > 1)
      end
      class Place; def initialize(depth) = (@text = "v" * 100; @within = Array.new(depth > 1 ? 3 : 0) { Place.new(depth - 1) }); end
      TREE = Node.new(13)
      WORLD = Place.new(8)
      dump
    RUBY
      texts = suspects("--least=5").join("\n")
      assert_match(/`TREE` keeps [\d.]+ MB .*, gathered in a tree of 8,191 Nodes; kept alive by constant TREE$/, texts)
      assert_match(/`WORLD` keeps [\d.]+ kB .*, gathered in a list of 3,280 Array -> Place; kept alive by constant WORLD$/, texts)
    end
  end

  # None of its parts keeps nearly all.
  def test_an_object_of_several_parts_is_told_with_its_largest
    in_dumps_of(<<~RUBY) do
      class Store; def initialize = (@names = Array.new(60_000) { "a name" }; @data = "x" * 1_000_000; @numbers = (1..30_000).to_h { [_1, _1] }); end
      STORE = Store.new
      dump
    RUBY
      assert_match(/\A`STORE` keeps [\d.]+ MB .*, gathered in one Store, of which @names keeps 2\.\d+ MB; kept alive by constant STORE\z/, suspects[0])
    end
  end

  # An Array and an object of each keep them: a class keeps its singleton class.
  def test_classes_are_told_and_not_their_singleton_classes
    in_dumps_of(<<~RUBY) do
      KINDS = Array.new(3000) { Class.new { def run = 1 } }
      ONES = KINDS.map(&:new)
      dump
    RUBY
      assert_match(/\A3,00\d Classes side by side keep [\d.]+ MB /, suspects[0])
      classes = suspects[0][/keep ([\d.]+) MB/, 1].to_f
      assert_operator classes, :>, 2.5
    end
  end

  def test_threads_of_one_place_are_one_suspect
    in_dumps_of(<<~RUBY) do
      class Job; def initialize(n) = @body = "b" * 100_000; end
      30.times { |n| Thread.new { j = Job.new(n); n.odd? ? sleep : sleep(100) } }
      sleep 0.01 until Thread.list.count(&:stop?) == 30
      dump
    RUBY
      assert_match(/\A30 Threads started at \S*program\.rb:5 keep 3\.\d+ MB \(\d+\.\d%\), most of it by 30 Jobs; kept alive by ractor -> thread: they have not ended/, suspects[0])
    end
  end

  def test_finalizers_that_keep_their_objects_are_a_suspect
    in_dumps_of(<<~RUBY) do
      class Conn; def initialize = (@b = "x" * 1000; ObjectSpace.define_finalizer(self, proc { close })); def close = 1; end
      3000.times { Conn.new }
      dump
    RUBY
      assert_match(/\A3,000 finalizers of Conn keep [\d.]+ MB \(\d+\.\d%\), most of it by 3,000 Conns; kept alive by finalizer of Conn/, suspects[0])
    end
  end

  def test_an_object_is_told_by_each_name_it_has
    in_dumps_of(<<~RUBY) do
      class Thing; end
      class Other; end
      KEPT = [Thing.new]
      def hold = $direct = KEPT[0]
      hold
      $one = $two = Other.new
      dump
    RUBY
      assert_equal ["constant KEPT -> [0]", "global $direct"], ways_to("Thing").sort
      assert_equal ["global $one", "global $two"], ways_to("Other").sort
    end
  end

  # Neither its load path, its modules and its symbols nor what C code has registered.
  def test_the_vm_is_no_suspect
    in_dumps_of("dump") { assert_equal [], suspects("--least=2").grep(/\$:|LOAD_PATH|RubyVM|registered|symbol/) }
  end

  def test_symbols_that_a_program_makes_are_a_row_and_a_suspect
    in_dumps_of(<<~'RUBY') do
      def symbols(from, to) = (from...to).each { |i| eval(":#{"a_name_" * 100}#{i}") }
      symbols(0, 2000)
      dump
      symbols(2000, 4000)
      dump
    RUBY
      assert_match(/symbol table.*keeps/, suspects(dump: 2)[0])
      way, row = difference.max_by { |_, row| row["growth"] }
      assert_match(/\Asymbol table/, way)
      assert_operator row["growth"], :>, 1_000_000 # the rest fills a block of the table that was there before
    end
  end

  def test_modules_that_a_class_includes_are_one_suspect
    in_dumps_of(<<~RUBY) do
      class Helpers; end
      2000.times { Helpers.include(Module.new { define_method(:help) { } }) }
      dump
    RUBY
      assert_match(/\A2,000 modules included in class Helpers keep/, suspects[0])
    end
  end

  def test_paths_below_the_directory_of_the_program_are_short
    in_dumps_of(<<~RUBY) do
      File.write("worker.rb", "10.times { Thread.new { job = 'j' * 300_000; sleep } }\nsleep 0.01 until Thread.list.count(&:stop?) == 10")
      load File.expand_path("worker.rb")
      dump
    RUBY
      said = suspects[0]
      assert_match(/10 Threads started at worker\.rb:1\b/, said)
      assert_no_match(%r{ /\S*worker}, said)
    end
  end

  def test_a_class_that_gets_its_name_between_dumps_has_neither_new_objects_nor_freed_ones
    in_dumps_of(<<~RUBY) do
      one = Class.new
      KEPT = Array.new(100) { one.new }
      dump
      Named = one
      dump
    RUBY
      row = heapprof!("graph", "diff", "1.graph", "2.graph", "--group=class", "--json").json["classes"].find { |one| one["name"] == "Named" }
      assert_equal [[0, 100], 0, 0], row.values_at("objects", "new", "freed")
    end
  end
end
