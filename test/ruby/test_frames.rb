# frozen_string_literal: true

# test_frames.rb - the stack of a sample (vm/names/frames.c): frame by frame what MRI's own backtrace has
# at that moment, whatever the code; and what becomes of stacks deeper than depth.

require_relative "lib/heapprof_test"

class TestHeapProfFrames < Test::Unit::TestCase
  include HeapProfTest

  FIXTURE = File.join(__dir__, "lib/frames_fixture.rb")
  FILES = {
    "loaded.rb" => "Here.mark\ndef from_loaded = Here.mark\nfrom_loaded\n[1].each { Here.mark }\n",
    "required.rb" => "Here.mark\nclass FromRequired\n  Here.mark\n  def self.mark = Here.mark\nend\nFromRequired.mark\n" \
                     "require_relative 'deeper'\n",
    "deeper.rb" => "module Deeper\n  [1].each { Here.mark }\nend\n",
    "autoloaded.rb" => "module Autoloaded\n  Here.mark\n  def self.mark = Here.mark\nend\n",
  }

  def assert_fixture_agrees(*args)
    in_directory do |directory|
      FILES.each { |name, text| write_file(name, text) }
      ran = run_ruby("--disable-gems", *args, env: { "FIXTURE_FILES" => directory })
      assert_clean ran
      assert_match(/\A(2\d\d) stacks compared\n\z/, ran.out)
    end
  end

  def test_stacks_are_those_of_mris_backtraces
    assert_fixture_agrees(FIXTURE)
  end

  def test_stacks_are_those_of_mris_backtraces_by_the_other_parser
    assert_fixture_agrees("--parser=parse.y", FIXTURE)
  end

  def test_stacks_are_those_of_mris_backtraces_from_a_relative_path
    in_directory do |directory|
      FileUtils.cp(FIXTURE, "copy.rb")
      %w[backtrace.rb frames_inside.rb].each { |name| FileUtils.cp(File.join(__dir__, "lib", name), name) }
      FILES.each { |name, text| write_file(name, text) }
      File.symlink("copy.rb", "link.rb")
      %w[copy.rb ./copy.rb link.rb].each do |path|
        ran = run_ruby("--disable-gems", path, env: { "FIXTURE_FILES" => directory })
        assert_clean ran
        assert_match(/\A2\d\d stacks compared\n\z/, ran.out)
      end
    end
  end

  def test_frames_of_e_and_stdin_scripts_have_their_paths
    script = "def leak = Array.new(3) { Object.new }; $kept = leak"
    in_directory do
      assert_clean run_ruby("--disable-gems", "-e", script, heapprof: "interval=1,out=e.pb.gz")
      assert_clean run_ruby("--disable-gems", stdin: script, heapprof: "interval=1,out=stdin.pb.gz")
      assert_equal [["-e", 1]], read_profile("e.pb.gz").frames_of("Object#leak").map { |frame| [frame.path, frame.lineno] }
      assert_equal [["-", 1]], read_profile("stdin.pb.gz").frames_of("Object#leak").map { |frame| [frame.path, frame.lineno] }
    end
  end

  # eval may begin at any line. What is below 0 is unknown, which is 0.
  def test_lines_below_0_are_unknown
    script = <<~'RUBY'
      class Item; end
      $kept = eval("def make = Item.new\n" * 5 + "[make, Item.new]\n" + "\n" * 4 + "Item.new.then { |item| [make, item] }", nil, "f", -5)
    RUBY
    %w[prism parse.y].each do |parser|
      profile_script("#{script}$stdout << $kept.size", "--parser=#{parser}") do |path, _, ran|
        assert_equal "2", ran.out
        profile = read_profile(path)
        assert_equal [0], profile.frames_of("Object#make").map(&:lineno).uniq, parser
        refute_match(/42949\d{5}/, pprof("-raw", path), parser)
      end
      in_child(<<~'RUBY', "--parser=#{parser}")
        HeapProfile.start(interval: 1)
        before = eval("Object.new", nil, "f", -5)
        after = eval("\n\n\nObject.new", nil, "f", -1)
        lines = [before, after].map { |object| HeapProfile.allocation_stack(object).find { |frame| frame.path == "f" }.lineno }
        assert_equal [0, 2], lines
      RUBY
    end
  end

  # depth frames are kept, innermost first; what is cut off has one name, outermost.
  def test_stacks_deeper_than_depth_are_truncated_and_counted
    in_child(<<~'RUBY')
      class Item; end
      def recurse(n) = n == 0 ? Item.new : recurse(n - 1)
      [1, 2, 10, 11].each do |depth|
        HeapProfile.start(interval: 1, depth: depth)
        kept = recurse(30)
        profile = HeapProfile.snapshot
        frames = rows(profile, class_name: "Item").first.frames.map(&:label)
        inner = ["Class#new"] + ["Object#recurse"] * (depth - 1)
        assert_equal inner + ["[truncated]"], frames
        assert_operator HeapProfile.stat(:truncated), :>=, 1
        assert kept
        HeapProfile.stop
      end
    RUBY
  end

  def test_stacks_as_deep_as_depth_are_whole
    in_child(<<~'RUBY')
      class Item; end
      def recurse(n) = n == 0 ? Item.new : recurse(n - 1)
      whole = ["Class#new"] + ["Object#recurse"] * 8 + ["block in <main>", "Array#each", "<main>"]
      HeapProfile.start(interval: 1, depth: whole.size)
      kept = nil
      [1].each { kept = recurse(7) }
      frames = rows(HeapProfile.snapshot, class_name: "Item").first.frames.map(&:label)
      assert_equal whole, frames
      assert kept
    RUBY
  end

  def test_truncated_stacks_of_the_same_innermost_frames_are_one_site
    in_child(<<~'RUBY')
      class Item; end
      def recurse(n) = n == 0 ? Item.new : recurse(n - 1)
      HeapProfile.start(interval: 1, depth: 5)
      kept = Array.new(50) { |i| recurse(100 + i) }
      found = rows(HeapProfile.snapshot, class_name: "Item")
      assert_equal [1, 50], [found.size, found.sum(&:inuse_objects)]
      assert_equal 50, kept.size
    RUBY
  end

  # What a stack shares with the one before is known from its outermost frame, whole or cut.
  def test_whole_and_truncated_stacks_in_alternation_do_not_mix
    in_child(<<~'RUBY')
      class Item; end
      def red(n) = n == 0 ? Item.new : green(n - 1)
      def green(n) = n == 0 ? [Item.new].first : red(n - 1)
      HeapProfile.start(interval: 1, depth: 10)
      random = Random.new(5)
      wanted = Hash.new(0)
      kept = Array.new(3000) do |i|
        first, depth = %i[red green].rotate(i / 7), random.rand(12)
        inner = Array.new(depth + 1) { |level| "Object##{first[level % 2]}" }.reverse
        stack = ["Class#new", *inner, *caller_locations(0).map(&:label)]
        wanted[stack.size > 10 ? stack.first(10) + ["[truncated]"] : stack] += 1
        send(first[0], depth)
      end
      found = rows(HeapProfile.snapshot, class_name: "Item").group_by { |sample| sample.frames.map(&:label) }
      assert_equal wanted, found.transform_values { |group| group.sum(&:inuse_objects) }
      assert_operator wanted.keys.count { |stack| stack.last == "[truncated]" }, :>=, 4
      assert_operator wanted.keys.count { |stack| stack.last == "<main>" }, :>=, 4
      assert_equal 3000, kept.size
    RUBY
  end

  def test_very_deep_stacks_are_whole_when_depth_allows
    in_child(<<~'RUBY')
      class Item; end
      def recurse(n) = n == 0 ? Item.new : recurse(n - 1)
      HeapProfile.start(interval: 1, depth: 65_535)
      kept = recurse(5000)
      frames = rows(HeapProfile.snapshot, class_name: "Item").first.frames
      assert_equal 5003, frames.size
      assert_equal 0, HeapProfile.stat(:truncated)
      assert kept
    RUBY
  end

  # The walk reuses what it shares with the stack before; so stacks that alternate are the test.
  def test_stacks_in_alternation_do_not_mix
    in_child(<<~'RUBY')
      class Item; end
      def red(n) = n == 0 ? Item.new : green(n - 1)
      def green(n) = n == 0 ? [Item.new].first : blue(n - 1)
      def blue(n) = n == 0 ? Item.new.itself : red(n - 1)
      COLOURS = %w[red green blue]
      HeapProfile.start(interval: 1)
      random = Random.new(4)
      wanted = Hash.new(0)
      kept = Array.new(3000) do
        first, depth = random.rand(3), random.rand(12)
        wanted[Array.new(depth + 1) { |i| "Object##{COLOURS[(first + i) % 3]}" }] += 1
        send(COLOURS[first], depth)
      end
      found = rows(HeapProfile.snapshot, class_name: "Item").group_by do |sample|
        sample.frames.map(&:label).select { |label| label.match?(/#(red|green|blue)\z/) }.reverse
      end
      assert_equal wanted, found.transform_values { |group| group.sum(&:inuse_objects) }
      assert_equal 3000, kept.size
    RUBY
  end

  def test_c_methods_called_from_one_place_in_alternation_do_not_mix
    in_child(<<~'RUBY')
      receivers = [Struct.new(:a).new(1), "x".match(/x/), Time.at(0)]
      HeapProfile.start(interval: 1)
      kept = Array.new(50) { receivers.map { |receiver| receiver.to_a } }
      profile = HeapProfile.snapshot
      %w[Struct#to_a MatchData#to_a Time#to_a].each do |label|
        found = rows(profile, class_name: "Array").select { |sample| sample.frames.first.label == label }
        assert_equal 50, found.sum(&:inuse_objects), label
      end
      assert_equal 50, kept.size
    RUBY
  end

  def test_stacks_of_threads_and_fibers_in_turn_do_not_mix
    in_child(<<~'RUBY')
      class Item; end
      def in_thread(kept) = 200.times { kept << Item.new; Thread.pass }
      def in_fiber(kept) = loop { kept << Item.new; Fiber.yield }
      HeapProfile.start(interval: 1)
      kept = []
      threads = Array.new(3) { Thread.new { in_thread(kept) } }
      fiber = Fiber.new { in_fiber(kept) }
      200.times { fiber.resume; Thread.pass }
      threads.each(&:join)
      profile = HeapProfile.snapshot
      assert_equal 800, kept.size
      assert_equal 600, total(profile, class_name: "Item", label: "Object#in_thread")
      assert_equal 200, total(profile, class_name: "Item", label: "Object#in_fiber")
      rows(profile, class_name: "Item", label: "Object#in_thread").each do |sample|
        assert_equal "block (2 levels) in <main>", sample.frames.last.label
      end
    RUBY
  end

  def test_frames_in_a_file_are_those_of_the_snapshot
    in_directory do
      path = write_file("script.rb", <<~'RUBY')
        class Item; end
        class Maker
          def make = [1].map { Item.new }
        end
        ObjectSpace::HeapProfile.start(interval: 1)
        kept = Maker.new.make
        profile = ObjectSpace::HeapProfile.snapshot
        profile.write("p.pb.gz")
        item = profile.find { |sample| sample.class_name == "Item" }
        puts item.frames.map { |frame| "#{frame.label} #{frame.path} #{frame.lineno}" }
      RUBY
      ran = run_ruby("--disable-gems", path)
      assert_clean ran
      frames = read_profile("p.pb.gz").where(class_name: "Item").first.frames
      assert_equal ran.out.lines(chomp: true), frames.map { |frame| frame.to_a.join(" ") }
      assert_include frames.map(&:to_a), ["Maker#make", path, 3]
    end
  end
end
