# frozen_string_literal: true
#
# test_in_ruby.rb - what a profile says in Ruby (vm/api/report.c) is what heapprof says of its file.

require_relative "lib/heapprof_command"

class TestHeapprofInRuby < Test::Unit::TestCase
  include HeapprofCommand

  # Runs the script with a profile of two moments, of sampled objects, strings and hashes; it gets each as an object and
  # as a file.
  def in_ruby(script)
    in_directory do
      File.write("script.rb", <<~'RUBY' + script)
        HeapProfile = ObjectSpace::HeapProfile
        class Item; end
        def items(count) = Array.new(count) { Item.new }
        def texts(count) = Array.new(count) { |i| "text #{i}" * 20 }
        HeapProfile.start(interval: 512, seed: 1)
        kept = [items(2000), texts(1000)]
        before = HeapProfile.snapshot(gc: true, owners: true)
        kept.pop
        kept.push(items(3000), Array.new(200) { |i| { i => i } })
        after = HeapProfile.snapshot(gc: true, owners: true)
        HeapProfile.stop
        before.write("before.pb.gz")
        after.write("after.pb.gz")
      RUBY
      env = { "RUBY_HEAPPROF" => nil, "RUBYOPT" => nil }
      out, err, status = Open3.capture3(env, EnvUtil.rubybin, "--disable-gems", "script.rb")
      assert status.success?, err
      assert_empty err
      yield out
    end
  end

  def test_to_collapsed_is_convert
    in_ruby("print after.to_collapsed, '--', after.to_collapsed(:alloc_objects)") do |out|
      space, objects = out.split("--")
      assert_equal heapprof!("convert", "after.pb.gz", "--to=collapsed").out, space
      assert_equal heapprof!("convert", "after.pb.gz", "--to=collapsed", "--by=alloc_objects").out, objects
    end
  end

  # But for the names of files and options.
  def assert_same_table(table, text)
    said = ->(lines) { lines.sub(/\A[^:]*: /, "").sub("limit: 0", "-n 0").sub("group: :app", "--group app") }
    assert_equal said.call(table), said.call(text)
  end

  OPTIONS = {
    [] => "", ["--group=class", "-n", "3"] => ", group: :class, limit: 3", ["--group=gem"] => ", group: :gem",
    ["--by=alloc_objects", "--frames=1"] => ", by: :alloc_objects, frames: 1",
    ["--focus=items", "--app=/nowhere"] => ", focus: 'items', app: '/nowhere'", ["--ignore=texts", "-n", "0"] => ", ignore: 'texts', limit: 0",
    ["--group=label:gc_age"] => ", group: 'label:gc_age'", ["--sort=cum"] => ", sort: :cum", ["--group=library"] => ", group: :library",
    ["--group=class", "--sort=objects"] => ", group: :class, sort: :objects", ["--focus=nothing"] => ", focus: 'nothing'",
    ["--focus-label=class=^Item", "--group=class"] => ", focus_label: 'class=^Item', group: :class", ["--focus-label=class=x"] => ", focus_label: 'class=x'",
  }.freeze

  def test_report_is_top_and_that_of_a_difference_diff
    in_ruby(OPTIONS.values.map { |options| <<~RUBY }.join) do |out|
      after.report($stdout#{options})
      puts "--"
      (after - before).report($stdout#{options})
      puts "--"
    RUBY
      tables = out.split("--\n")
      OPTIONS.each_key.with_index do |options, i|
        assert_same_table heapprof!("top", "after.pb.gz", *options).out, tables[2 * i]
        assert_same_table heapprof!("diff", "before.pb.gz", "after.pb.gz", *options).out, tables[2 * i + 1]
      end
    end
  end

  # As a file it has no profiles beside it, but their errors.
  def test_a_difference_has_the_errors_of_diff
    in_ruby("(after - before).write('grown.pb.gz')") do
      rows = ->(*command, value) { JSON.parse(heapprof!(*command, "--json", "-n", "0").out)["rows"].to_h { |row| [[row["what"], row["frames"]], [row[value], row["error"].round]] } }
      diff = rows.call("diff", "before.pb.gz", "after.pb.gz", "growth")
      grown = rows.call("top", "grown.pb.gz", "value")
      assert_equal diff.reject { |_, (growth, _)| growth.zero? }, grown
      assert_operator grown.values.map(&:last).max, :>, 0
    end
  end
  # ---- in other formats ----

  PROGRAM_HERE = "require 'heapprof/program'; Heapprof::Program.path = #{PROGRAM.dump}\n"

  def test_to_speedscope_is_convert
    in_ruby("#{PROGRAM_HERE}print after.to_speedscope; p after.to_speedscope('file'), File.stat('file').mode & 0o777") do |out|
      text = heapprof!("convert", "after.pb.gz", "--to=speedscope").out
      same = ->(json) { JSON.parse(json).except("name") }
      assert_equal same[text], same[File.read("file")]
      assert_equal [File.read("file"), "#{File.size("file")}\n#{0o600}\n"], [out[0...File.size("file")], out[File.size("file")..]]
    end
  end

  # But for the name of the file, and the lines of source.
  def test_to_html_and_view_are_view
    in_ruby(PROGRAM_HERE + <<~'RUBY') do |out|
      require "stringio"
      html = after.to_html(sources: false)
      io = StringIO.new
      p after.to_html(io, sources: false) == html.bytesize, io.string == html.b, html.encoding
      p after.to_html("page.html") == File.size("page.html"), File.stat("page.html").mode & 0o777
      p after.view("-x.html"), File.size("-x.html") == File.size("page.html")
      Dir.mkdir("tmp")
      ENV["TMPDIR"] = File.expand_path("tmp")
      name = after.view(sources: ".")
      p name.start_with?(ENV["TMPDIR"]), File.stat(name).mode & 0o777
      File.write("bare.html", html)
    RUBY
      assert_equal "true\ntrue\n#<Encoding:UTF-8>\ntrue\n384\n\"-x.html\"\ntrue\ntrue\n384\n", out
      page = ->(html) { html.force_encoding("UTF-8").gsub(/after\.pb\.gz|stdin/, "NAME") }
      assert_equal page[heapprof!("view", "after.pb.gz", "--output=-", "--no-sources").out], page[File.read("bare.html")]
      assert_operator File.read("page.html"), :include?, "def texts(count)"
      refute_operator File.read("bare.html"), :include?, "def texts(count)"
    end
  end

  # In the home directory, or above it, any file of the user's may be named.
  def test_source_of_the_home_directory_is_not_read_by_itself
    in_ruby(PROGRAM_HERE + <<~'RUBY') { |out| assert_equal "false\ntrue\nfalse\n", out }
      source = ->(**options) { after.to_html(**options).include?("def texts(count)") }
      ENV["HOME"] = Dir.pwd
      p source[], source[sources: "."]
      Dir.mkdir("home")
      ENV["HOME"] = File.expand_path("home")
      p source[]
    RUBY
  end

  def test_what_the_program_refuses_is_an_exception
    in_ruby(PROGRAM_HERE + <<~'RUBY') do |out|
      def refused
        yield
        puts "nothing raised"
      rescue StandardError => error
        puts "#{error.class}: #{error.message}"
      end
      refused { after.to_html(sources: "/nowhere") }
      refused { after.view("/nowhere/page.html") }
      refused { after.to_html("/nowhere/page.html") }
      Heapprof::Program.path = "/nowhere/heapprof"
      refused { after.to_speedscope }
    RUBY
      lines = out.lines(chomp: true)
      assert_match(%r{\AArgumentError: heapprof view: --sources=/nowhere: }, lines[0])
      assert_match(%r{\AArgumentError: heapprof view: /nowhere/page.html: }, lines[1])
      assert_match(/\AErrno::ENOENT: /, lines[2])
      assert_match(/\ARuntimeError: cannot run the program heapprof: /, lines[3])
      assert_equal 4, lines.size
    end
  end

  def test_totals_are_sums_of_the_rows
    in_ruby(<<~'RUBY') { |out| assert_equal "true\n", out }
      types = %i[inuse_space inuse_objects inuse_slot_space inuse_malloc_space alloc_space alloc_objects alloc_slot_space
                 alloc_malloc_space rss_space memsize]
      [before, after, after - before, before - after].each do |profile|
        types.each { |type| profile.total(type) == profile.sum(&type) or abort("#{type} #{profile.inspect}") }
        [profile.inuse_space, profile.objects] == [profile.total(:inuse_space), profile.total(:inuse_objects)] or abort
      end
      [:frames, :class_name, "inuse_space", nil].each do |type|
        after.total(type)
        abort type.inspect
      rescue ArgumentError => error
        error.message.start_with?("#{type.inspect} is no value of a profile (expected one of :inuse_space, ") or abort(error.message)
      end
      p (before - after).objects.negative?
    RUBY
  end
end
