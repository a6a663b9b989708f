# frozen_string_literal: true
#
# test_graph_dups.rb - heapprof graph dups --group: duplicates by what holds them, and by the line that allocated them.

require_relative "lib/heapprof_command"
require_relative "lib/graph_bytes"

class TestHeapprofGraphDups < Test::Unit::TestCase
  include HeapprofCommand
  include GraphShop

  # Four Strings have one content: two in $names, one in $title, one is garbage. Two have another. One is alone.
  def shop
    graph = GraphBytes.new
    lines = ["/srv/a.rb:1 A#one", "/srv/a.rb:2 A#two"].map { |line| [graph.stack(":0 String#dup", line, "/srv/main.rb:1 <main>"), graph.stack(":0 String#+", line)] }
    same = ->(**options) { graph.object("String", 400, type: "T_STRING", hash: 7, **options) }
    other = ->(**options) { graph.object("String", 90, type: "T_STRING", hash: 8, **options) }
    names = [same.(stack: lines[0][0], weight: 2), same.(stack: lines[0][1]), other.(stack: lines[1][0]), graph.object("String", type: "T_STRING", hash: 9)]
    graph.root(:GLOBAL, "$names", graph.object("Array", type: "T_ARRAY", tail: names))
    graph.root(:GLOBAL, "$title", same.())
    graph.root(:GLOBAL, "$other", other.(stack: lines[1][1]))
    same.()
    graph
  end

  def groups(by) = heapprof!("graph", "dups", FILE, "--group", by, "--json").json

  def test_the_applications_frame_comes_first
    in_directory do
      graph = GraphBytes.new
      stack = graph.stack("/g/gems/rack-3.1.2/lib/rack.rb:8 Rack.parse", "/srv/app/cart.rb:12 Cart#load")
      texts = Array.new(2) { graph.object("String", 100, type: "T_STRING", hash: 7, stack: stack) }
      texts.each_with_index { |text, i| graph.root(:GLOBAL, "$text#{i}", text) }
      File.binwrite("a.graph", graph.bytes)
      assert_match(%r{\S*cart\.rb:12 Cart#load, in rack-3\.1\.2/lib/rack\.rb:8 Rack\.parse}, heapprof!("graph", "dups", "a.graph").out)
    end
  end

  def test_by_holder_they_add_up_to_all_that_is_wasted
    in_shop do
      found = groups("holder")
      assert_equal [4, 3 * 400 + 90], found.values_at("objects", "wasted")
      assert_equal [["global $names -> []", 3, 645], ["global $title", 1, 300], ["(garbage)", 1, 300], ["global $other", 1, 45]].sort,
                   found["groups"].map { |group| group.values_at("holder", "objects", "wasted") }.sort
      assert_equal found["wasted"], found["groups"].sum { |group| group["wasted"] }
      assert_match(/\A4 objects repeat .*: 1\.26 kB\n\n +wasted +objects +one of them +class, and what holds them\n +645 B +3 +0x\h+ +String  by global \$names -> \[\]\n\.\.\. and 3 more\n\z/,
                   heapprof!("graph", "dups", FILE, "--group=holder", "-n1").out)
    end
  end

  def test_by_line_a_sample_counts_as_what_it_stands_for
    in_shop do
      assert_equal [["/srv/a.rb:1 A#one", 3, 900], ["(not sampled)", 2, 600], ["/srv/a.rb:2 A#two", 2, 90]],
                   groups("line")["groups"].map { |group| group.values_at("line", "objects", "wasted") }
      assert_match(/^ +900 B +3 +0x\h+ +.srv.a\.rb:1 A#one\n/, heapprof!("graph", "dups", FILE, "--group=line").out)
    end
  end

  def test_by_content_is_what_it_does_without_a_group
    in_shop do
      assert_equal heapprof!("graph", "dups", FILE).out, heapprof!("graph", "dups", FILE, "--group=content").out
      assert_refused 2, /--group=class: give one of: content holder line/, "graph", "dups", FILE, "--group=class"
    end
  end
end
