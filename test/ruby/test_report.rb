# frozen_string_literal: true

# test_report.rb - what a profile says as text (vm/api/report.c): stacks as lines, and the table of report. That it is
# what heapprof says of the file: test/cli/test_in_ruby.rb.

require_relative "lib/heapprof_test"

class TestHeapProfReport < Test::Unit::TestCase
  include HeapProfTest

  SETUP = <<~'RUBY'
    require "stringio"
    class Item; end
    def make(count) = Array.new(count) { Item.new }
    def profile(count = 100)
      HeapProfile.start(interval: 1)
      kept = make(count)
      HeapProfile.snapshot(gc: true, rss: true)
    ensure
      HeapProfile.stop
      kept.clear
    end
  RUBY

  # ---- to_collapsed ----

  def test_to_collapsed_has_a_line_a_stack_with_the_outermost_function_first
    in_child(SETUP + <<~'RUBY')
      profile = profile()
      %i[inuse_space inuse_objects alloc_space alloc_malloc_space rss_space].each do |type|
        text = profile.to_collapsed(type)
        assert_equal [Encoding::UTF_8, true], [text.encoding, text.valid_encoding?]
        sums = text.lines(chomp: true).group_by { |line| line[/\A(.*) \d+\z/, 1].split(";").map { |frame| frame.sub(/ \([^()]*:\d+\)\z/, "") }.join(";") }.transform_values { |lines| lines.sum { |line| line[/\d+\z/].to_i } }
        stack = ->(row) { row.owner&.start_with?("[VM]") ? row.owner : row.frames.map(&:label).reverse.join(";") }
        rows = profile.group_by(&stack).transform_values { |alike| alike.sum(&type) }
        assert_equal rows.reject { |stack, value| value.zero? || stack.empty? }, sums.except("[no frame]")
      end
      assert_equal profile.to_collapsed(:inuse_space), profile.to_collapsed
      assert_match(/^<main> \(\S+:\d+\);.*;Object#make \(\S+:\d+\);.*;Class#new \d+$/, profile.to_collapsed)
    RUBY
  end

  def test_to_collapsed_of_what_is_no_type_raises
    in_child(SETUP + <<~'RUBY')
      assert_raise_with_message(ArgumentError, /nonsense is no sample type/) { profile.to_collapsed(:nonsense) }
      assert_raise(ArgumentError) { profile.to_collapsed("inuse_space") }
    RUBY
  end

  # ---- report: which frames, and whose code they are ----

  # A program of three files, which starts in their directory: $profile has 1000 objects that other/other.rb
  # has app/own.rb have vendor/gems/gem-1.0/gem.rb make. below(...) is what report prints below its
  # first row: labels, with "app:" before if so marked.
  REPORT = <<~'RUBY'
    require "stringio"
    require "pathname"
    def report(profile = $profile, **options) = StringIO.new.tap { |io| assert_nil profile.report(io, **options) }.string
    def below(**options)
      text = report(group: :site, limit: 1, by: :inuse_objects, **options)
      text.lines.grep(/\A {3}.*:in '/).map { |line| "#{line[/\A {3}(app:) /, 1]}#{line[/:in '(.*)'$/, 1]}" }
    end
    %w[vendor/gems/gem-1.0/gem app/own other/other].each { |path| require File.expand_path(path) }
    HERE = Dir.pwd
    HeapProfile.start(interval: 1, malloc_interval: 0)
    $kept = of_other
    $profile = HeapProfile.snapshot
    HeapProfile.stop
  RUBY

  def in_report(script, **options)
    in_directory do
      %w[vendor/gems/gem-1.0 app other].each { |directory| FileUtils.mkdir_p(directory) }
      File.write("vendor/gems/gem-1.0/gem.rb", "def of_gem = Array.new(1000) { Object.new }\n")
      File.write("app/own.rb", "def of_app = of_gem\n")
      File.write("other/other.rb", "def of_other = of_app\n")
      in_child(REPORT + script, "--disable-gems", **options)
    end
  end

  def test_report_shows_as_many_frames_as_asked_for
    in_report(<<~'RUBY')
      stack = ["Class#new", "block in Object#of_gem", "Array#initialize", "Array.new", "Object#of_gem", "Object#of_app", "Object#of_other"]
      assert_equal stack.first(3) + ["app:Object#of_app"], below
      (0..7).each { |count| assert_equal stack.first(count), below(frames: count, app: nil) }
      assert_equal stack, below(frames: 100).first(7)
      assert_raise(ArgumentError) { below(frames: -1) }
      assert_raise(TypeError) { below(frames: "x") }
    RUBY
  end

  def test_report_marks_the_first_application_frame_unless_it_is_there_already
    in_report(<<~'RUBY')
      own = File.join(HERE, "app")
      [own, Pathname(own), "#{own}/", "app", ["/nowhere", own], [Pathname("/x"), [own]], [nil, own]].each do |app|
        assert_equal ["app:Object#of_app"], below(frames: 0, app: app), app.inspect
        assert_equal 5, below(frames: 5, app: app).grep_v(/app:/).size
        assert_equal "app:Object#of_app", below(frames: 5, app: app).last
        assert_equal [], below(frames: 6, app: app).grep(/app:/)
      end
      assert_equal ["app:Object#of_other"], below(frames: 0, app: [File.join(HERE, "other")])
      ["/nowhere", "#{HERE}/ap"].each { |app| assert_equal ["app:<main>"], below(frames: 0, app: app), "what has no directory" }
      [nil, false, []].each { |app| assert_equal [], below(frames: 0, app: app), app.inspect }
      [1, /own/, [true]].each { |app| assert_raise(TypeError) { below(app: app) } }
    RUBY
  end

  # Also after the program went elsewhere; gems do not count, unless they are asked for.
  def test_report_takes_for_the_application_what_lies_where_the_program_started
    in_report(<<~'RUBY')
      assert_equal ["app:Object#of_app"], below(frames: 0)
      Dir.chdir("/")
      assert_equal ["app:Object#of_app"], below(frames: 0, app: true)
      assert_equal ["app:Object#of_app"], below(frames: 0, app: HERE)
      assert_equal ["app:Class#new"], below(frames: 0, app: File.join(HERE, "vendor/gems/gem-1.0"))
      assert_equal ["app:<main>"], below(frames: 0, app: File.join(HERE, "vendor"))
      assert_match(/^by line of the application \(group: :app\):$/, report)
      assert_match(%r{  app/own\.rb:1:in 'Object#of_app'$}, report)
      assert_no_match(/application/, report(app: nil))
    RUBY
  end

  # MRI's own code, and eval's text.
  def test_report_passes_over_what_has_no_file
    in_directory do
      write_file("script.rb", <<~'RUBY')
        ObjectSpace::HeapProfile.start(interval: 1, malloc_interval: 0)
        $kept = eval("[1].map { Array.new(1000) { Object.new } }")
        ObjectSpace::HeapProfile.snapshot.report(frames: 1, limit: 1, group: :site, by: :inuse_objects)
      RUBY
      ran = run_ruby("--disable-gems", "script.rb")
      assert_clean ran
      assert_match(%r{\(eval at script\.rb:2\):1:in 'Class#new'\n   app: script\.rb:2:in 'Kernel#eval'$}, ran.out)
    end
  end

  # Names that do not fit together are compared as bytes, and shown escaped.
  def test_report_meets_paths_in_any_encoding
    in_report(<<~'RUBY')
      $kept = nil
      HeapProfile.start(interval: 1, malloc_interval: 0)
      paths = ["#{HERE}/\xE4.rb".b, "#{HERE}/\u00e4.rb", "#{HERE}/\xE4.rb".dup.force_encoding("ISO-8859-1")]
      $kept = paths.map { |path| eval("Array.new(2000) { Object.new }", nil, path) }
      $profile = HeapProfile.snapshot
      ["#{HERE}/\u00e4", "#{HERE}/\xE4".b, HERE, true].each { |app| assert_predicate report(app: app), :valid_encoding? }
      assert_equal Encoding::UTF_8, report.encoding
      assert_equal [], below(frames: 1).grep(/app:/)
    RUBY
  end

  # ---- report: rows ----

  def test_report_groups_by_what_it_is_asked
    in_report(<<~'RUBY')
      { site: "Object", class: "Object", function: "Class#new", file: "gem-1.0/gem.rb", gem: "gem-1.0", library: "(Ruby objects)",
        app: "app/own.rb:1:in 'Object#of_app'", "label:class" => "Object", "site" => "Object" }.each do |group, title|
        text = report(group: group, by: :inuse_objects, limit: 1)
        assert_match(/\A.*\n\n.* what\n +1,0\d\d .*  .*#{Regexp.escape(title)}/, text, group)
      end
      [:nonsense, "label:"].each do |group|
        error = assert_raise(ArgumentError) { report(group: group) }
        assert_equal "group: #{group} is not a group (give site, function, class, file, gem, library, app or label:KEY)", error.message
      end
    RUBY
  end

  def test_report_orders_by_what_was_called_too
    in_report(<<~'RUBY')
      text = report(sort: :cum, group: :function, by: :inuse_objects)
      values = text.lines.drop(3).filter_map { |line| line.split[3]&.delete(",") if line.match?(/^ +[\d,]+ .*%/) }.map(&:to_i)
      assert_equal values.sort.reverse, values
      assert_match(/by line of the application.*by function:/m, report(sort: "cum"))
      error = assert_raise(ArgumentError) { report(sort: :size) }
      assert_equal "sort: size is no order (give self, cum or objects)", error.message
      error = assert_raise(ArgumentError) { report(sort: :cum, group: :class) }
      assert_equal "sort: cum is for the groups function, file, gem and app", error.message
      assert_equal "profile: no label endpoint; there are: class gc_age\n", report(group: "label:endpoint").sub(" caller", "").sub(/ memsize.*/, "")
    RUBY
  end

  def test_report_looks_at_what_matches_focus_and_not_ignore
    in_report(<<~'RUBY')
      objects = ->(**options) { report(by: :inuse_objects, **options)[/inuse_objects ([\d,]+)/, 1].delete(",").to_i }
      assert_operator objects.(focus: "of_gem"), :>=, 1000
      assert_operator objects.(focus: "app/own.rb$"), :>=, 1000
      assert_equal "profile: no sample has a frame that matches nothing like it\n", report(focus: "nothing like it")
      assert_operator objects.(ignore: "of_gem"), :<, 100
      assert_equal objects.(), objects.(focus: nil, ignore: nil)
      error = assert_raise(ArgumentError) { report(ignore: "(") }
      assert_match(/\Aignore: \(: [^\n]+\z/, error.message)
      assert_raise(TypeError) { report(focus: /x/) }
      assert_raise(ArgumentError) { report(focus: "a\0b") }
    RUBY
  end

  def test_what_an_extension_asks_for_is_of_its_gem_and_library
    in_report(<<~'RUBY')
      require "fileutils"
      built = $LOAD_PATH.map { |directory| "#{directory}/-test-/heapprof_blocks.so" }.find { |file| File.exist?(file) }
      FileUtils.mkdir_p("extensions/x86_64-linux/3.4.0/thing-1.2")
      FileUtils.cp(built, "extensions/x86_64-linux/3.4.0/thing-1.2/heapprof_blocks.so")
      require "#{Dir.pwd}/extensions/x86_64-linux/3.4.0/thing-1.2/heapprof_blocks"
      HeapProfile.start(interval: 1)
      address = HeapProfBlocks.malloc(3 << 20)
      $profile = HeapProfile.snapshot(gc: true)
      assert_match(/^ +3\.00 MB .*  thing-1\.2$/, report(group: :gem, by: :inuse_space))
      assert_match(/^ +3\.00 MB .*  heapprof_blocks\.so$/, report(group: :library, by: :inuse_space))
      HeapProfBlocks.free(address)
    RUBY
  end

  # A table of symbols is as large as all code has made it: its line is not charged for it.
  def test_report_charges_no_line_for_a_table_of_the_vm
    in_report(<<~'RUBY')
      $kept = Array.new(20_000) { |i| :"symbol number #{i}" }
      HeapProfile.start(interval: 1)
      $more = Array.new(50_000) { |i| :"another symbol #{i}" }
      $profile = HeapProfile.snapshot(gc: true)
      %i[app site function file gem].each do |group|
        assert_match(/^ +[\d.]+ MB .*  \[VM\] symbols$/, report(group: group, by: :inuse_space), group)
      end
      assert_match(/^\[VM\] is memory of Ruby's own tables/, report(by: :inuse_space))
      assert_not_match(/\[VM\]/, report(by: :inuse_space, ignore: "VM", limit: 0))
      HeapProfile.stop
      profile = HeapProfile.profile(interval: 1) { $again = Array.new(50_000) { |i| :"yet another #{i}" } }
      assert_includes profile.map(&:owner), "Array"
    RUBY
  end

  def test_limit_is_how_many_rows
    in_report(<<~'RUBY')
      rows = ->(limit) { report(group: :class, by: :alloc_objects, limit: limit).lines.grep(/^ .*%/).size }
      assert_equal [1, 2], [rows.(1), rows.(2)]
      assert_operator rows.(0), :>, 2
      assert_match(/^\d+ more rows? \(limit: 0 shows all\)/, report(group: :class, by: :alloc_objects, limit: 1))
      [-1, 1 << 40].each { |limit| assert_raise_with_message(ArgumentError, /limit: out of range/) { report(limit: limit) } }
      assert_raise(ArgumentError) { report(by: :nonsense) }
      assert_raise(ArgumentError) { report(nonsense: 1) }
    RUBY
  end

  # Where only one of the two has owners, what has not changed is no growth.
  def test_report_of_a_difference_is_of_what_grew
    in_child(SETUP + <<~'RUBY')
      HeapProfile.start(interval: 1)
      def few = Array.new(10) { "x" * 5000 }
      def many = Array.new(30) { "x" * 5000 }
      $few = few
      before = HeapProfile.snapshot(gc: true, owners: true)
      $few = nil
      $many = many
      after = HeapProfile.snapshot(gc: true, rss: true)
      HeapProfile.stop
      grown = after - before
      GC.start
      text = StringIO.new.tap { |io| grown.report(io, focus: "few|many", app: nil) }.string
      assert_match(/\Aearlier to later: inuse_space grew by [\d.]+ kB/, text)
      assert_match(/growth +old +new/, text)
      signs = text.lines.grep(/str_enc_new/).map { |line| line.to_f <=> 0 }
      assert_equal [1, -1], signs
      assert_equal 30, $many.size
    RUBY
  end

  # ---- report: where it is written to ----

  def test_lines_of_a_file_are_as_long_as_they_are_and_have_no_colour
    in_report(<<~'RUBY', env: { "TERM" => "xterm" })
      assert_no_match(/\e/, report)
      assert_operator report(width: 40).lines.map { |line| line.chomp.size }.max, :<, report.lines.map { |line| line.chomp.size }.max
      File.open("out", "w") { |file| $profile.report(file) }
      assert_equal report, File.read("out", encoding: "utf-8")
      File.open("out", "w:utf-16le") { |file| $profile.report(file) }
      assert_equal report, File.binread("out").force_encoding("utf-16le").encode("utf-8")
      [-1, "x"].each { |width| assert_raise(ArgumentError, TypeError) { report(width: width) } }
      closed = File.open("out")
      closed.close
      assert_raise(IOError) { $profile.report(closed) }
    RUBY
  end

  def test_a_terminal_has_its_width_and_colours_unless_no_color_is_set
    { {} => true, { "NO_COLOR" => "1" } => false, { "TERM" => "dumb" } => false, { "NO_COLOR" => "" } => true }.each do |env, colour|
      in_report(<<~"RUBY", env: { "TERM" => "xterm", "COLUMNS" => nil }.merge(env))
        require "pty"
        require "io/console"
        text = PTY.open do |master, terminal|
          terminal.winsize = [40, 50]
          $profile.report(terminal, group: :class, limit: 2)
          terminal.close
          text = +""
          begin
            loop { text << master.readpartial(4096) }
          rescue Errno::EIO, EOFError
          end
          text
        end
        assert_equal #{colour}, text.include?("\e[")
        assert_operator text.gsub(/\e\\[\\d*m/, "").force_encoding("utf-8").lines.map { |line| line.chomp.size }.max, :<=, 80
      RUBY
    end
  end
end
