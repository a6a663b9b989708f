# frozen_string_literal: true
#
# test_files.rb - heapprof merge, convert, info, help: what they write, and what they refuse.

require_relative "lib/heapprof_command"
require_relative "lib/perfetto_import"

class TestHeapprofFiles < Test::Unit::TestCase
  include HeapprofCommand

  def test_merge_adds_up_and_its_file_is_only_its_owners
    in_directory do
      write("a.pb.gz", shop(strings: 100))
      write("b.pb.gz", shop(strings: 200))
      heapprof!("merge", "a.pb.gz", "b.pb.gz", "-o", "sum.pb.gz")
      assert_equal [12_000, 10_000], heapprof!("top", "sum.pb.gz", "--json").json["rows"].map { |row| row["value"] }
      assert_equal 0o600, File.stat("sum.pb.gz").mode & 0o777
      merged = heapprof!("merge", "a.pb.gz", "b.pb.gz").out
      assert_equal File.binread("sum.pb.gz"), merged.b
    end
  end

  def test_merge_of_what_does_not_go_together_is_refused
    in_directory do
      write("a.pb.gz", shop)
      write("cpu.pb", ProfileBytes.new.type("cpu", "nanoseconds").raw)
      assert_refused 1, /\Aheapprof merge: cpu.pb has no sample type alloc_objects in count, which a.pb.gz has\n/,
                     "merge", "a.pb.gz", "cpu.pb", "-o", "x"
      assert_refused 1, /\Aheapprof merge: no\/x: No such file or directory\n/, "merge", "a.pb.gz", "-o", "no/x"
      assert_refused 1, /\Aheapprof merge: none: No such file or directory\n\z/, "merge", "none", "-o", "x"
      refute File.exist?("x")
      assert_refused 2, /FILE is missing/, "merge"
    end
  end

  # A shell lists the files of a series, and the process removes some before they are opened.
  def test_what_is_gone_meanwhile_is_left_out_of_a_sum_in_one_line
    in_directory do
      write("a.pb.gz", shop(strings: 100))
      write("b.pb.gz", shop(strings: 200))
      FileUtils.cp("b.pb.gz", "b-10.pb.gz")
      ran = heapprof("merge", "a.pb.gz", "b-2.pb.gz", "b-10.pb.gz", "-o", "sum.pb.gz")
      assert_equal ["", "heapprof merge: b-2.pb.gz: has been removed meanwhile, and is left out\n", 0], [ran.out, ran.err, ran.status]
      assert_equal 12_000, heapprof!("top", "sum.pb.gz", "--json").json["rows"][0]["value"]
      # What is mistyped is no file of a series, and neither is one that would be its last.
      [%w[typo.pb.gz b.pb.gz], %w[b.pb.gz typo.pb.gz], %w[b-10.pb.gz b-11.pb.gz], %w[b-9.pb.gz c-10.pb.gz], %w[x y]].each do |files|
        missing = files.find { |file| !File.exist?(file) }
        assert_refused 1, /\Aheapprof merge: #{missing}: No such file or directory\n\z/, "merge", *files, "-o", "none"
        refute File.exist?("none")
      end
    end
  end

  def test_a_file_that_is_there_and_cannot_be_read_is_no_file_that_is_gone
    in_directory do
      write("a.pb.gz", shop)
      File.write("bad", "")
      File.symlink("loop", "loop")
      assert_refused 1, /\Aheapprof merge: bad: is empty\n\z/, "merge", "a.pb.gz", "bad", "-o", "x"
      assert_refused 1, /\Aheapprof merge: loop: Too many levels/, "merge", "a.pb.gz", "loop", "-o", "x"
      assert_refused 1, /\Aheapprof merge: a.pb.gz\/x: Not a directory/, "merge", "a.pb.gz", "a.pb.gz/x", "-o", "x"
    end
  end

  def test_convert_to_pprof_keeps_everything
    in_directory do
      write("a.pb", shop.raw)
      File.binwrite("b.pb.gz", heapprof!("convert", "a.pb", "--to=pprof").out)
      assert_equal heapprof!("convert", "a.pb", "--to=json").out, heapprof!("convert", "b.pb.gz", "--to=json").out
    end
  end

  def test_convert_to_collapsed_stacks
    in_directory do
      write("a.pb.gz", shop.sample(["x.rb:1 a;b\nc"], [0, 0, 0, 7]))
      main = "<main> (app.rb:3)"
      assert_equal "#{main};Cart#load (cart.rb:12);Array#map (cart.rb:12) 40000\n#{main};Rack#call (rack-3.1.2/lib/rack.rb:7) 5000\na:b c (x.rb:1) 7\n",
                   heapprof!("convert", "a.pb.gz", "--to", "collapsed").out
      assert_equal "#{main};Cart#load (cart.rb:12);Array#map (cart.rb:12) 2000\n",
                   heapprof!("convert", "a.pb.gz", "--to", "collapsed", "--by", "alloc_objects").out
      assert_equal "<main>;Cart#load;Array#map 40000\n<main>;Rack#call 5000\na:b c 7\n",
                   heapprof!("convert", "a.pb.gz", "--to", "collapsed", "--no-lines").out
    end
  end

  # Its place would be that of the function that called it.
  def test_a_c_function_has_no_line_of_its_own
    in_directory do
      places = ["/srv/shop/cart.rb:12 Array#map", "/srv/shop/cart.rb:12 Cart#load", "/srv/shop/app.rb:3 <main>"]
      write("a.pb.gz", ProfileBytes.new.type("wall", "nanoseconds").comment("directory: /srv/shop").begin_at("Cart#load" => 5).sample(places, [7]))
      assert_equal "<main> (app.rb:3);Cart#load (cart.rb:12);Array#map 7\n", heapprof!("convert", "a.pb.gz", "--to", "collapsed").out
      frames = heapprof!("convert", "a.pb.gz", "--to=speedscope").json["shared"]["frames"].map { |frame| frame.values_at("name", "line") }
      assert_equal [["Array#map", nil], ["Cart#load", 12], ["<main>", 3]], frames
    end
  end

  def test_lines_are_left_out_of_every_format
    in_directory do
      write("a.pb.gz", shop)
      %w[collapsed csv].each { |format| refute_match(/\.rb/, heapprof!("convert", "a.pb.gz", "--to", format, "--no-lines").out) }
      frames = heapprof!("convert", "a.pb.gz", "--to=speedscope", "--no-lines").json["shared"]["frames"]
      assert_equal [nil], frames.map { |frame| frame["line"] }.uniq
      assert_include frames.map { |frame| frame["file"] }, "/srv/shop/cart.rb"
      heapprof!("convert", "a.pb.gz", "--to=pprof", "--no-lines", "-o", "b.pb.gz")
      assert_equal [0], heapprof!("convert", "b.pb.gz", "--to=json").json["locations"].flat_map { |location| location["lines"].map { |line| line[1] } }.uniq
    end
  end

  def test_convert_to_speedscope
    in_directory do
      write("a.pb.gz", shop)
      json = heapprof!("convert", "a.pb.gz", "--to=speedscope").json
      inuse = json["profiles"][json["activeProfileIndex"]]
      assert_equal ["inuse_space", "bytes", [40_000, 5000], 45_000], inuse.values_at("name", "unit", "weights", "endValue")
      frames = json["shared"]["frames"].map { |frame| frame.values_at("name", "file", "line") }
      main, cart, rack = ["<main>", "/srv/shop/app.rb", 3], "/srv/shop/cart.rb", "/g/gems/rack-3.1.2/lib/rack.rb"
      assert_equal [[main, ["Cart#load", cart, 12], ["Array#map", cart, 12]], [main, ["Rack#call", rack, 7]]],
                   inuse["samples"].map { |stack| frames.values_at(*stack) }
      assert_equal 4, json["profiles"].size
      assert_equal frames.size, inuse["samples"].flatten.uniq.size
    end
  end

  def test_a_function_without_a_name_is_an_address
    in_directory do
      write("a.pb.gz", ProfileBytes.new.type("wall", "nanoseconds").sample(["0x2a", "app.rb:3 <main>", "0x2b"], [7]).sample(["0x2a"], [5]))
      assert_equal "0x2a 5\n0x2b;<main> (app.rb:3);0x2a 7\n", heapprof!("convert", "a.pb.gz", "--to=collapsed").out.lines.sort.join
      json = heapprof!("convert", "a.pb.gz", "--to=speedscope").json
      names = json["shared"]["frames"].map { |frame| frame["name"] }
      assert_equal [["0x2b", "<main>", "0x2a"], ["0x2a"]], json["profiles"][0]["samples"].map { |stack| names.values_at(*stack) }
    end
  end

  def test_speedscopes_own_importer_opens_it
    in_directory do
      write("a.pb.gz", shop)
      File.binwrite("a.speedscope.json", heapprof!("convert", "a.pb.gz", "--to=speedscope").out)
      out, status = Open3.capture2e(File.join(TOP, "scripts/speedscope"), File.expand_path("a.speedscope.json"))
      assert status.success?, out
    end
  end

  def test_convert_to_perfetto
    in_directory do
      profile = shop.comment("pid: 4711")
      profile.add_number(9, 1_000_000_007)
      write("a.pb.gz", profile)
      trace = PerfettoImport.new(heapprof!("convert", "a.pb.gz", "--to=perfetto").out.b)
      assert_equal [], trace.errors
      assert_equal({ [4711, "ruby", 1_000_000_007] => { ["<main>", "Cart#load", "Array#map"] => [80_000, 40_000, 2000, 1000],
                                                        ["<main>", "Rack#call"] => [5000, 0, 0, 0] } }, trace.heaps)
    end
  end

  # Objects of several ages are samples of one stack, which Perfetto adds up.
  def test_samples_of_one_stack_are_added_up_in_perfetto
    in_directory do
      profile = shop(strings: 100)
      3.times { |age| profile.sample(["/srv/shop/cart.rb:12 Array#map", "/srv/shop/cart.rb:12 Cart#load", "/srv/shop/app.rb:3 <main>"], [2, 10, 1, 5], class: "A", gc_age: age) }
      write("a.pb.gz", profile)
      trace = PerfettoImport.new(heapprof!("convert", "a.pb.gz", "--to=perfetto").out.b)
      assert_equal [[], [8030, 4015, 206, 103]], [trace.errors, trace.heaps.values.first[["<main>", "Cart#load", "Array#map"]]]
    end
  end

  def test_a_large_trace_is_in_several_packets
    in_directory do
      profile = shop
      20_000.times { |i| profile.sample(["/f#{i}.rb:1 #{"function" * 6} #{i}"], [1, 2, 1, 2]) }
      write("a.pb.gz", profile)
      trace = PerfettoImport.new(heapprof!("convert", "a.pb.gz", "--to=perfetto").out.b)
      assert_equal [], trace.errors
      assert_operator trace.profile_packets, :>=, 2
      assert_equal 20_002, trace.heaps.values.first.size
    end
  end

  def test_convert_to_json_and_csv
    in_directory do
      write("a.pb.gz", shop.sample(["q\".rb:1 say \"hi\""], [1, 2, 3, 4], class: "A \"B\""))
      json = heapprof!("convert", "a.pb.gz", "--to=json").json
      assert_equal({ "type" => "inuse_space", "unit" => "bytes" }, json["sample_types"][3])
      assert_equal [["class", "String"], ["gc_age", 8]], json["samples"][0]["labels"]
      frame = json["locations"][json["samples"][1]["locations"][0]]["lines"][0]
      assert_equal ["Rack#call", 7], [json["functions"][frame[0]]["name"], frame[1]]
      lines = heapprof!("convert", "a.pb.gz", "--to=csv").out.lines("\r\n", chomp: true)
      assert_equal %("alloc_objects (count)","alloc_space (bytes)","inuse_objects (count)","inuse_space (bytes)",labels,stack), lines[0]
      assert_equal %(2000,80000,1000,40000,"class=String gc_age=8","<main> (app.rb:3);Cart#load (cart.rb:12);Array#map (cart.rb:12)"), lines[1]
      assert_equal %(1,2,3,4,"class=A ""B""","say ""hi"" (q"".rb:1)"), lines[3]
    end
  end

  def test_names_that_are_not_utf8_make_valid_json
    in_directory do
      write("a.pb.gz", shop.sample(["\xFF.rb:1 \xE9t\xE9 #{"\u00e9" * 2000}"], [1, 2, 3, 4], class: "\xFF"))
      %w[json speedscope].each { |format| assert heapprof!("convert", "a.pb.gz", "--to", format).json }
      assert heapprof!("top", "a.pb.gz", "--json").json
      %w[csv collapsed].each { |format| assert heapprof!("convert", "a.pb.gz", "--to", format).out.valid_encoding? }
      assert_match '\xE9t\xE9 é', heapprof!("convert", "a.pb.gz", "--to=json").json["functions"].last["name"]
    end
  end

  def test_a_difference_has_no_flame_graph
    in_directory do
      write("a.pb.gz", shop(strings: -5))
      assert_refused 1, /a.pb.gz: has values below 0, which collapsed cannot show/, "convert", "a.pb.gz", "--to=collapsed"
      assert heapprof!("convert", "a.pb.gz", "--to=json").json
    end
  end

  def test_convert_refuses_what_it_does_not_know
    assert_refused 2, /--to=FORMAT is missing/, "convert", "x"
    assert_refused 2, /--to=yaml: give one of: pprof collapsed /, "convert", "x", "--to=yaml"
    assert_refused 1, /\Aheapprof convert: stdin: is empty\n/, "convert", "-", "--to=json"
  end

  def test_info
    in_directory do
      profile = shop
      profile.add_number(9, 1_795_357_103_200_012_497)
      profile.add_number(10, 90_000_000_000)
      write("a.pb.gz", profile)
      text = heapprof!("info", "a.pb.gz").out
      assert_match(/^taken +2026-11-22 14:18:23 \+0000, over 1.50 min$/, text)
      assert_match(/^holds +2 samples, 4 functions, 4 locations$/, text)
      assert_match(/^ +43.9 kB  inuse_space  ± 9.21 kB  \(shown first\)$/, text)
      assert_match(/^says +interval: 512 bytes$/, text)
      json = heapprof!("info", "a.pb.gz", "--json").json
      assert_equal [45_000, 9434], [json["values"][3]["total"], json["values"][3]["error"].round]
      assert_includes json["comments"], "directory: /srv/shop"
      assert_refused 1, /\Aheapprof info: none: /, "info", "none"
      assert_refused 2, /is missing/, "info"
    end
  end

  def test_info_shows_what_the_resident_memory_consists_of
    in_directory do
      profile = ProfileBytes.new.type("inuse_space", "bytes").type("rss_space", "bytes")
                            .sample([":0 [VM] slots"], [0, 3 << 20]).sample([":0 [VM] malloc"], [0, 1 << 20])
      write("a.pb.gz", profile)
      assert_match(/^memory +3 MB +75.0%  \[VM\] slots\n +1 MB +25.0%  \[VM\] malloc\n +4 MB  100.0%  in memory \(RSS\)$/,
                   heapprof!("info", "a.pb.gz").out)
    end
  end

  def test_help
    all = heapprof!("help").out
    assert_equal all, heapprof!("--help").out
    assert_operator commands.size, :>=, 6
    commands.each do |command|
      help = heapprof!(*command.split, "--help").out
      assert_equal help, heapprof!("help", *command.split).out
      assert_match(/^Usage: heapprof #{command}/, help)
      assert_match(/^Examples:\n  heapprof /, help)
    end
    assert_equal commands.grep(/\Agraph /), heapprof!("graph", "--help").out.scan(/^heapprof (\S+ \S+)  /).flatten
    assert_equal heapprof!("graph", "--help").out, heapprof!("help", "graph").out
    assert_refused 2, /type one of these after graph: dump info /, "graph"
    assert_equal ["Heap profiles", "The object graph: who keeps what alive", "A running process, from outside", "C extensions", "About heapprof"],
                 all.scan(/^(.+):\n  \S/).flatten
    ran = heapprof
    assert_equal [2, "", all], [ran.status, ran.out, ran.err]
  end

  VERSION = File.read(File.expand_path("../../base/version.h", __dir__))[/^#define HEAPPROF_VERSION "(.+)"$/, 1]

  BASE = File.read(File.expand_path("../../base/mri.h", __dir__)).match(/_VERSION "(.+)"\n.*_TESTED ([01])$/m).then do |mri|
    mri[2] == "1" ? mri[1] : "#{mri[1]} (untested base)"
  end

  def test_version_names_the_product_and_the_ruby_it_comes_with
    [%w[version], %w[--version]].each { |words| assert_equal "ruby-heapprof #{VERSION}, for ruby #{BASE}\n", heapprof!(*words).out }
    assert_includes heapprof!("help").out, "This is ruby-heapprof #{VERSION}.\n"
    assert_match(/^\.TH HEAPPROF 1 "" "ruby-heapprof #{Regexp.escape(VERSION)}" /, heapprof!("help", "--man").out)
  end

  def test_info_says_which_version_has_written_the_file_and_that_an_older_one_does_not_say
    older = /^heapprof  a version before 1\.0\.0: the file does not say which$/
    in_directory do
      write("old.pb.gz", shop)
      assert_match(older, heapprof!("info", "old.pb.gz").out)
      write("new.pb.gz", shop.comment("heapprof: 2.3.4"))
      assert_match(/^heapprof  2\.3\.4$/, heapprof!("info", "new.pb.gz").out)
      write("theirs.pb.gz", ProfileBytes.new.type("cpu", "nanoseconds").sample(["a.go:1 main"], [1]))
      refute_match(/^heapprof/, heapprof!("info", "theirs.pb.gz").out)
    end
  end

  def test_info_says_of_which_ruby_the_profile_is_and_whether_that_is_a_tested_one
    in_directory do
      { "ruby 3.4.9 (2025-12-17) +heapprof 1.0.0 +PRISM [x86_64-linux]" => ["3.4.9, tested with heapprof", true],
        "ruby 3.4.10 (2026-06-01) +heapprof 1.0.0 (untested base) +PRISM [x86_64-linux]" => ["3.4.10, not tested with heapprof", false] }.each do |build, (said, tested)|
        write("a.pb.gz", shop.comment("heapprof: 1.0.0").comment("build: #{build}"))
        assert_match(/^ruby      #{said}$/, heapprof!("info", "a.pb.gz").out)
        assert_equal [said[/\A[\d.]+/], tested], heapprof!("info", "a.pb.gz", "--json").json.values_at("ruby", "ruby_tested")
      end
      ["", "ruby", "ruby 3.4.9 of another kind", "\e[31m +heapprof "].each do |build|
        write("theirs.pb.gz", shop.comment("build: #{build}"))
        refute_match(/^ruby /, heapprof!("info", "theirs.pb.gz").out)
        refute_includes heapprof!("info", "theirs.pb.gz", "--json").json, "ruby"
      end
    end
  end

  def test_an_output_that_cannot_be_written_is_an_error_and_a_closed_pipe_is_none
    in_directory do
      write("a.pb.gz", shop)
      _, err, status = Open3.capture3("#{PROGRAM} top a.pb.gz > /dev/full")
      assert_equal [1, "heapprof top: stdout: No space left on device\n"], [status.exitstatus, err]
      _, err, status = Open3.capture3("bash", "-c", "#{PROGRAM} convert a.pb.gz --to=json | true; exit ${PIPESTATUS[0]}")
      assert_equal [0, ""], [status.exitstatus, err]
    end
  end
end
