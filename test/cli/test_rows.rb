# frozen_string_literal: true
#
# test_rows.rb - what is one row of heapprof top and diff, what a row is called, which rows are shown, their order.

require_relative "lib/heapprof_command"

class TestHeapprofRows < Test::Unit::TestCase
  include HeapprofCommand

  CART = ["/srv/shop/app/cart.rb:13 String#-@", "/srv/shop/app/cart.rb:13 Cart#load", "/srv/shop/app.rb:3 <main>"].freeze
  GROUPS = %w[site function class file gem library app label:endpoint].freeze

  # ---- tables of the VM ----

  # The line interns strings of 600 kB, and so made the VM's table of 4 MB grow.
  def interning(table)
    profile.begin_at("Cart#load" => 10)
           .sample(CART, [10, 600_000], class: "String", endpoint: "/cart")
           .sample(CART, [0, table], class: "[VM] interned strings", caller: "rb_st_init (ruby)",
                                     owner: "[VM] interned strings", endpoint: "/cart")
  end

  def test_a_table_of_the_vm_has_a_row_of_its_own_in_every_group
    in_directory do
      write("heap", interning(4_000_000))
      GROUPS.each do |group|
        rows = rows("heap", "-g", group)
        assert_equal [["[VM] interned strings", 4_000_000], 600_000], [rows[0].values_at("what", "value"), rows[1]["value"]], group
        assert_equal 4_000_000, rows[0].fetch("cumulative", 4_000_000)
        assert_equal 600_000, rows[1].fetch("cumulative", 600_000)
      end
      assert_equal [4_000_000, 600_000], rows("heap", "-g", "app", "--sort=cum").map { |row| row["cumulative"] }.first(2)
      assert_equal ["rb_st_init (ruby)", "(none)"], whats("heap", "-g", "label:caller")
    end
  end

  def test_the_table_says_why_no_line_is_charged_for_it
    in_directory do
      write("heap", interning(4_000_000))
      why = "[VM] is memory of Ruby's own tables: all code has filled them, so no line is charged for it\n"
      assert_equal [why], heapprof!("top", "heap").out.lines.grep(/is memory/)
      refute_match why, heapprof!("top", "heap", "-n1", "--ignore=interned").out
      assert_equal 1, heapprof!("top", "heap").out.scan(/app.cart.rb:13:in 'Cart#load'/).size - 1 # application and site
    end
  end

  def test_it_is_said_where_no_owners_are_known
    in_directory do
      write("heap", profile.sample(CART, [0, 4_000_000], class: "[ruby]", caller: "rb_st_init (ruby)"))
      said = "it is not known who holds malloc'ed memory: Ruby's own tables count for the lines that made them grow\n"
      assert_equal [said], heapprof!("top", "heap").out.lines.grep(/known/)
      write("heap", interning(1000))
      refute_match "known", heapprof!("top", "heap").out
    end
  end

  def test_a_difference_charges_no_line_for_a_table_that_grew
    in_directory do
      write("old", interning(1000))
      write("new", interning(4_000_000))
      assert_equal [["[VM] interned strings", 3_999_000]],
                   heapprof!("diff", "old", "new", "--json", "-g", "app").json["rows"].map { |row| row.values_at("what", "growth") }
    end
  end

  def test_a_table_of_the_vm_has_a_stack_of_its_own_in_other_formats
    in_directory do
      write("heap", interning(4_000_000))
      assert_equal ["[VM] interned strings 4000000", "<main>;Cart#load;String#-@ 600000"].sort, convert("collapsed", "--no-lines").lines(chomp: true).sort
      assert_match(/"\[VM\] interned strings"\r$/, convert("csv"))
      json = JSON.parse(convert("speedscope"))
      frames = json["shared"]["frames"].map { |frame| frame["name"] }
      stacks = json["profiles"].last["samples"].map { |stack| stack.map { |frame| frames[frame] } }
      assert_equal [["[VM] interned strings"], ["<main>", "Cart#load", "String#-@"]].sort, stacks.sort
    end
  end

  # ---- rows that look alike ----

  def test_call_sites_that_differ_only_in_frames_that_are_not_shown_are_one_row
    in_directory do
      stack = ->(caller) { ["/g/a.rb:1 A#a", "/g/b.rb:2 B#b", "/g/c.rb:3 C#c", "/g/#{caller}.rb:4 #{caller}", "/srv/shop/app.rb:3 <main>"] }
      write("heap", profile.sample(stack["X"], [1, 30_000], class: "A").sample(stack["Y"], [2, 20_000], class: "A")
                           .sample(stack["Z"], [1, 5_000], class: "B"))
      assert_equal 1, heapprof!("top", "heap", "-g", "site").out.scan(/48.8 kB .* A$/).size
      assert_equal [48.8, 4.88], heapprof!("top", "heap", "-g", "site").out.scan(/^ +([\d.]+) kB .*[AB]$/).flatten.map(&:to_f)
      assert_equal 3, heapprof!("top", "heap", "-g", "site", "--frames=4").out.scan(/^ +[\d.]+ kB .*[AB]$/).size
      assert_equal 3, rows("heap", "-g", "site").size # which has the whole stacks
    end
  end

  def test_lines_of_two_releases_are_one_row
    in_directory do
      %w[1 2].each do |release|
        write(release, profile("/srv/#{release}").sample(["/srv/#{release}/app/cart.rb:13 Cart#load"], [1, 1000 * release.to_i], class: "A"))
      end
      %w[app function file].each do |group|
        assert_equal [[1000, [1000, 2000]]], heapprof!("diff", "1", "2", "--json", "-g", group).json["rows"].map { |row| row.values_at("growth", "values") }, group
      end
    end
  end

  def test_a_row_that_is_small_by_size_and_by_share_is_counted_and_not_shown
    in_directory do
      write("heap", profile.sample(CART, [1, 1_000_000], class: "Large").sample(CART, [1, 1024], class: "Kilobyte")
                           .sample(CART, [1, 999], class: "Small").sample(CART, [1, 1], class: "Byte"))
      text = heapprof!("top", "heap", "-g", "class").out
      assert_match(/Large\n.*Kilobyte\n\n2 more rows, too small to matter \(-n 0 shows all\): 1000 B\n/, text)
      assert_equal %w[Large Kilobyte], whats("heap", "-g", "class")
      assert_equal %w[Large Kilobyte Small Byte], whats("heap", "-g", "class", "-n0")
      write("small", profile.sample(CART, [1, 900], class: "A").sample(CART, [1, 1], class: "B")) # a part of all is enough
      assert_equal %w[A B], whats("small", "-g", "class")
    end
  end

  # As of code that is made anew with a file name of its own each time.
  def test_many_small_rows_are_a_large_part
    in_directory do
      made = ->(count) { (1..count).inject(ProfileBytes.new.type("inuse_space", "bytes").sample(CART, [1_000_000])) { |all, i| all.sample(["/srv/v#{i}.erb:1 View#render"], [500]) } }
      write("old", made[10])
      write("new", made[5000])
      assert_match(/^ *500 B .*View#render .*\n(.*\n)*\n4,970 more rows \(-n 0 shows all\): 2\.37 MB$/, heapprof!("diff", "old", "new", "-g", "function").out)
      assert_match(/\n4,983 more rows \(-n 0 shows all\): 2\.38 MB$/, heapprof!("top", "new", "-g", "function").out)
    end
  end

  def test_a_byte_more_or_less_is_no_growth
    in_directory do
      write("old", profile.sample(CART, [1, 500], class: "A").sample(CART, [1, 500], class: "B").sample(CART, [1, 500], class: "C"))
      write("new", profile.sample(CART, [1, 501], class: "A").sample(CART, [1, 499], class: "B").sample(CART, [1, 502], class: "C"))
      grew = ->(*options) { heapprof!("diff", "old", "new", "--json", "-g", "class", *options).json["rows"].map { |row| row["what"] } }
      assert_equal ["C"], grew[]
      assert_equal %w[C A B], grew["-n0"]
    end
  end

  # ---- functions, and their order ----

  def nested
    profile.begin_at("Cart#load" => 10, "Shop#run" => 1)
           .sample(["/srv/shop/a.rb:1 Class#new", "/srv/shop/a.rb:1 Cart#load", "/srv/shop/b.rb:9 Shop#run"], [5, 10_000], class: "A")
           .sample(["/srv/shop/b.rb:2 Class#new", "/srv/shop/b.rb:2 Shop#run"], [1, 30_000], class: "B")
  end

  def test_a_c_method_is_one_function_wherever_it_is_called
    in_directory do
      write("heap", nested)
      assert_equal ["Class#new", 40_000], rows("heap", "-g", "function")[0].values_at("what", "value")
      assert_equal ["Cart#load  a.rb", "Class#new", "Shop#run  b.rb"], whats("heap", "-g", "function").sort
    end
  end

  def test_rows_are_ordered_by_value_by_what_was_called_or_by_objects
    in_directory do
      write("heap", nested)
      assert_equal [30_000, 10_000], rows("heap", "-g", "class").map { |row| row["value"] }
      assert_equal %w[A B], whats("heap", "-g", "class", "--sort=objects")
      assert_equal ["Class#new", "Shop#run  b.rb", "Cart#load  a.rb"], whats("heap", "-g", "function", "--sort=cum")
      assert_equal [["b.rb:2:in 'Shop#run'", 30_000], ["a.rb:1:in 'Cart#load'", 10_000], ["b.rb:9:in 'Shop#run'", 10_000]],
                   rows("heap", "-g", "app", "--sort=cum").map { |row| row.values_at("what", "cumulative") }
      text = heapprof!("top", "heap", "--sort=cum").out
      assert_match(/by line of the application .*\n.* cum .*\n.*Shop#run.*by function:\n.* cum .*\n.*Class#new/m, text)
      assert_refused 2, /--sort=cum: cum is for the groups function, file, gem and app/, "top", "heap", "-g", "class", "--sort=cum"
      assert_refused 2, /--sort=size: give one of: self cum objects/, "top", "heap", "--sort=size"
    end
  end

  def test_a_difference_is_ordered_so_too
    in_directory do
      write("old", profile)
      write("new", nested)
      assert_equal %w[A B], heapprof!("diff", "old", "new", "--json", "-g", "class", "--sort=objects").json["rows"].map { |row| row["what"] }
    end
  end

  # ---- C functions and libraries ----

  def extensions
    profile.comment("library: /g/extensions/x/gems/noko-1.2.3/lib/noko.so").comment("library: /lib/treelib.so.2")
           .comment("library: /g/gems/one-1.0/ext.so").comment("library: /g/gems/two-1.0/ext.so")
           .sample(CART, [0, 9000], class: "[noko.so]", caller: "wrap (noko.so)")
           .sample(CART, [0, 7000], class: "[treelib.so.2]", caller: "xmlNewNode (treelib.so.2)")
           .sample(CART, [0, 5000], class: "[ext.so]", caller: "parse (ext.so)").sample(CART, [1, 3000], class: "String")
  end

  def test_focus_and_ignore_look_at_c_functions_and_libraries
    in_directory do
      write("heap", extensions)
      { "xmlNew" => [7000], "noko\\.so" => [9000], "treelib" => [7000], "Cart" => [9000, 7000, 5000, 3000] }.each do |re, values|
        assert_equal values, rows("heap", "-g", "class", "--focus", re).map { |row| row["value"] }, re
      end
      assert_equal [5000, 3000], rows("heap", "-g", "class", "--ignore", "xmlNew|noko").map { |row| row["value"] }
    end
  end

  def endpoints
    profile.sample(CART, [0, 9000], class: "String", endpoint: "GET /cart").sample(CART, [0, 7000], class: "String", endpoint: "POST /cart", tenant: "b2b")
           .sample(CART, [0, 5000], class: "Array", endpoint: "GET /pay").sample(CART, [0, 3000], class: "String")
  end

  def test_focus_label_looks_at_the_labels_of_that_key
    in_directory do
      write("heap", endpoints)
      { "endpoint=/cart$" => [9000, 7000], "endpoint=^POST" => [7000], "endpoint=" => [9000, 7000, 5000], "tenant=b2b" => [7000],
        "class=Arr" => [5000], "end=/cart" => [], "endpoint=a=b" => [] }.each do |pattern, values|
        assert_equal values, rows("heap", "-g", "label:endpoint", "--focus-label", pattern).map { |row| row["value"] }, pattern
      end
      assert_equal [7000], rows("heap", "-g", "label:endpoint", "--focus-label=endpoint=cart", "--ignore=nothing", "--focus=Cart", "-n9")
                             .filter_map { |row| row["value"] if row["what"].start_with?("POST") }
      assert_equal "heap: no sample has a label that matches endpoint=x\n", heapprof!("top", "heap", "--focus-label=endpoint=x").out
      assert_equal "heap: no sample has a frame that matches Cart and a label that matches a=b and none that matches main\n",
                   heapprof!("top", "heap", "--focus=Cart", "--focus-label=a=b", "--ignore=main").out
      ["endpoint", "=x", ""].each do |wrong|
        assert_match(/\Aheapprof top: --focus-label: expected KEY=RE, as endpoint=\^\/cart, got '#{wrong}' \(usage/, heapprof("top", "heap", "--focus-label=#{wrong}").err)
      end
      assert_match(/--focus-label=a=\(: /, heapprof("top", "heap", "--focus-label=a=(").err)
    end
  end

  LABELLED = "<internal:heapprof>:355 ObjectSpace::HeapProfile.label"

  # Of a program that was loaded itself, and labels what it does then.
  def test_what_is_loaded_in_a_block_of_label_is_no_endpoints
    in_directory do
      outer = [LABELLED, "/srv/cart.rb:3 Cart#call", ":0 Kernel#load", "/usr/bin/rackup:1 <main>"]
      loads = ["/srv/model.rb:1 <main>", "/srv/zeitwerk.rb:9 Kernel#require"]
      file = profile.sample(["/srv/cart.rb:9 Cart#add", *outer], [0, 9000], class: "String", endpoint: "/cart")
                    .sample([*loads, *outer], [0, 7000], class: "Class", endpoint: "/cart").sample([*loads, *outer.drop(1)], [0, 500], class: "Class", endpoint: "/change")
                    .sample([*loads, *outer.drop(1)], [0, 300], class: "Class")
      write("heap", file)
      assert_equal [["/cart", 9000], ["(load)", 7000], ["/change", 500], ["(none)", 300]],
                   rows("heap", "-g", "label:endpoint").map { |row| row.values_at("what", "value") }
      assert_equal [["String", 9000], ["Class", 7800]], rows("heap", "-g", "class").map { |row| row.values_at("what", "value") }
    end
  end

  def test_what_an_extension_asks_of_malloc_is_its_gems
    in_directory do
      write("heap", extensions)
      assert_equal [["(application)", 15_000], ["noko-1.2.3", 9000]], rows("heap", "-g", "gem").map { |row| row.values_at("what", "value") }
      assert_equal [["noko.so", 9000], ["treelib.so.2", 7000], ["ext.so", 5000], ["(Ruby objects)", 3000]],
                   rows("heap", "-g", "library").map { |row| row.values_at("what", "value") }
    end
  end

  # ---- nothing found ----

  def test_that_nothing_matches_is_said
    in_directory do
      write("heap", extensions)
      assert_equal "heap: no sample has a frame that matches Nope\n", heapprof!("top", "heap", "--focus=Nope").out
      assert_equal "heap: every sample has a frame that matches Cart|x\n", heapprof!("top", "heap", "--ignore=Cart|x").out
      assert_equal "heap to heap: no sample has a frame that matches Cart and none that matches main\n",
                   heapprof!("diff", "heap", "heap", "--focus=Cart", "--ignore=main").out
      assert_equal "heap: no label endpoint; there are: caller class\n", heapprof!("top", "heap", "-g", "label:endpoint").out
      json = heapprof!("top", "heap", "-g", "label:endpoint", "--json").json
      assert_equal [[], "no label endpoint; there are: caller class"], json.values_at("rows", "why_empty")
      write("plain", profile.sample(CART, [1, 1000]))
      assert_equal "plain: no label class; there are none\n", heapprof!("top", "plain", "-g", "class").out
      write("empty", profile)
      assert_equal "empty: no sample has a value\n", heapprof!("top", "empty").out
    end
  end

  # ---- names ----

  RUST = { "_ZN4yjit7codegen8gen_send17h0123456789abcdefE (ruby)" => "YJIT (ruby)", "_RNvCs1_4yjit3run (libruby.so.3.4)" => "YJIT (libruby.so.3.4)",
           "_ZN63_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..clone..Clone$GT$5clone17h0123456789abcdefE (toml.so)" =>
           "<alloc::vec::Vec<T> as core::clone::Clone>::clone (toml.so)",
           "_ZNSt6vectorIiE9push_backEv (liba.so)" => "_ZNSt6vectorIiE9push_backEv (liba.so)",
           "_ZN99999999999999999999x (ruby)" => "_ZN99999999999999999999x (ruby)", "_ZN (ruby)" => "_ZN (ruby)", "_" => "_" }.freeze

  def test_functions_of_rust_have_their_names_and_those_of_ruby_are_yjit
    in_directory do
      RUST.each do |symbol, name|
        write("heap", profile.sample(CART, [0, 1000], class: "[x]", caller: symbol))
        assert_equal [name], whats("heap", "-g", "label:caller")
        assert_equal [name], whats("heap", "-g", "site")
      end
      write("heap", RUST.keys.first(1).product(%w[0 1 2]).inject(profile) do |all, (symbol, digit)|
        all.sample(CART, [0, 1000], class: "[x]", caller: symbol.sub("0", digit))
      end)
      assert_equal [["YJIT (ruby)", 3000]], rows("heap", "-g", "site").map { |row| row.values_at("what", "value") }
    end
  end

  TEMPLATES = %w[ActionView::Base#_app_views_carts_show_html_erb___123_456 _app_views_carts_show_html_erb__99_1 Object#__tilt_12].freeze

  def test_a_template_is_called_by_its_file
    in_directory do
      write("heap", (TEMPLATES + ["block in #{TEMPLATES[0]}"]).inject(profile) do |all, name|
        all.sample(["/srv/shop/app/views/carts/show.html.erb:3 #{name}", *CART.drop(1)], [1, 1000], class: "String")
      end)
      file = "app/views/carts/show.html.erb"
      { "function" => file, "file" => file, "app" => "#{file}:3", "site" => "String" }.each do |group, what|
        assert_equal [what, 4000], rows("heap", "-g", group)[0].values_at("what", "value"), group
      end
      assert_match(/^ +#{file}:3$/, heapprof!("top", "heap", "-g", "site").out)
      assert_equal "<main>;Cart#load;#{file} 1000\n" * 4, convert("collapsed", "--no-lines")
      assert_match(/;#{file}:3 1000$/, convert("collapsed"))
      refute_match "_123_", convert("speedscope")
      write("heap", profile.sample(["/srv/shop/a.rb:3 A#_with__1_2x", "/srv/shop/a.rb:3 A#_b_1_2", ":0 A#__tilt_1"], [1, 1000], class: "A"))
      assert_equal "A#__tilt_1;A#_b_1_2 (a.rb:3);A#_with__1_2x (a.rb:3) 1000\n", convert("collapsed")
    end
  end

  private

  def profile(directory = "/srv/shop")
    ProfileBytes.new.type("inuse_objects", "count").type("inuse_space", "bytes").comment("directory: #{directory}")
  end

  def rows(file, *options) = heapprof!("top", file, "--json", *options).json["rows"]
  def whats(...) = rows(...).map { |row| row["what"] }
  def convert(format, *options) = heapprof!("convert", "heap", "--to", format, *options).out
end
