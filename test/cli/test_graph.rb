# frozen_string_literal: true
#
# test_graph.rb - heapprof graph on a dump that is made here: info, report, top, why, tree, show; and files that are wrong.

require_relative "lib/heapprof_command"
require_relative "lib/graph_bytes"

class TestHeapprofGraph < Test::Unit::TestCase
  include HeapprofCommand
  include GraphShop

  ORDERS = 3000
  NODES = 1000

  # Cart::CACHE has @items, a Hash of orders, each with a name; $list is a list of nodes; two objects are garbage.
  def shop
    graph = GraphBytes.new
    object, cart, @cache, @items = Array.new(4) { graph.later }
    graph.object("Class", 500, type: "T_CLASS", at: object, text: "Object", others: { [:CONSTANT, "Cart"] => cart })
    graph.object("Class", 300, type: "T_CLASS", at: cart, text: "Cart", others: { [:CONSTANT, "CACHE"] => @cache })
    graph.object("Cart", at: @cache, class_of: cart, bits: 128 | 3,
                 labels: { [:IVAR, "@items"] => @items, [:IVAR, "@name"] => graph.symbol("main"), [:IVAR, "@size"] => graph.integer(-7), [:WEAK, "owner"] => object })
    stack = graph.stack("/srv/cart.rb:12 Cart#add", "/srv/app.rb:3 <main>")
    @orders = Array.new(ORDERS) do
      name = graph.object("String", 140, type: "T_STRING")
      graph.object("Order", labels: { [:IVAR, "@name"] => name }, stack: stack, weight: 2)
    end
    graph.object("Hash", 100_000, type: "T_HASH", at: @items, tail: @orders.each_with_index.map { |order, i| [graph.integer(i), order] })
    nodes = Array.new(NODES) { graph.later }
    nodes.each_cons(2) { |one, other| graph.object("Node", 100, at: one, labels: { [:IVAR, "@next"] => other }) }
    graph.object("Node", 100, at: nodes.last)
    graph.root(:C_GLOBAL, "rb_cObject", object)
    graph.root(:GLOBAL, "$list", nodes[0])
    2.times { graph.object("Garbage", 1000) }
    graph.fact("pid", "42")
    graph.fact("time", "1795384954557753457")
    graph.fact("ruby", "ruby 3.4.9")
    graph.fact("skipped", "T_DATA(odd)", :footer)
    graph
  end

  ALIVE = 3 + 1 + 2 * ORDERS + NODES
  BYTES = 840 + 100_000 + ORDERS * 180 + NODES * 100

  def address(number) = format("%#x", number)

  def test_info
    in_shop do
      info = heapprof!("graph", "info", FILE, "--json").json
      assert_equal [true, ALIVE + 2, BYTES + 2000, ALIVE, BYTES, 2, 1, 0, ORDERS],
                   info.values_at("complete", "objects", "bytes", "reached_objects", "reached_bytes", "roots", "weak_references",
                                  "missing_objects_referred_to", "sampled_objects")
      assert_equal [[%w[pid 42], %w[time 1795384954557753457], ["ruby", "ruby 3.4.9"]], [["skipped", "T_DATA(odd)"]]], info.values_at("process", "footer")
      text = heapprof!("graph", "info", FILE).out
      assert_match(/^heapprof +a version before 1\.0\.0: the file does not say which$/, text)
      assert_match(/^reached_objects +7,004$/, text)
      assert_match(/^taken +2026-11-22 22:02:34 \+0000\npid +42$/, text)
    end
  end

  def test_report_says_who_keeps_it_in_words
    in_shop do
      text = heapprof!("graph", "report", FILE, "--least=5").out
      assert_includes text, "shop.graph: 7,004 objects alive, 723 kB (2026-11-22 22:02:34 +0000, pid 42, ruby 3.4.9)\n" \
                            "besides 1.95 kB in 2 objects that nothing leads to: the garbage collector will free them\n"
      assert_includes text, "\n1. `Cart::CACHE` keeps 625 kB (86.4%), gathered in one Hash of 3,000 Orders; kept alive by constant Cart::CACHE -> @items; " \
                            "allocated at /srv/cart.rb:12 Cart#add\n"
      assert_includes text, "\n2. `$list` keeps 97.7 kB (13.5%), gathered in a list of 1,000 Nodes; kept alive by global $list\n"
      assert_operator text.lines.size, :<=, 24
      suspects = heapprof!("graph", "report", FILE, "--least=5", "--json").json["suspects"]
      assert_equal ["constant Cart::CACHE -> @items", "global $list"], suspects.map { |suspect| suspect["way"] }
      assert_equal [address(@cache), address(@items)], suspects[0].values_at("object", "gathered").map { |object| object["address"] }
      assert_equal({ "file" => "/srv/cart.rb", "line" => 12, "method" => "Cart#add" }, suspects[0]["stack"][0])
    end
  end

  def test_top_adds_up_by_class
    in_shop do
      rows = heapprof!("graph", "top", FILE, "--json").json.to_h { |row| [row["name"], row.values_at("bytes", "retained", "objects")] }
      assert_equal [ORDERS * 140, ORDERS * 140, ORDERS], rows["String"]
      assert_equal [ORDERS * 40, ORDERS * 180, ORDERS], rows["Order"]
      assert_equal [800, 840 + 100_000 + ORDERS * 180, 2], rows["Class"]
      assert_equal [NODES * 100, NODES * 100, NODES], rows["Node"]
      assert_nil rows["Garbage"]
      assert_equal %w[String Order Hash], rows.keys.first(3)
      assert_equal %w[Class Cart], heapprof!("graph", "top", FILE, "--json", "--retained", "-n2").json.map { |row| row["name"] }
      assert_match(/\A +bytes .*\n +410 kB +56.7% .* 3,000  String\n\.\.\. and 5 more\n\z/, heapprof!("graph", "top", FILE, "-n1").out)
    end
  end

  def test_top_by_stack_file_and_age
    in_shop do
      by = ->(group) { heapprof!("graph", "top", FILE, "--json", "--group", group).json.to_h { |row| [row["name"], row.values_at("bytes", "objects")] } }
      assert_equal [ORDERS * 80, ORDERS * 2], by["stack"]["/srv/cart.rb:12 Cart#add"]
      assert_equal [ORDERS * 80, ORDERS * 2], by["file"]["/srv/cart.rb"]
      assert_equal [40, 1], by["age"]["old (3 GCs or more)"]
      assert_equal ALIVE - 1, by["age"]["no GC survived"][1]
    end
  end

  def test_what_a_method_in_c_allocates_is_allocated_where_it_is_called
    graph = GraphBytes.new
    graph.root(:GLOBAL, "$text", graph.object("String", 1000, type: "T_STRING", hash: 1, stack: graph.stack(":0 String#*", "/a.rb:7 main")))
    in_directory do
      write(FILE, graph.bytes)
      assert_match(/; allocated at .a\.rb:7 main$/, heapprof!("graph", "report", FILE).out)
      assert_match(/  String#\* called at .a\.rb:7 main$/, heapprof!("graph", "top", FILE, "--group=stack").out)
      assert_match(%r{  /a\.rb$}, heapprof!("graph", "top", FILE, "--group=file").out)
      assert_match(/^allocated +String#\*\n +.a\.rb:7 main$/, heapprof!("graph", "show", FILE, address(GraphBytes::PAGE)).out)
      assert_equal ["/a.rb", 7], JSON.parse(convert("jsonl").lines.last).values_at("file", "line")
    end
  end

  # As at the bottom of a fiber, where nobody has called.
  def test_a_method_in_c_that_nothing_calls_has_no_file
    graph = GraphBytes.new
    graph.root(:GLOBAL, "$text", graph.object("String", 1000, type: "T_STRING", hash: 1, stack: graph.stack(":0 String#*")))
    in_directory do
      write(FILE, graph.bytes)
      line = JSON.parse(convert("jsonl").lines.last)
      assert_equal ["String#*", false, false], [line["method"], line.key?("file"), line.key?("line")]
    end
  end

  def test_show_says_what_the_program_was_doing
    graph = GraphBytes.new
    stack = graph.stack("/srv/order.rb:2 Order#new")
    orders = ["endpoint\x1fPOST /cart\x1ftenant\x1fb2b\x1f", "endpoint\x1fcut", nil].map { |doing| graph.object("Order", stack: stack, doing: doing) }
    in_directory do
      write(FILE, graph.bytes)
      assert_match(/^labels +endpoint: POST \/cart, tenant: b2b\nallocated /, heapprof!("graph", "show", FILE, address(orders[0])).out)
      assert_equal [{ "endpoint" => "POST /cart", "tenant" => "b2b" }, {}, {}],
                   orders.map { |order| heapprof!("graph", "show", FILE, "--json", address(order)).json["labels"] }
      refute_match(/^labels/, heapprof!("graph", "show", FILE, address(orders[2])).out)
    end
  end

  def test_a_suspect_was_allocated_where_those_were_that_it_is_of
    graph = GraphBytes.new
    lock = graph.object("Lock", stack: graph.stack("/lock.rb:1 Lock#new"))
    orders = Array.new(100) { |i| graph.object("Order", i == 0 ? 2000 : 1000, stack: i == 50 ? graph.stack("/order.rb:2 Order#new") : nil) }
    graph.root(:GLOBAL, "$orders", graph.object("Array", type: "T_ARRAY", tail: [lock, *orders]))
    in_directory do
      write(FILE, graph.bytes)
      assert_match(/one Array of 100 Orders; kept alive by global \$orders; allocated at .order\.rb:2 Order#new$/, heapprof!("graph", "report", FILE).out)
    end
  end

  def test_why_of_a_class_merges_ways
    in_shop do
      assert_equal [["constant Cart::CACHE -> @items -> []", ORDERS]],
                   heapprof!("graph", "why", FILE, "Order", "--json").json.map { |row| row.values_at("way", "objects") }
      assert_equal [["global $list -> @next", NODES - 1], ["global $list", 1]],
                   heapprof!("graph", "why", FILE, "Node", "--json").json.map { |row| row.values_at("way", "objects") }
      assert_match(/^ +3,000 +117 kB  0x\h+  constant Cart::CACHE -> @items -> \[\]$/, heapprof!("graph", "why", FILE, "Order").out)
      assert_refused 1, /no live object has the address or class Garbage; `heapprof graph top` shows the classes/, "graph", "why", FILE, "Garbage"
    end
  end

  def test_why_of_an_object_has_each_step_with_what_it_keeps
    in_shop do
      text = heapprof!("graph", "why", FILE, address(@orders[7])).out
      assert_equal ["1. constant Cart::CACHE -> @items -> [7]", "class Cart", "constant CACHE Cart",
                    "@items Hash", "[7] Order"], text.lines.drop(2).map { |line| line.sub(/^ +[\d.]+ k?B  /, "").squeeze(" ").strip }
      assert_match(/^ +625 kB +@items +Hash$/, text)
    end
  end

  # Two ways that have only the end in common, and one that goes part of the first.
  def test_why_of_an_object_has_ways_that_share_nothing
    graph = GraphBytes.new
    target = graph.object("Target")
    first = graph.object("First", labels: { [:IVAR, "@a"] => target })
    second = graph.object("Second", labels: { [:IVAR, "@b"] => graph.object("Between", labels: { [:IVAR, "@c"] => target }) })
    graph.root(:GLOBAL, "$first", first)
    graph.root(:GLOBAL, "$second", second)
    graph.root(:GLOBAL, "$first_again", graph.object("Array", type: "T_ARRAY", tail: [first]))
    in_directory do
      write(FILE, graph.bytes)
      ways = heapprof!("graph", "why", FILE, address(target), "--json").json["ways"].map { |way| way["way"] }
      assert_equal ["global $first -> @a", "global $second -> @b -> @c"], ways
    end
  end

  def test_tree_of_dominators
    in_shop do
      rows = heapprof!("graph", "tree", FILE).out.lines.drop(1).map { |line| line[/%\s+([\d,]+)  ( *.*)/] && [$1, $2] }
      assert_equal [["1", "C global rb_cObject: class Object"], ["1", "  constant Cart: class Cart"], ["1", "    constant CACHE: Cart"],
                    ["1", "      @items: Hash"], ["3,000", "        []: Order"], ["3,000", "          @name: String"],
                    ["1", "global $list: Node"], ["999", "  @next: list of Node"]], rows
      assert_equal ["C global rb_cObject: class Object"], heapprof!("graph", "tree", FILE, "--least=50", "--depth=1").out.scan(/1  (.*)$/).flatten
      tree = heapprof!("graph", "tree", FILE, "--json").json
      assert_equal [BYTES - NODES * 100, NODES * 100], tree.map { |node| node["retained"] }
      assert_equal NODES * 100 - 100, tree[1]["children"][0]["retained"]
    end
  end

  def test_show_has_references_both_ways_and_values
    in_shop do
      text = heapprof!("graph", "show", FILE, address(@cache)).out
      assert_match(/\A#{address(@cache)} Cart\nis +T_OBJECT, old, frozen\nbytes +40 B\nretains +625 kB\nkept alive by +constant Cart::CACHE\n/, text)
      assert_match(/^  @items +#{address(@items)} +625 kB  Hash\n  @name +:main\n  @size +-7\n  weak owner +0x\h+ +626 kB  class Object\n/, text)
      assert_match(/^is referred to by\n  constant CACHE +0x\h+ +625 kB  class Cart\n\z/, text)
      order = heapprof!("graph", "show", FILE, address(@orders[1]), "--json").json
      assert_equal ["constant Cart::CACHE -> @items -> [1]", ["[1]"], ["@name"]],
                   [order["way"], order["from"].map { |one| one["label"] }, order["to"].map { |one| one["label"] }]
      assert_match(/^allocated +.srv.cart.rb:12 Cart#add\n +.srv.app.rb:3 <main>\n/, heapprof!("graph", "show", FILE, address(@orders[1])).out)
      assert_match(/^  \[0\] .*\n  \[1\] .*\n  \.\.\. and 2,998 more\n/, heapprof!("graph", "show", FILE, address(@items), "-n2").out)
      assert_match(/there is no object at 0x18/, heapprof("graph", "show", FILE, "0x18").err)
    end
  end

  def convert(format) = heapprof!("graph", "convert", FILE, "--to", format).out

  def test_convert_to_heapsnapshot_has_all_nodes_edges_and_bytes
    in_shop do
      snapshot = JSON.parse(convert("heapsnapshot"))
      nodes = snapshot["nodes"].each_slice(7).to_a
      edges = snapshot["edges"].each_slice(3).to_a
      all = 2 + 3 + 1 + ORDERS * 2 + NODES - 1 # roots; constants and @items; the Cart's class; orders and their names; the list
      assert_equal [ALIVE + 1, all], snapshot["snapshot"].values_at("node_count", "edge_count")
      assert_equal [ALIVE + 1, edges.size, BYTES], [nodes.size, nodes.sum { |node| node[4] }, nodes.sum { |node| node[3] }]
      assert_equal nodes.size, nodes.map { |node| node[2] }.uniq.size
      assert edges.all? { |_, _, to| (to % 7).zero? && to < snapshot["nodes"].size }
      names = snapshot["strings"]
      assert_equal ORDERS, nodes.count { |node| names[node[1]] == "Order" }
      assert_equal (0...ORDERS).to_a, edges.filter_map { |type, index,| index if type == 1 }.sort
      assert_equal ["@next"], edges.last(1).map { |type, name,| names[name] if type == 2 }
      assert names.all? { |name| name.bytesize <= 1024 }
    end
  end

  def test_convert_to_jsonl_has_the_lines_of_dump_all
    in_shop do
      lines = convert("jsonl").lines.map { |line| JSON.parse(line) }
      roots, objects = lines.partition { |line| line["type"] == "ROOT" }
      assert_equal [["globals", 2]], roots.map { |root| [root["root"], root["references"].size] }
      assert_match(/^{"address":"0x\h+", "type":"HASH", "references":\["0x\h+", "0x/, convert("jsonl"))
      assert_equal [ALIVE, BYTES], [objects.size, objects.sum { |object| object["memsize"] }]
      by_address = objects.to_h { |object| [object["address"], object] }
      assert_equal({ "type" => "OBJECT", "class" => by_address.values.find { |object| object["name"] == "Cart" }["address"], "references" => [address(@items)],
                     "memsize" => 40, "flags" => { "old" => true } }, by_address[address(@cache)].except("address"))
      assert_equal @orders.map { |order| address(order) }, by_address[address(@items)]["references"]
      assert_equal ["/srv/cart.rb", 12, "Cart#add"], by_address[address(@orders[0])].values_at("file", "line", "method")
    end
  end

  def test_convert_to_pprof_has_what_is_retained_as_sums
    in_shop do
      write("kept.pb.gz", convert("pprof").b)
      rows = heapprof!("top", "kept.pb.gz", "--group", "function", "--json", "-n0").json["rows"]
      rows = rows.to_h { |row| [row["what"], row.values_at("value", "cumulative", "objects")] }
      assert_equal({ "Cart via constant CACHE" => [40, 100_040 + ORDERS * 180, 1], "Hash via @items" => [100_000, 100_000 + ORDERS * 180, 1],
                     "Order via []" => [ORDERS * 40, ORDERS * 180, ORDERS], "String via @name" => [ORDERS * 140, ORDERS * 140, ORDERS] },
                   rows.slice("Cart via constant CACHE", "Hash via @items", "Order via []", "String via @name"))
      assert_equal [BYTES, ALIVE], [rows.values.sum { |value,| value }, rows.values.sum { |_, _, objects| objects }]
    end
  end

  def test_convert_to_dot
    in_shop do
      dot = convert("dot")
      assert_match(/\Adigraph heap \{\n/, dot)
      assert_match(/^  (n\d+) \[label="\[\]: Order\\n527 kB, 3,000 objects"\];\n  n\d+ -> \1;$/, dot)
      assert_refused 2, /--to=FORMAT is missing/, "graph", "convert", FILE
    end
  end

  # A dump of a process that makes more of them: orders are by address what they were, or moved, or new at an old address.
  def growing(dump, survivors:, fresh:, set: "1", moves: {}, time: 0)
    graph = GraphBytes.new
    graph.fact("time", time.to_s)
    graph.fact("set", set)
    graph.fact("dump", dump.to_s)
    hash = graph.later
    slots = Array.new(20) { graph.later }
    kept = survivors.map { |slot| graph.object("Order", 10_000, at: slots[slot], bits: 64) }
    kept += fresh.map { |slot| graph.object("Order", 10_000, at: slots[slot]) }
    graph.object("Hash", at: hash, bits: dump == 1 ? 0 : 64, type: "T_HASH", tail: kept.map.with_index { |order, i| [graph.integer(i), order] })
    graph.root(:GLOBAL, "$orders", hash)
    moves.each { |from, to| graph.move(slots[from], slots[to]) }
    write("#{dump}.graph", graph.bytes)
  end

  def assert_out_of_order(expected)
    ran = heapprof("graph", "diff", "3.graph", "1.graph", "2.graph", "--json")
    assert_equal [0, expected], [ran.status, ran.json]
    assert_equal "heapprof graph diff: the dumps are read in the order of their times: 1.graph 2.graph 3.graph\n", ran.err
  end

  def test_diff_knows_survivors_from_objects_at_an_address_that_is_used_again
    in_directory do
      growing(1, survivors: [], fresh: [0, 1, 2])
      growing(2, survivors: [0, 5], fresh: [1, 3, 4, 6], moves: { 2 => 5 })
      growing(3, survivors: [0, 3, 7], fresh: [1, 2, 4, 5], moves: { 6 => 7 })
      two = heapprof!("graph", "diff", "1.graph", "2.graph", "--json").json
      assert_equal [[["global $orders", 30_000, 4, 1]], 30_000, nil, [30_040, 60_040]],
                   [two["rows"].map { |row| [row["way"], row["growth"], row["new"]["objects"], row["freed"]["objects"]] },
                    *two.values_at("growth", "inexact", "bytes")]
      three = heapprof!("graph", "diff", "1.graph", "2.graph", "3.graph", "--json").json
      assert_equal [[[30_000, 10_000], 6, 2]], three["rows"].map { |row| [row["by_step"], row["new"]["objects"], row["freed"]["objects"]] }
      assert_out_of_order(three)
      assert_match(/^all live objects: 29\.3 kB -> 58\.6 kB -> 68\.4 kB: growth 39\.1 kB\n\n +growth +1 to 2 +2 to 3 +new +freed +in place .*\n +39\.1 kB +29\.3 kB +9\.77 kB +58\.6 kB +19\.5 kB +0 B  global \$orders \(Hash\): 6 new Orders\n/,
                   heapprof!("graph", "diff", "1.graph", "2.graph", "3.graph").out)
    end
  end

  def test_diff_shows_so_many_rows
    in_directory do
      { 1 => 1, 2 => 3 }.each do |dump, orders|
        graph = GraphBytes.new
        { "set" => "1", "dump" => dump.to_s }.each { |key, value| graph.fact(key, value) }
        %w[$first $second].each do |name|
          array, *slots = Array.new(4) { graph.later }
          elements = slots.first(orders).each_with_index.map { |slot, i| graph.object("Order", 10_000, at: slot, bits: dump == 2 && i == 0 ? 64 : 0) }
          graph.root(:GLOBAL, name, graph.object("Array", at: array, type: "T_ARRAY", bits: dump == 1 ? 0 : 64, tail: elements))
        end
        write("#{dump}.graph", graph.bytes)
      end
      diff = ->(*arguments) { heapprof!("graph", "diff", "1.graph", "2.graph", *arguments).out.lines }
      assert_equal [2, 1], [diff.(), diff.("-n", "1")].map { |lines| lines.grep(/global \$/).size }
      assert_match(/^ +19\.5 kB +the rest: 1 more row, and smaller changes$/, diff.("-n", "1").last)
      assert_equal "... and 1 more\n", diff.("--group=class", "-n", "1").last
    end
  end

  # By the name of the class, in the order of their addresses.
  def ids(class_name, *files)
    snapshot = JSON.parse(heapprof!("graph", "convert", *files, "--to", "heapsnapshot").out)
    assert_equal snapshot["nodes"].each_slice(7).map { |node| node[2] }.uniq.size, snapshot["snapshot"]["node_count"]
    snapshot["nodes"].each_slice(7).filter_map { |node| node[2] if snapshot["strings"][node[1]] == class_name }
  end

  def test_convert_gives_an_object_the_same_id_in_all_dumps_and_no_other_object_that
    in_directory do
      growing(1, survivors: [], fresh: [0, 1, 2])
      growing(2, survivors: [0, 5], fresh: [1, 3, 4, 6], moves: { 2 => 5 })
      growing(3, survivors: [0, 3, 7], fresh: [1, 2, 4, 5], moves: { 6 => 7 })
      one, two, three = (1..3).map { |last| ids("Order", *(1..last).map { |dump| "#{dump}.graph" }) }
      assert_equal [[one[0], one[2]], two.values_at(0, 4)], [one & two, two & one]
      assert_equal two.values_at(0, 2, 5), three.values_at(0, 3, 6)
      assert_equal [[one[0]], two.values_at(0, 2, 5)], [one & three, two & three]
      assert_equal 1, %w[1 2 3].map { |last| ids("Hash", *("1"..last).map { |dump| "#{dump}.graph" }) }.uniq.size
      assert_refused 1, /cannot be matched between these dumps: the dumps do not follow one another/,
                     "graph", "convert", "1.graph", "3.graph", "--to=heapsnapshot"
      assert_refused 2, /--to=dot takes one dump only/, "graph", "convert", "1.graph", "2.graph", "--to=dot"
    end
  end

  # The trace's frames, the outermost first.
  def trace_of(timeline, id)
    infos = timeline["trace_function_infos"].each_slice(6).to_a
    ways = { timeline["trace_tree"][0] => [] }
    left = [[timeline["trace_tree"], []]]
    while (calls, above = left.pop)
      calls.each_slice(5) do |number, function, count, size, below|
        name, file, line = infos.fetch(function).values_at(1, 2, 4)
        ways[number] = above + ["#{timeline["strings"][name]} #{timeline["strings"][file]}:#{line} #{count}x#{size}"]
        left << [below, ways[number]]
      end
    end
    ways.fetch(id)
  end

  def test_convert_to_heaptimeline_has_what_is_new_in_each_dump
    in_directory do
      growing(1, survivors: [], fresh: [0, 1, 2], time: 5_000_000_000)
      growing(2, survivors: [0, 5], fresh: [1, 3, 4, 6], moves: { 2 => 5 }, time: 7_500_000_000)
      growing(3, survivors: [0, 3, 7], fresh: [1, 2, 4, 5], moves: { 6 => 7 }, time: 15_000_000_000)
      files = %w[1.graph 2.graph 3.graph]
      timeline = JSON.parse(heapprof!("graph", "convert", *files, "--to", "heaptimeline").out)
      snapshot = JSON.parse(heapprof!("graph", "convert", *files, "--to", "heapsnapshot").out)
      assert_equal snapshot.values_at("nodes", "edges", "strings"), timeline.values_at("nodes", "edges", "strings")
      samples = timeline["samples"].each_slice(2)
      assert_equal [0, 2_500_000, 10_000_000], samples.map(&:first)
      bytes = [0] * 3
      timeline["nodes"].each_slice(7) { |_, _, id, size| bytes[samples.find_index { |_, last| id <= last }] += size }
      assert_equal [10_000 + 40, 20_000, 40_000], bytes # of each dump what is alive in the third; with the Hash
      assert_equal [[], 0], [snapshot["samples"], snapshot["snapshot"]["trace_function_count"]]
    end
  end

  def test_convert_to_heaptimeline_has_allocation_stacks
    in_shop do
      timeline = JSON.parse(convert("heaptimeline"))
      orders = timeline["nodes"].each_slice(7).select { |node| timeline["strings"][node[1]] == "Order" }
      assert_equal [ORDERS, 1], [orders.size, orders.map { |node| node[5] }.uniq.size]
      assert_equal ["(roots) :0 0x0", "<main> /srv/app.rb:3 0x0", "Cart#add /srv/cart.rb:12 #{ORDERS * 2}x#{ORDERS * 80}"], trace_of(timeline, orders[0][5])
      assert_equal 3, timeline["snapshot"]["trace_function_count"]
      assert_equal 1, (timeline["nodes"].each_slice(7).map { |node| node[5] } - [0]).uniq.size
    end
  end

  # Frames that say the same are one function, wherever they are called.
  def test_each_object_of_a_heaptimeline_has_its_own_stack
    random = Random.new(5)
    graph = GraphBytes.new
    stacks = Array.new(40) { |i| ["/leaf.rb:#{i} leaf#{i}"] + Array.new(random.rand(6)) { "/#{random.rand(3)}.rb:#{random.rand(2)} m" } }
    objects = stacks.each_with_index.map { |frames, i| graph.object("Class#{i}", stack: graph.stack(*frames)) }
    graph.root(:GLOBAL, "$all", graph.object("Array", type: "T_ARRAY", tail: objects))
    in_directory do
      write(FILE, graph.bytes)
      timeline = JSON.parse(convert("heaptimeline"))
      nodes = timeline["nodes"].each_slice(7).to_h { |node| [timeline["strings"][node[1]], node] }
      found = stacks.each_index.map { |i| trace_of(timeline, nodes.fetch("Class#{i}")[5]).drop(1).reverse.map { |frame| frame[/\A\S+ \S+/] } }
      assert_equal stacks.map { |frames| frames.map { |frame| frame.split.reverse.join(" ") } }, found
      assert_equal stacks.flatten.uniq.size + 1, timeline["snapshot"]["trace_function_count"]
      assert_equal stacks.flatten.uniq.size + 1, timeline["trace_function_infos"].size / 6
    end
  end

  # Its slot was free when the first dump was made: what has been there since then is not known to have been there.
  def test_diff_takes_a_survivor_that_the_dump_before_has_not_as_new
    in_directory do
      growing(1, survivors: [], fresh: [0, 1])
      growing(2, survivors: [0, 1, 8], fresh: [3])
      growing(3, survivors: [0, 1, 3, 8], fresh: [9])
      three = heapprof!("graph", "diff", "1.graph", "2.graph", "3.graph", "--json").json["rows"]
      assert_equal [[[20_000, 10_000], 3, 0]], three.map { |row| [row["by_step"], row["new"]["objects"], row["freed"]["objects"]] }
    end
  end

  def test_diff_of_other_dumps_compares_numbers_and_says_why
    in_directory do
      growing(1, survivors: [], fresh: [0, 1, 2])
      growing(2, survivors: [0, 1], fresh: [3, 4], set: "2")
      growing(3, survivors: [0, 1, 2], fresh: [3, 4])
      { %w[1.graph 2.graph] => "they are not of one process", %w[1.graph 3.graph] => "the dumps do not follow one another" }.each do |files, why|
        json = heapprof!("graph", "diff", *files, "--json").json
        growth = json["bytes"][1] - json["bytes"][0]
        assert_equal [why, [growth]], [json["inexact"], json["rows"].map { |row| row["growth"] }]
        assert_include heapprof!("graph", "diff", *files).out, "Objects are paired by their places, not by identity: #{why}.\n"
      end
      assert_equal [-10_000], heapprof!("graph", "diff", "2.graph", "1.graph", "--json").json["rows"].map { |row| row["growth"] }
    end
  end

  def test_dups_are_of_one_class_size_and_content
    graph = GraphBytes.new
    stack = graph.stack("/srv/a.rb:1 main")
    5.times { |i| graph.object("String", 100, type: "T_STRING", hash: 7, stack: i == 1 ? stack : nil, text: i == 2 ? "same" : nil) }
    2.times { graph.object("String", 300, type: "T_STRING", hash: 8) }
    graph.object("String", 101, type: "T_STRING", hash: 7)
    graph.object("Name", 100, type: "T_STRING", hash: 7)
    3.times { graph.object("String", 1000, type: "T_STRING") }
    in_directory do
      write(FILE, graph.bytes)
      json = heapprof!("graph", "dups", FILE, "--json").json
      assert_equal [5, 700, [["String", 5, 100, 400, "same"], ["String", 2, 300, 300, nil]]],
                   [json["objects"], json["wasted"], json["groups"].map { |group| group.values_at("class", "objects", "bytes", "wasted", "value") }]
      text = heapprof!("graph", "dups", FILE, "-n1").out
      assert_match(/\A5 objects repeat the content of another one: 700 B\n\n.*\n +400 B +5 +100 B  0x7f0000010000  String  same  allocated at .srv.a.rb:1 main\n\z/, text)
    end
  end

  # 1,638 slots of 40 bytes to a page: one is full, one has 200 objects, one three.
  def test_pages_and_who_is_on_nearly_empty_ones
    graph = GraphBytes.new
    graph.fact("page_bytes", "65536")
    { 0 => 1600, 1 => 200 }.each { |page, count| count.times { |i| graph.object("String", at: GraphBytes::PAGE + page * 0x10000 + i * 40) } }
    %w[Order Order Cart].each_with_index { |name, i| graph.object(name, at: GraphBytes::PAGE + 0x20000 + i * 400) }
    in_directory do
      write(FILE, graph.bytes)
      json = heapprof!("graph", "pages", FILE, "--json").json
      assert_equal [{ "slot_bytes" => 40, "pages" => 3, "objects" => 1803, "slots" => 3 * 1638, "tenths" => [1, 1, 0, 0, 0, 0, 0, 0, 0, 1] }], json["pools"]
      assert_equal [1, [["Order", 1, 2], ["Cart", 1, 1]]], [json["sparse_pages"], json["on_sparse_pages"].map { |row| row.values_at("class", "pages", "objects") }]
      assert_match(/^ +40 +3 +1,803 +36.7% .*\n\n1 page has at most one tenth in use. On it are\n.*\n +1 +2  Order\n +1 +1  Cart\n\z/, heapprof!("graph", "pages", FILE).out)
    end
  end

  def test_an_incomplete_dump_is_read_as_far_as_it_goes_and_said_to_be_so
    in_directory do
      write(FILE, shop.bytes(complete: false))
      ran = heapprof("graph", "report", FILE)
      assert_equal [0, "heapprof graph report: shop.graph: is incomplete: the block at byte #{File.size(FILE)} is missing\n"], [ran.status, ran.err]
      assert_include ran.out, "1. `Cart::CACHE` keeps 625 kB"
    end
  end

  def test_files_that_are_no_dump
    in_directory do
      write("empty", "")
      write("text", "banana\n" * 100)
      %w[info report top tree dups pages stuck].each do |command|
        assert_refused 1, /\Aheapprof graph #{command}: empty: is empty$/, "graph", command, "empty"
        assert_refused 1, /: text: is not an object graph$/, "graph", command, "text"
        assert_refused 1, /: none: No such file or directory$/, "graph", command, "none"
      end
    end
  end

  def test_the_memory_limit_changes_no_number
    in_shop do
      %w[report top tree].each do |command|
        assert_equal heapprof!("graph", command, FILE).out, heapprof!("graph", command, FILE, "--memory=64K").out
      end
      assert_refused 2, /give a size/, "graph", "top", FILE, "--memory=lots"
    end
  end

  def test_names_cannot_steer_the_terminal
    graph = GraphBytes.new
    graph.root(:GLOBAL, "$\e[2J", graph.object("Evil\e[31m\n", 1000, text: "\e]0;x\a"))
    in_directory do
      write(FILE, graph.bytes)
      [%w[report], %w[top], %w[tree], %w[info], ["show", address(GraphBytes::PAGE)], ["why", address(GraphBytes::PAGE)]].each do |command, *rest|
        out = heapprof!("graph", command, FILE, *rest).out
        assert_not_include out, "\e"
        assert_not_include out, "\a"
      end
    end
  end
end
