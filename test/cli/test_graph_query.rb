# frozen_string_literal: true
#
# test_graph_query.rb - heapprof graph query: which objects, in which order, with which sums; and String keys in paths.

require_relative "lib/heapprof_command"
require_relative "lib/graph_bytes"

class TestHeapprofGraphQuery < Test::Unit::TestCase
  include HeapprofCommand
  include GraphShop

  SLOT = GraphBytes::SLOT

  # $orders is a Hash by String keys; each Order has a name; the first one also keeps the second.
  def shop
    graph = GraphBytes.new
    @orders = Array.new(30) { graph.later }
    stack = graph.stack(":0 Class#new", "/srv/cart.rb:12 Cart#add", "/srv/app.rb:3 <main>")
    pairs = @orders.each_with_index.map do |order, i|
      name = graph.object("String", 100 + i, type: "T_STRING", length: 9, text: "name #{i}", bits: i < 10 ? 128 : 3)
      labels = { [:IVAR, "@name"] => name }
      labels[[:IVAR, "@next"]] = @orders[1] if i == 0
      graph.object("Order", at: order, labels: labels, stack: i < 5 ? stack : nil)
      [graph.object("String", type: "T_STRING", length: 5, text: "key #{i}"), order]
    end
    pairs.delete_at(1)
    @hash = graph.object("Hash", SLOT + 64 * 24, type: "T_HASH", tail: pairs + [[graph.integer(7), graph.symbol("seven")]])
    graph.root(:GLOBAL, "$orders", @hash)
    graph.object("Order", 10_000)
    graph
  end

  def query(*arguments) = heapprof!("graph", "query", FILE, *arguments, "--json").json
  def addresses(*arguments) = query(*arguments)["rows"].map { |row| row["address"].hex }

  def test_objects_of_a_class_with_what_they_retain
    in_shop do
      found = query("Order", "-n", "0")
      assert_equal [30, 30 * SLOT], found.values_at("objects", "bytes")
      assert_equal 30 * SLOT + (100..129).sum, found["retained"]
      assert_equal @orders[0], found["rows"][0]["address"].hex
      assert_equal [SLOT, 2 * SLOT + 100 + 101], found["rows"][0].values_at("bytes", "retained")
      assert_equal @orders.values_at(0, 29, 28), addresses("Order", "-n", "3")
      text = heapprof!("graph", "query", FILE, "Order", "-n2").out
      assert_match(/^address +bytes +retained +length +capacity +what it is, and what keeps it alive\n/, text)
      assert_match(/^#{format("%#x", @orders[0])} +40 B +281 B +Order  by global \$orders -> \(value\)\n/, text)
      assert_match(/^\.\.\. and 28 more\n30 objects, 1\.17 kB; retained together: 4\.53 kB\n\z/, text)
    end
  end

  def test_conditions
    in_shop do
      assert_equal [@hash], addresses("Hash with length > 29")
      assert_equal [], addresses("Hash with length > 30")
      assert_equal 10, query("String with frozen")["objects"]
      assert_equal 20, query("String with (bytes > 1k or age = 3)")["objects"]
      assert_equal @orders.first(5), addresses("file = cart.rb and line = 12 and method =~ /add$/").sort
      assert_equal 1, query("text = 'name 7'")["objects"]
      assert_equal ["name 29", "name 28"], query("text =~ /^name/", "--sort", "bytes", "-n2")["rows"].map { |row| row["name"][/name \d+/] }
      assert_equal 90, query["objects"]
      assert_equal "0 objects, 0 B; retained together: 0 B\n", heapprof!("graph", "query", FILE, "Nothing").out
    end
  end

  def test_length_and_room
    in_shop do
      assert_equal [30, 64, 34 * 24], query("Hash")["rows"][0].values_at("length", "capacity", "unused")
      assert_match(/ 1\.54 kB +\d.* kB +30 +64  Hash  by global \$orders$/, heapprof!("graph", "query", FILE, "Hash").out)
      fill = query("--fill")
      assert_equal %w[String Hash], fill.map { |row| row["class"] }
      assert_equal({ "class" => "Hash", "collections" => 1, "length" => 30, "capacity" => 64, "unused" => 816 }, fill[1])
      assert_equal [59, 30 * 9 + 29 * 5], fill[0].values_at("collections", "length")
      assert_match(/\A +unused +fill +collections +length +capacity  class\n +816 B +46\.9% +1 +30 +64  Hash\n\z/,
                   heapprof!("graph", "query", FILE, "Hash", "--fill").out)
    end
  end

  def test_string_keys_are_in_paths_if_asked_for
    in_shop do
      assert_equal "global $orders -> (value)", query("Order")["rows"][0]["way"]
      assert_equal "global $orders -> [\"key 0\"]", query("Order", "--keys")["rows"][0]["way"]
      why = ->(*arguments) { heapprof!("graph", "why", FILE, *arguments, "--json").json }
      assert_equal ["global $orders -> [\"key 3\"]"], why.(format("%#x", @orders[3]), "--keys")["ways"].map { |way| way["way"] }
      assert_equal ["global $orders -> (value)", "global $orders -> [\"key 0\"] -> @next"], why.("Order", "--keys").map { |row| row["way"] }
    end
  end

  def test_what_is_wrong_with_an_expression
    in_shop do
      assert_refused 2, /\Aheapprof graph query: column 11: "lenght" is no field: write a class, or one of class type /, "graph", "query", FILE, "Hash with lenght > 5"
      assert_refused 2, /column 6: and, or, with or the end is expected$/, "graph", "query", FILE, "Hash \e[31m"
      assert_refused 2, /--sort=class: give one of: retained bytes/, "graph", "query", FILE, "--sort", "class"
      assert_refused 1, /no such file/i, "graph", "query", "gone.graph", "Hash"
    end
  end
end
