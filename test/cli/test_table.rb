# frozen_string_literal: true
#
# test_table.rb - heapprof top and diff: rows, their order, figures and errors, options.

require_relative "lib/heapprof_command"

class TestHeapprofTable < Test::Unit::TestCase
  include HeapprofCommand

  def test_top_shows_the_lines_of_the_application_and_then_the_sites
    in_directory do
      write("heap.pb.gz", shop)
      text = heapprof!("top", "heap.pb.gz").out
      sites = heapprof!("top", "heap.pb.gz", "--group=site").out.lines
      assert_equal <<~TEXT, text
        #{sites.first}
        by line of the application (--group app):
               value         ±   share     sum     objects   age  what
             39.1 kB   8.67 kB   88.9%   88.9%       1,000     8  cart.rb:12:in 'Cart#load'
             4.88 kB   3.12 kB   11.1%  100.0%                    app.rb:3:in '<main>'

        by call site:
        #{sites.drop(2).join.chomp}
      TEXT
    end
  end

  def test_where_nothing_is_the_applications_there_are_only_the_sites
    in_directory do
      write("heap.pb.gz", shop)
      assert_equal heapprof!("top", "heap.pb.gz", "--group=site", "--app=/elsewhere").out, heapprof!("top", "heap.pb.gz", "--app=/elsewhere").out
    end
  end

  def test_top_shows_the_largest_sites_with_share_objects_age_and_error
    in_directory do
      write("heap.pb.gz", shop)
      assert_equal <<~TEXT, heapprof!("top", "heap.pb.gz", "--group=site").out
        heap.pb.gz: inuse_space 43.9 kB ± 9.21 kB in 1,000 objects

               value         ±   share     sum     objects   age  what
             39.1 kB   8.67 kB   88.9%   88.9%       1,000     8  String
                cart.rb:12:in 'Array#map'
                cart.rb:12:in 'Cart#load'
                app.rb:3:in '<main>'
             4.88 kB   3.12 kB   11.1%  100.0%                    st_init (ruby) for Hash
                rack-3.1.2/lib/rack.rb:7:in 'Rack#call'
                app.rb:3:in '<main>'
      TEXT
    end
  end

  def test_groups
    in_directory do
      write("heap.pb.gz", shop)
      { "site" => ["String", "st_init (ruby) for Hash"], "class" => %w[String Hash],
        "function" => ["Array#map  cart.rb", "Rack#call  rack-3.1.2/lib/rack.rb", "<main>  app.rb", "Cart#load  cart.rb"],
        "file" => ["cart.rb", "rack-3.1.2/lib/rack.rb", "app.rb"],
        "gem" => ["(application)", "rack-3.1.2"], "label:caller" => ["(none)", "st_init (ruby)"],
        "app" => ["cart.rb:12:in 'Cart#load'", "app.rb:3:in '<main>'"] }.each do |group, what|
        rows = heapprof!("top", "heap.pb.gz", "--json", "--group", group).json["rows"]
        assert_equal what.sort, rows.map { |row| row["what"] }.sort, group
      end
    end
  end

  def test_value_count_focus_ignore_frames_app
    in_directory do
      write("heap.pb.gz", shop)
      assert_equal [80_000, 5000], values("--by=alloc_space")
      assert_equal [2000], values("-b", "alloc_objects")
      assert_equal [40_000], values("-n1")
      assert_equal [5000], values("--focus", "Rack#|nothing")
      assert_equal [5000], values("-f", "gems/rack")
      assert_equal [5000], values("--ignore=Cart")
      assert_equal ["(no line of the application)"], heapprof!("top", "heap.pb.gz", "--json", "-g", "app", "--app=/elsewhere").json["rows"].map { |row| row["what"] }
      text = heapprof!("top", "heap.pb.gz", "--group=site", "--frames=1").out
      refute_match "Cart#load", text
      text = heapprof!("top", "heap.pb.gz", "--frames=1", "--focus=Rack").out
      assert_match "   app: app.rb:3:in '<main>'\n", text
    end
  end

  def test_what_cannot_be_told_from_noise_is_marked
    in_directory do
      write("heap.pb.gz", shop(strings: 12, table: 50_000))
      lines = heapprof!("top", "heap.pb.gz", "--group=site").out.lines
      assert_match(/^~ +480 B +972 B .* String$/, lines.grep(/String/).first)
      assert_equal "~ cannot be told from noise (±: 19 times out of 20)\n", lines.last
      assert_equal [false, true], heapprof!("top", "heap.pb.gz", "--json").json["rows"].map { |row| row["noise"] }
    end
  end

  # Which line makes most of what dies before its first garbage collection; and what was alive at the peak.
  def test_top_by_what_dies_young_and_by_the_peak
    in_directory do
      types = { "alloc_objects" => "count", "alloc_space" => "bytes", "inuse_objects" => "count", "inuse_space" => "bytes",
                "peak_objects" => "count", "peak_space" => "bytes", "temp_objects" => "count", "temp_space" => "bytes" }
      profile = types.inject(ProfileBytes.new) { |made, (type, unit)| made.type(type, unit) }.comment("interval: 1 bytes").comment("directory: /srv/shop")
      { "cart.rb:12 Cart#price" => 310, "app.rb:7 App#call" => 690 }.each do |line, objects|
        profile.sample(["/srv/shop/#{line}"], [objects, 40 * objects, 0, 0, 0, 0, objects, 40 * objects], class: "String", death_age: 0)
        profile.sample(["/srv/shop/#{line}"], [objects, 40 * objects, 0, 0, 0, 0, 0, 0], class: "String", death_age: 4)
        profile.sample(["/srv/shop/#{line}"], [0, 0, 0, 0, 1000 - objects, 40 * (1000 - objects), 0, 0], class: "String")
      end
      write("past.pb.gz", profile)
      young = heapprof!("top", "past.pb.gz", "--by=temp_space", "--group=app").out
      assert_match(/^past.pb.gz: temp_space 39.1 kB in 1,000 objects$/, young)
      assert_match(/12.1 kB +31.0% .*cart.rb:12/, young)
      assert_match(/^what has died before its first garbage collection; a share is of all that$/, young)
      peak = heapprof!("top", "past.pb.gz", "--by=peak_space", "--group=app").out
      assert_match(/27.0 kB +69.0% .*cart.rb:12/, peak)
      assert_match(/^what was alive when most was alive; `heapprof info` says when that was$/, peak)
      assert_match(/^ *\S+ kB +50.0% .* 0$/, heapprof!("top", "past.pb.gz", "--by=alloc_space", "--group=label:death_age").out)
    end
  end

  # It may be the number of a process, to be copied.
  def test_a_number_without_a_unit_has_no_commas
    in_directory do
      profile = ProfileBytes.new.type("samples", "count").type("wall", "nanoseconds")
      write("times.pb.gz", profile.sample(["app.rb:7 App#call"], [1, 2_000_000], pid: 21_717))
      assert_match(/ 2 ms  100\.0%  100\.0%  21717$/, heapprof!("top", "times.pb.gz", "--by=wall", "--group=label:pid").out)
    end
  end

  def test_diff_shows_what_grew_most_first_and_what_shrank_last
    in_directory do
      write("old.pb.gz", shop(strings: 1000, table: 50_000))
      write("new.pb.gz", shop(strings: 9000, table: 10_000))
      json = heapprof!("diff", "old.pb.gz", "new.pb.gz", "--json").json
      assert_equal [[320_000, [40_000, 360_000]], [-40_000, [50_000, 10_000]]],
                   json["rows"].map { |row| row.values_at("growth", "values") }
      assert_match "inuse_space grew by 273 kB", heapprof!("diff", "old.pb.gz", "new.pb.gz").out
      assert_match "inuse_space shrank by 273 kB", heapprof!("diff", "new.pb.gz", "old.pb.gz").out
      assert_equal [], heapprof!("diff", "new.pb.gz", "new.pb.gz", "--json").json["rows"]
    end
  end

  def test_of_three_files_comes_first_what_kept_growing
    in_directory do
      [[1000, 10_000], [500, 50_000], [9000, 90_000]].each_with_index do |(strings, table), i|
        write("#{i}.pb.gz", shop(strings: strings, table: table))
      end
      text = heapprof!("diff", "0.pb.gz", "1.pb.gz", "2.pb.gz", "--group=class").out
      assert_match(/kept growing:\n.* Hash\nthe others:\n.* String\n/, text)
    end
  end

  # Bytes by class, file by file: a leak beside garbage, a cache that is full, what is loaded at the start, garbage
  # that waits for a GC, and what is collected at the end; then the program does nothing. A small
  # leak is beside garbage of the same class: [what has survived a GC, what has not].
  SERIES = { "Leak" => [0, 110, 100, 290, 400, 400, 400, 400], "Full" => [0, 200, 200, 200, 200, 200, 200, 200],
             "Loaded" => [300, 600, 600, 600, 600, 600, 600, 600], "Garbage" => [0, 100, 0, 200, 300, 300, 300, 300],
             "Shrunk" => [400, 900, 900, 900, 900, 900, 900, 100],
             "Small" => [0, [10, 50], [50, 900], [60, 900], 90, 90, 90, [90, 5]] }.freeze
  WORK = [0, 1000, 2000, 3000, 4000, 4001, 4001, 4002].freeze

  def kept_growing(work)
    in_directory do
      8.times do |i|
        profile = ProfileBytes.new.type("alloc_space", "bytes").type("inuse_space", "bytes")
        SERIES.each do |name, bytes|
          old, young = name == "Garbage" ? [0, bytes[i]] : bytes[i]
          profile.sample(["a.rb:1 x"], [work[i] * 1000, old * 1000], class: name, gc_age: 4)
          profile.sample(["a.rb:1 x"], [0, young * 1000], class: name, gc_age: 0) if young
        end
        write("#{i}.pb.gz", profile)
      end
      rows = heapprof!("diff", *Dir["*.pb.gz"].sort, "--group=class", "--json").json["rows"]
      assert_equal SERIES.keys.sort, rows.map { |row| row["what"] }.sort
      rows.select { |row| row["kept_growing"] }.map { |row| row["what"] }
    end
  end

  def test_what_kept_growing_is_no_cache_and_no_garbage
    assert_equal %w[Leak Small], kept_growing(WORK)
  end

  def test_where_it_is_not_known_how_much_was_done_files_count
    assert_equal %w[Leak Small], kept_growing([0] * 8)
  end

  def test_files_of_workers_are_added_up_process_by_process
    in_directory do
      files = { 7 => [1000, 2000, 3000, 4000, 5000], 9 => [100, 150, 300], 11 => [77_000] }.flat_map do |pid, series|
        series.each_with_index.map do |strings, i|
          profile = shop(strings: strings).comment("pid: #{pid}").comment("host: here")
          profile.add_number(9, 5_000 + pid + 100 * i)
          profile.add_number(10, 1_000 + 100 * i)
          write("#{pid}-#{i}.pb.gz", profile)
        end
      end
      json = heapprof!("diff", *files.shuffle, "--json", "--group=class").json
      # of the shorter series the file at that part of it
      assert_equal [["String", [1100, 2150, 3150, 4300, 5300].map { |strings| 40 * strings }]],
                   json["rows"].map { |row| row.values_at("what", "values") }
      assert_equal files.reject { |file| file.start_with?("11") }.sort, json["files"].sort
      assert_match(/\A2 processes, 8 files: inuse_space grew by 164 kB/, heapprof!("diff", *files).out)
      alone = heapprof!("diff", *files.grep_v(/\A9/), "--json", "--group=class").json
      assert_equal [200_000, 5], [alone["rows"][0]["values"].last, alone["files"].size]
      two = heapprof!("diff", "7-0.pb.gz", "9-0.pb.gz", "--json").json
      assert_equal [%w[7-0.pb.gz 9-0.pb.gz], -36_000], [two["files"], two["total"]["growth"]]
    end
  end

  def test_files_that_are_gone_meanwhile_are_left_out_of_a_difference_in_a_line_each
    in_directory do
      [100, 200, 300].each_with_index do |strings, i|
        profile = shop(strings: strings)
        profile.add_number(9, 5_000 + i)
        write("0-#{10 * i}.pb.gz", profile)
      end
      all = heapprof!("diff", "0-0.pb.gz", "0-10.pb.gz", "0-20.pb.gz").out
      ran = heapprof("diff", "0-0.pb.gz", "0-5.pb.gz", "0-10.pb.gz", "0-15.pb.gz", "0-20.pb.gz")
      left_out = %w[0-5 0-15].map { |name| "heapprof diff: #{name}.pb.gz: has been removed meanwhile, and is left out\n" }.join
      assert_equal [all, left_out, 0], [ran.out, ran.err, ran.status]
      assert_refused 1, /\Aheapprof diff: gone: No such file or directory\n\z/, "diff", "0-0.pb.gz", "gone"
      assert_refused 1, /\Aheapprof diff: x: No such file or directory\n\z/, "diff", "x", "0-0.pb.gz", "0-10.pb.gz"
    end
  end

  def test_a_pid_that_is_used_again_or_elsewhere_is_another_process
    in_directory do
      [["here", 0, [10, 20]], ["here", 5, [1000, 1000]], ["there", 0, [500, 500]]].each do |host, start, series|
        series.each_with_index do |strings, i|
          profile = shop(strings: strings).comment("pid: 7").comment("host: #{host}")
          profile.add_number(9, 5_000 + start + 100 * i)
          profile.add_number(10, 1_000 + 100 * i)
          write("#{host}-#{start}-#{i}.pb.gz", profile)
        end
      end
      assert_match(/\A3 processes, 6 files: inuse_space grew by 400 B/, heapprof!("diff", *Dir["*"]).out)
    end
  end

  def test_memory_that_no_sample_is_of_is_told_where_it_grew
    in_directory do
      [0, 1, 2].each do |i|
        profile = ProfileBytes.new.type("inuse_malloc_space", "bytes").type("rss_space", "bytes").type("inuse_space", "bytes")
        sampled, mb = 4 + i, 1 << 20
        profile.sample(["/srv/shop/a.rb:1 x"], [sampled * mb, 0, sampled * mb], class: "String")
        profile.sample([":0 [VM] malloc"], [0, (sampled + 3 * i) * mb, 0]).sample([":0 [VM] iseqs"], [0, i * mb, 0])
        profile.sample([":0 [VM] slots"], [0, 500 * i * mb, 0])
        write(i.to_s, profile)
      end
      told = /C code holds 8 MB ± 0 B more that no sample is of: .*heapprof run --malloc=all/m
      assert_match told, heapprof!("diff", "0", "2").out
      assert_match told, heapprof!("diff", "0", "1", "2").out
      refute_match "no sample", heapprof!("diff", "2", "0").out
      refute_match "no sample", heapprof!("diff", "0", "2", "--focus=x").out
      refute_match "no sample", heapprof!("top", "2").out
    end
  end

  def test_three_files_and_more_are_in_the_order_of_their_times
    in_directory do
      { "1" => 30, "10" => 50, "2" => 40 }.each do |name, time|
        profile = shop(strings: time * 100)
        profile.add_number(9, time)
        write(name, profile)
      end
      json = heapprof!("diff", "1", "10", "2", "--json", "--group=class").json
      assert_equal [%w[1 2 10], [120_000, 160_000, 200_000]], [json["files"], json["rows"][0]["values"]]
      assert_equal %w[10 1], heapprof("diff", "10", "1", "--json").json["files"]
    end
  end

  def test_of_many_files_the_first_and_the_last_have_a_column
    in_directory do
      files = (1..6).map { |i| write("#{i}.pb.gz", shop(strings: i * 1000)) }
      lines = heapprof!("diff", *files, "--group=class").out.lines
      assert_equal "1.pb.gz to 6.pb.gz (6 files): inuse_space grew by 195 kB ± 23.4 kB\n", lines[0]
      assert_match(/^ +growth +± +old +new +objects +age  what grew$/, lines[2])
      assert_match(/^ +195 kB .* 39.1 kB +234 kB +5,000 +8  String$/, lines[4])
    end
  end

  def test_of_one_run_what_stayed_is_no_error
    in_directory do
      [[10, 100], [20, 200]].each_with_index do |(gc, strings), i|
        profile = shop(strings: 0, table: 0).comment("as of GC: #{gc}")
        profile.add_number(9, 5_000 + gc)
        profile.add_number(10, 1_000 + gc)
        profile.sample(["a.rb:1 old"], [0, 0, 1000, 40_000], class: "Old", gc_age: i.zero? ? 8 : 16)
        profile.sample(["a.rb:2 new"], [0, 0, strings, 40 * strings], class: "New", gc_age: 2)
        write("#{i}.pb.gz", profile)
      end
      rows = heapprof!("diff", "0.pb.gz", "1.pb.gz", "--json", "--group=file").json["rows"]
      # new: 100 came for 100 that went, and 100 more; the 1000 are the same ones
      variance = ->(n) { n * 1600 / (Math.exp(40 / 512.0) - 1) }
      assert_in_delta 2 * Math.sqrt(variance[200] + variance[100]), rows[0]["error"], 1
      backward = heapprof("diff", "1.pb.gz", "0.pb.gz", "--json", "--group=file").json["rows"]
      assert_equal rows.map { |row| row["error"] }, backward.map { |row| row["error"] }
    end
  end

  def test_a_profile_and_itself_have_no_error
    in_directory do
      write("0.pb.gz", shop.tap { |profile| profile.add_number(9, 5_000) })
      assert_match(/ grew by 0 B ± 0 B$/, heapprof!("diff", "0.pb.gz", "0.pb.gz").out)
    end
  end

  def test_other_profiles_have_no_errors_and_are_shown_in_their_units
    in_directory do
      write("cpu.pb", ProfileBytes.new.type("samples", "count").type("cpu", "nanoseconds")
                                  .sample(["main.go:3 main.run"], [100, 1_500_000_000]).raw)
      assert_equal <<~TEXT, heapprof!("top", "cpu.pb").out
        cpu.pb: cpu 1.50 s

               value   share     sum  what
              1.50 s  100.0%  100.0%  main.run
                main.go:3:in 'main.run'
      TEXT
    end
  end

  def test_lines_are_as_wide_as_the_terminal
    in_directory do
      write("heap.pb.gz", shop)
      [40, 60, 80, 120].each do |width|
        lines = heapprof!("top", "heap.pb.gz", env: { "COLUMNS" => width.to_s }).out.lines(chomp: true).drop(3)
        assert_operator lines.map(&:size).max, :<=, [width, 64].max
      end
    end
  end

  def test_names_that_would_steer_a_terminal_are_escaped
    in_directory do
      write("heap.pb.gz", shop.sample(["/srv/\e[31m.rb:1 evil\nname"], [0, 0, 1, 10**9], class: "\e]0;title\a"))
      text = heapprof!("top", "heap.pb.gz").out
      assert_match '\x1B]0;title\x07', text
      assert_match '/srv/\x1B[31m.rb:1:in \'evil\x0Aname\'', text
      refute_match "\e", text
    end
  end

  def test_wrong_input
    in_directory do
      write("heap.pb.gz", shop)
      write("text", "hello, world\n")
      assert_refused 1, /\Aheapprof top: none: No such file or directory\n/, "top", "none"
      assert_refused 1, /has no value that is called peak_space; it has: .*; RUBY_HEAPPROF=peak=1 keeps the peak\n/, "top", "heap.pb.gz", "--by=peak_space"
      assert_refused 1, /temp_space; it has: .*; RUBY_HEAPPROF=lifetimes=1 counts it\n/, "top", "heap.pb.gz", "--by=temp_space"
      assert_refused 1, /\Aheapprof top: text: is /, "top", "text"
      assert_refused 1, /\Aheapprof top: stdin: is empty\n/, "top", "-"
      assert_refused 1, /\Aheapprof top: \.: cannot be read: Is a directory\n/, "top", "."
      assert_refused 1, /heap.pb.gz: has no value that is called cpu; it has: alloc_objects alloc_space/, "top", "heap.pb.gz", "--by=cpu"
      assert_refused 2, /top: FILE is missing/, "top"
      assert_refused 2, /--group=banana: give one of: site /, "top", "heap.pb.gz", "--group=banana"
      assert_refused 2, /--group=label:: give one of: site /, "top", "heap.pb.gz", "--group=label:"
      assert_refused 2, /--count=9{30}: give at most 1000000000 /, "top", "heap.pb.gz", "-n#{"9" * 30}"
      assert_refused 2, /--count=x: give a whole number of 0 or more/, "top", "heap.pb.gz", "-nx"
      assert_refused 2, /--focus=\(: /, "top", "heap.pb.gz", "--focus=("
      assert_refused 2, /--nonsense is not an option of this command/, "top", "heap.pb.gz", "--nonsense"
      assert_refused 2, /--by needs a value: TYPE/, "top", "heap.pb.gz", "--by"
      assert_refused 2, /--json takes no value/, "top", "heap.pb.gz", "--json=1"
      assert_refused 2, /diff: NEW is missing/, "diff", "heap.pb.gz"
    end
  end

  def test_a_profile_comes_from_stdin_too
    assert_equal 40_000, heapprof!("top", "-", "--json", stdin: shop.gzip).json["rows"][0]["value"]
    assert_equal 40_000, heapprof!("top", "-", "--json", stdin: shop.raw).json["rows"][0]["value"]
  end

  private

  def values(*options)
    heapprof!("top", "heap.pb.gz", "--json", *options).json["rows"].map { |row| row["value"] }
  end
end
