# frozen_string_literal: true
#
# test_formats.rb - what `heapprof convert` writes for viewers of other kinds: flame graphs as pictures, callgrind's format,
# that of the Firefox Profiler.

require_relative "lib/heapprof_command"
require_relative "lib/firefox_profile"
require_relative "lib/flame_graph"
require_relative "lib/perfetto_import"

class TestHeapprofFormats < Test::Unit::TestCase
  include HeapprofCommand

  NASTY = ["</title><script>alert(1)</script>", "]]>", "&lt;", "a\"b'c", "\e[31m", "x\ny", "\xFF\xFE", "\u{202e}abc", "(1) name", "fn=(1)"].freeze
  MAIN, CART, RACK = "/srv/shop/app.rb:3 <main>", "/srv/shop/cart.rb:12 Cart#load", "/g/gems/rack-3.1.2/lib/rack.rb:7 Rack#call"

  def times = ProfileBytes.new.type("samples", "count").type("wall", "nanoseconds").comment("directory: /srv/shop")

  # Stacks of any depth with names from a few, so that they meet again and call themselves.
  def many(seed = 1)
    random = Random.new(seed)
    names = Array.new(36) { |i| "/srv/shop/#{i % 12 % 5}.rb:#{i % 7} m#{i % 12}" }
    Array.new(300) { [Array.new(random.rand(1..20)) { names.sample(random: random) }, random.rand(1..10**6)] }
  end

  def nasty
    NASTY.inject(times) { |profile, name| profile.sample(["#{name}.rb:1 #{name}", "/srv/#{name}:2 A##{name}", MAIN], [1, 1000], thread: name, name => name) }
  end

  def converted(profile, format, *options)
    write("a.pb.gz", profile)
    heapprof!("convert", "a.pb.gz", "--to=#{format}", *options).out
  end

  def test_each_format_is_told_in_the_description
    help = heapprof!("help", "convert").out
    formats = help[/^ +--to=FORMAT.*?\((.*?)\)/m, 1].split
    assert_include formats, "svg"
    formats.each { |format| assert_match(/\b#{format}\b/, help[/^Writes.*?\n\n/m], format) }
    recorded = heapprof!("help", "record").out[/--to=FORMAT.*?\n +\((pprof.*?)\)/m, 1].split
    assert_equal ["chart"], recorded - formats
  end

  # ---- labels ----

  CARTS = [["GET /cart", 3000], ["POST /cart", 2000], [nil, 500]].freeze

  def labelled = CARTS.inject(times) { |profile, (endpoint, value)| profile.sample([CART, MAIN], [1, value], { endpoint: endpoint, gc_age: 8 }.compact) }

  def test_json_and_csv_have_the_labels_of_each_sample
    in_directory do
      samples = JSON.parse(converted(labelled, "json"))["samples"].map { |sample| [sample["labels"].to_h["endpoint"], sample["values"][1]] }
      assert_equal CARTS, samples
      assert_equal ["endpoint=GET /cart gc_age=8", "endpoint=POST /cart gc_age=8", "gc_age=8"], converted(labelled, "csv").scan(/"([^"]*gc_age[^"]*)"/).flatten
    end
  end

  # As `go tool pprof -tagroot` does.
  def test_in_formats_without_labels_one_is_the_root_of_the_stacks
    in_directory do
      lines = CARTS.map { |endpoint, value| "#{endpoint || '(none)'};<main> (app.rb:3);Cart#load (cart.rb:12) #{value}\n" }
      assert_equal lines.sort, converted(labelled, "collapsed", "--root=label:endpoint", "--by=wall").lines.sort
      { "gc_age" => "8", "no" => "(none)" }.each do |key, value|
        assert_equal [value], converted(labelled, "collapsed", "--root=label:#{key}", "--by=wall").lines.map { |line| line[/\A[^;]*/] }.uniq
      end
      speedscope = JSON.parse(converted(labelled, "speedscope", "--root=label:endpoint"))
      names = speedscope["shared"]["frames"].map { |frame| frame["name"] }
      assert_equal(["GET /cart", "POST /cart", "(none)"], speedscope["profiles"].last["samples"].map { |stack| names[stack[0]] })
      trace = PerfettoImport.new(converted(labelled, "perfetto", "--root=label:endpoint", "--by=wall").b)
      assert_equal [[], CARTS.map { |endpoint, value| [[endpoint || "(none)", "<main>", "Cart#load"], value] }.sort],
                   [trace.errors, trace.heaps.values.first.map { |stack, values| [stack, values[0]] }.sort]
      svg = FlameGraph.new(converted(labelled, "svg", "--root=label:endpoint", "--by=wall"))
      assert_equal ["(none)", "GET /cart", "POST /cart"], svg.frames.map { |frame| svg.stack(frame)[1] }.compact.uniq.sort
      %w[firefox callgrind].each { |format| CARTS.each { |endpoint,| assert_include converted(labelled, format, "--root=label:endpoint"), endpoint || "(none)" } }
    end
  end

  def test_a_root_changes_no_sum_and_no_label
    in_directory do
      File.write("rooted.pb.gz", converted(many.each_with_index.inject(times) { |profile, ((stack, value), i)| profile.sample(stack, [1, value], endpoint: "/#{i % 50}") }, "pprof", "--root=label:endpoint"))
      %w[label:endpoint function].each do |group|
        rows = ->(file) { heapprof!("top", file, "--by=wall", "--group", group, "-n0", "--json").json["rows"].map { |row| row.values_at("what", "value") } }
        assert_equal rows["a.pb.gz"].sort, rows["rooted.pb.gz"].reject { |what, value| value.zero? }.sort
      end
      tree = heapprof!("top", "rooted.pb.gz", "--by=wall", "--group=function", "--sort=cum", "-n0", "--json").json["rows"].to_h { |row| row.values_at("what", "cumulative") }
      sums = heapprof!("top", "a.pb.gz", "--by=wall", "--group=label:endpoint", "-n0", "--json").json["rows"].to_h { |row| row.values_at("what", "value") }
      assert_equal sums, tree.slice(*sums.keys)
    end
  end

  def test_a_root_is_a_label
    assert_refused 2, /--root=endpoint: give one of: label:KEY/, "convert", "x", "--to=svg", "--root=endpoint"
  end

  # ---- svg ----

  def test_a_flame_graph_has_each_stack_by_its_part_of_the_whole
    in_directory do
      svg = FlameGraph.new(converted(times.sample([CART, MAIN], [1, 3_000_000]).sample([RACK, CART, MAIN], [1, 1_000_000]), "svg", "--by=wall"))
      assert_equal [["all"], ["all", "<main>"], ["all", "<main>", "Cart#load"], ["all", "<main>", "Cart#load", "Rack#call"]],
                   svg.frames.map { |frame| svg.stack(frame) }
      assert_equal [1180, 1180, 1180, 295], svg.frames.map(&:width)
      assert_equal ["4 ms, 100.0%", "1 ms, 25.0%"], [svg.frames[0].value, svg.frames[3].value]
      assert_equal [nil, "app.rb", "cart.rb", "rack-3.1.2/lib/rack.rb"], svg.frames.map(&:place)
      assert_equal "wall: 4 ms", svg.texts[0]
    end
  end

  def test_lines_of_a_function_are_one_frame
    in_directory do
      profile = times.sample(["/srv/shop/cart.rb:12 Cart#load", MAIN], [1, 10]).sample(["/srv/shop/cart.rb:13 Cart#load", MAIN], [1, 20])
      assert_equal ["all", "<main>", "Cart#load"], FlameGraph.new(converted(profile, "svg")).frames.map(&:name)
    end
  end

  def test_frames_stand_below_their_callers_side_by_side
    in_directory do
      stacks = many
      svg = FlameGraph.new(converted(stacks.inject(times) { |profile, (frames, value)| profile.sample(frames, [1, value]) }, "svg", "--by=wall"))
      assert_operator svg.frames.size, :>, 300
      svg.frames.drop(1).each { |frame| assert svg.caller_of(frame), frame.inspect }
      svg.frames.group_by(&:y).each_value do |row|
        row.sort_by(&:x).each_cons(2) { |one, other| assert_operator one.x + one.width, :<=, other.x + 0.02 }
      end
      sums = Hash.new(0)
      stacks.each { |frames, value| sums[frames.last[/\S+\z/] + frames.last[/\d\.rb/]] += value }
      drawn = svg.frames.select { |frame| frame.y == svg.frames[0].y + 17 }
      drawn.each { |frame| assert_in_delta sums[frame.name + frame.place] * 1180.0 / sums.values.sum, frame.width, 0.01 }
    end
  end

  def test_a_picture_of_the_same_profile_is_the_same
    in_directory { assert_equal converted(nasty, "svg"), converted(nasty, "svg") }
  end

  def test_the_application_is_warm_gems_are_blue_and_the_rest_is_grey
    in_directory do
      svg = FlameGraph.new(converted(times.sample(["/usr/lib/ruby/3.4.0/set.rb:1 Set#each", RACK, CART], [1, 10]), "svg"))
      own, gem, rest = svg.frames.drop(1).map { |frame| frame.fill.scan(/\h\h/).map(&:hex) }
      assert_operator own[0], :>, own[2] + 100
      assert_operator gem[2], :>, gem[0]
      assert_equal 1, rest.uniq.size
    end
  end

  def test_names_in_a_picture_are_text
    in_directory do
      text = converted(nasty, "svg")
      svg = FlameGraph.new(text)
      assert text.valid_encoding?
      refute_match(/[\u0000-\u0009\u000b-\u001f\u007f\u202e]/, text)
      assert_include svg.frames.map(&:name), "</title><script>alert(1)</script>"
      assert_include svg.frames.map(&:name), '\xFF\xFE'
      assert_equal 1, text.scan("<script").size
      refute_match(/http(?!:\/\/www.w3.org\/2000\/svg")|innerHTML|eval/, text)
    end
  end

  def test_what_is_too_narrow_is_counted
    in_directory do
      profile = (1..30_000).inject(times.sample([MAIN], [1, 1000])) { |all, i| all.sample([":1 f#{i}", MAIN], [1, 1]) }
      svg = FlameGraph.new(converted(profile, "svg", "--by=wall"))
      assert_equal 2, svg.frames.size
      assert_match(/30,000 frames are too narrow to draw\./, svg.texts[1])
    end
  end

  def test_a_picture_has_a_bound
    in_directory do
      stack = Array.new(10) { |i| ":1 g#{i}" }
      profile = (1..9000).inject(times) { |all, i| all.sample(stack.map { |frame| "#{frame}_#{i}" }, [1, 1]) }
      text = converted(profile, "svg", "--by=wall")
      assert_operator FlameGraph.new(text).frames.size, :<=, 20_001
      assert_match(/(70,000|90,000) frames are too narrow/, text)
    end
  end

  def test_a_profile_without_samples_is_a_picture_without_frames
    in_directory { assert_equal [], FlameGraph.new(converted(times, "svg")).frames }
  end

  # ---- callgrind ----

  # What callgrind_annotate says of each function.
  def annotated(profile, *options)
    File.write("out", converted(profile, "callgrind", "--by=wall"))
    out, status = Open3.capture2e("callgrind_annotate", "--threshold=100", "--auto=no", "--show=wall", *options, "out")
    assert status.success?, out
    refute_match(/WARNING|unrecognised|malformed/i, out)
    [out[/^ *([\d,]+) \(100.0%\)  PROGRAM TOTALS/, 1].delete(",").to_i,
     out.scan(/^ *([\d,]+) \( *[\d.]+%\)  \S*?:(\S+)$/).to_h { |value, name| [name, value.delete(",").to_i] }]
  end

  def in_callgrind
    omit "no callgrind_annotate" unless ENV["PATH"].split(":").any? { |directory| File.executable?("#{directory}/callgrind_annotate") }
    in_directory { yield }
  end

  def test_callgrind_annotate_adds_up_what_the_profile_has
    in_callgrind do
      profile = times.sample([CART, MAIN], [1, 300]).sample([RACK, CART, MAIN], [1, 100]).sample([RACK, MAIN], [1, 7])
      assert_equal [407, { "Cart#load" => 300, "Rack#call" => 107 }], annotated(profile)
      assert_equal [407, { "(all)" => 407, "<main>" => 407, "Cart#load" => 400, "Rack#call" => 107 }], annotated(profile, "--inclusive=yes")
    end
  end

  def test_a_function_that_calls_itself_is_counted_once
    in_callgrind do
      deep = [":5 b", ":9 a", ":5 b", ":8 a", MAIN]
      profile = times.sample(deep, [1, 100]).sample(deep.drop(1), [1, 10]).sample(deep.drop(3), [1, 1])
      total, sums = annotated(profile, "--inclusive=yes")
      assert_equal 111, total
      assert_equal({ "(all)" => 111, "<main>" => 111, "a" => 111, "b" => 110, "a'2" => 110, "b'2" => 100 }, sums)
    end
  end

  def test_sums_of_random_stacks_are_those_of_callgrind_annotate
    in_callgrind do
      stacks = many(7)
      total, sums = annotated(stacks.inject(times) { |profile, (frames, value)| profile.sample(frames, [1, value]) }, "--inclusive=yes")
      expected = Hash.new(0)
      stacks.each { |frames, value| frames.map { |frame| frame[/\S+\z/] }.uniq.each { |name| expected[name] += value } }
      assert_equal stacks.sum(&:last), total
      assert_include sums.keys, "m1'2"
      expected["(all)"] = total
      assert_equal expected, sums.reject { |name, _| name.end_with?("'2") }
    end
  end

  def test_nasty_names_stay_on_their_lines
    in_callgrind do
      total, = annotated(nasty)
      assert_equal NASTY.size * 1000, total
      lines = File.read("out").lines(chomp: true)
      assert_equal [], lines.reject { |line| line.match?(/\A(|#.*|(version|creator|positions|event|events|summary): .*|c?f[nli]=\(\d+\)( .*)?|cfi=\(\d+\)( .*)?|calls=1 \d+|\d+( \d+)+)\z/) }
    end
  end

  def test_events_of_callgrind_are_words
    in_directory do
      text = converted(ProfileBytes.new.type("a b", "count").type("wall", "nanoseconds").type("wall", "x").sample([MAIN], [1, 2, 3]), "callgrind", "--by=wall")
      assert_equal ["events: wall e2 e3\n", "summary: 2 1 3\n"], text.lines.grep(/^(events|summary):/)
    end
  end

  # ---- the Firefox Profiler ----

  def test_firefox_has_the_stacks_with_their_files_and_lines
    in_directory do
      profile = FirefoxProfile.new(JSON.parse(converted(times.sample([CART, MAIN], [1, 3_000_000]).sample([RACK, CART, MAIN], [1, 1_500_000]), "firefox", "--by=wall")))
      assert_equal [], profile.errors
      main, cart, rack = ["<main>", "/srv/shop/app.rb", 3], ["Cart#load", "/srv/shop/cart.rb", 12], ["Rack#call", "/g/gems/rack-3.1.2/lib/rack.rb", 7]
      assert_equal({ ["0", "all threads"] => { [main, cart] => 3, [main, cart, rack] => 1.5 } }, profile.threads)
      samples = profile.json["threads"][0]["samples"]
      assert_equal [[0, 3], "tracing-ms"], samples.values_at("time", "weightType")
    end
  end

  def test_firefox_tells_threads_and_processes_apart
    in_directory do
      profile = times.sample([CART], [1, 10**6], thread: "main", pid: 12).sample([CART], [1, 2 * 10**6], thread: "main", pid: 13)
                     .sample([RACK], [1, 3 * 10**6], thread: "worker", pid: 13)
      read = FirefoxProfile.new(JSON.parse(converted(profile, "firefox", "--by=wall")))
      assert_equal [], read.errors
      assert_equal({ %w[12 main] => 1, %w[13 main] => 2, %w[13 worker] => 3 }, read.threads.transform_values { |stacks| stacks.values.sum })
      assert_equal [true, true, false], read.json["threads"].map { |thread| thread["isMainThread"] }
    end
  end

  def test_firefox_has_the_time_at_which_a_sample_began
    in_directory do
      profile = times.sample([RACK], [1, 10], thread: "a", start: 7_000_500).sample([CART], [1, 20], thread: "a", start: 0).sample([CART], [1, 5], thread: "b", start: 1000)
      read = FirefoxProfile.new(JSON.parse(converted(profile, "firefox", "--by=wall")))
      assert_equal [], read.errors
      assert_equal [[0, 7.0005], [0.001]], read.json["threads"].map { |thread| thread["samples"]["time"] }
    end
  end

  def test_firefox_shows_bytes
    in_directory do
      read = FirefoxProfile.new(JSON.parse(converted(shop, "firefox")))
      assert_equal [], read.errors
      assert_equal [["bytes", [0, 40_000], [40_000, 5000]], "bytes"],
                   [read.json["threads"][0]["samples"].values_at("weightType", "time", "weight"), read.json["meta"]["sampleUnits"]["time"]]
    end
  end

  def test_firefox_has_random_stacks_and_nasty_names
    in_directory do
      stacks = many(3)
      read = FirefoxProfile.new(JSON.parse(converted(stacks.inject(times) { |profile, (frames, value)| profile.sample(frames, [value, 1]) }, "firefox", "--by=samples")))
      assert_equal [], read.errors
      expected = Hash.new(0)
      stacks.each { |frames, value| expected[frames.reverse.map { |frame| frame[/\S+\z/] }] += value }
      sums = Hash.new(0)
      read.threads.values.first.each { |frames, value| sums[frames.map(&:first)] += value }
      assert_equal expected, sums
      text = converted(nasty, "firefox")
      assert_equal [], FirefoxProfile.new(JSON.parse(text)).errors
      assert_equal NASTY.size, JSON.parse(text)["threads"].size
    end
  end

  def test_more_threads_than_a_viewer_can_show_share_the_last_one
    in_directory do
      read = FirefoxProfile.new(JSON.parse(converted((1..1500).inject(times) { |all, i| all.sample([CART], [1, 10], thread: "t#{i}") }, "firefox", "--by=samples")))
      assert_equal [[], 1000, 501], [read.errors, read.json["threads"].size, read.json["threads"].last["samples"]["weight"].sum]
    end
  end

  def test_a_difference_is_refused
    in_directory do
      write("a.pb.gz", shop(strings: -5))
      %w[svg callgrind firefox].each { |format| assert_refused 1, /has values below 0, which #{format} cannot show/, "convert", "a.pb.gz", "--to=#{format}" }
    end
  end
end
