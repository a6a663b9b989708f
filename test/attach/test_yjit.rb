# frozen_string_literal: true
#
# test_yjit.rb - lines of code that YJIT has compiled: each is right, or it is said that it is not known.

require_relative "lib/attached"

class TestHeapprofYJIT < Test::Unit::TestCase
  include Attached

  # What the loop does that holds the program, each on a line of its own. Compiled code writes the pc for few of these.
  BODIES = {
    nothing: "i += 1",
    operators: "i = (i ^ 3) & 0xffff | 1",
    floats: "x = x * 0.5 + 1.0",
    big_integers: "big + big",
    instance_variable: "@x = @x",
    strings_equal: "text == other",
    string_size: "text.bytesize",
    string_concatenated: "text + other",
    string_interpolated: '"#{i}"',
    array_element: "array[0]",
    array_made: "[i, i]",
    hash_element: "hash[:key]",
    kind_of: "i.is_a?(String)",
    nil_p: "i.nil?",
    symbol_to_proc: "array.each(&:itself)",
    constant: "Math::PI",
    method: "cheap(i)",
    method_on_several_lines: "long(i)",
    optional_parameter: "optional(i)",
    keywords: "keywords(i, a: 1)",
    splat: "optional(*pair)",
    yields: "yields { |y| y }",
    block_of_c: "array.sort_by { |y| -y }",
    block_of_each: "array.each { |y| y + i }",
    block_of_times: "3.times { |y| y + i }",
    block_of_map: "array.map { |y| y + i }",
    proc: "callee.call(i)",
    defined_by_block: "defined_by_block(i)",
    attribute: "thing.a",
    send: "send(:cheap, i)",
    missing: "ghost.unheard_of",
    super: "thing.to_s",
    rescue_unused: "begin; cheap(i); rescue; 0; end",
    ensure: "begin; cheap(i); ensure; i += 1; end",
    raises: "begin; raise 'x'; rescue; i += 1; end",
    throws: "catch(:it) { throw :it }",
    match: "text.match?(/a+b/)",
    recursive: "recursive(5)",
    fiber: "fiber.resume",
    invalidated: "Object.send(:define_method, :again) { |y| y } if j % 500 == 1; again(i)",
    traced: "TracePoint.new(:raise) {}.enable {} if j % 500 == 1",
  }.freeze

  # The method `hold` has a loop for each body. Where n is small, all of them end; the last call stays in one.
  def program(held)
    loops = BODIES.map.with_index { |(_, body), k| "  (j = 0; while j < n; j += 1; #{body}; end) if k.nil? || k == #{k}\n  cheap(k)\n" }
    <<~RUBY
      Thing = Struct.new(:a) { def to_s = super }
      def cheap(x) = x
      def long(x)
        y = x
        y
      end
      def optional(x, y = x) = y
      def keywords(x, a:, b: x) = b
      def yields = yield(1)
      def recursive(x) = x == 0 ? 0 : recursive(x - 1)
      define_method(:defined_by_block) { |x| x }
      def a_proc = proc { |y| y }
      def a_fiber = Fiber.new { loop { Fiber.yield } }
      class Ghost
        def method_missing(name) = 1
      end
      def hold(k, n)
        i, x, big, @x, text, other, array, hash, pair = 1, 1.5, 1 << 70, 1, "aaaaaaaaaaaaac", "aaaaaaaaaaaaad", [3, 1, 2], { key: 1 }, [1, 2]
        thing, ghost = Thing.new(1), Ghost.new
        callee, fiber = a_proc, a_fiber
      #{loops.join}
      end
      20.times { hold(nil, 30) }
      $ready.call
      hold(#{BODIES.keys.index(held)}, 1 << 60)
    RUBY
  end

  # The number of the line with that text, of the program behind the prelude.
  def line_of(program, text) = program.lines.index { |line| line.include?(text) } + 2

  def setup
    super
    omit "no YJIT" if RbConfig::CONFIG["YJIT_SUPPORT"] == "no"
  end

  def held(name)
    text = program(name)
    beside(text, "--yjit", "--yjit-call-threshold=2") do |pid,|
      threads_until(pid) { |all| labels(all.first).any? { |label| label.end_with?("Object#hold") } }
      2.times { await_progress(pid) } # into the loop
      yield pid, line_of(text, BODIES[name])
    end
  end

  # The lines of the frames of `hold` that `heapprof stacks` shows of the first thread.
  def lines_of_frames(*arguments)
    threads(*arguments).first["frames"].filter_map { |frame| [frame["line"]] if frame["label"].end_with?("Object#hold") }.flatten(1)
  end

  # The lines of `hold` and its blocks in a profile: [of innermost frames, of others]; 0 is an unknown one.
  def lines_of_hold(file)
    profile = JSON.parse(heapprof!("convert", file, "--to=json").out)
    lines = profile["locations"].map do |location|
      function, line = location["lines"].first
      line if profile["functions"][function]["name"].end_with?("Object#hold")
    end
    profile["samples"].map { |sample| sample["locations"] }.then do |stacks|
      [stacks.map(&:first), stacks.flat_map { |stack| stack.drop(1) }].map { |numbers| numbers.filter_map { |number| lines[number] }.uniq }
    end
  end

  BODIES.each_key do |name|
    define_method("test_held_in_#{name}") do
      held(name) do |pid, line|
        in_directory do
          assert_equal 0, record_looks(100, pid, "--output=held.pb.gz").status
          innermost, others = lines_of_hold("held.pb.gz")
          assert_equal [], innermost - [line, 0]
          assert_equal [], others - [line]
        end
      end
    end
  end

  # These need no luck: no C code runs, or C code whose call the marks tell.
  %i[nothing operators floats instance_variable strings_equal array_element hash_element method].each do |name|
    define_method("test_the_line_is_known_in_#{name}") do
      held(name) do |pid, line|
        %w[auto always].each do |whom|
          10.times { assert_equal [line], lines_of_frames(pid, "--stop", whom).uniq, whom }
        end
      end
    end
  end

  def test_without_a_stop_the_line_is_unknown
    held(:nothing) do |pid,|
      10.times { assert_equal [nil], lines_of_frames(pid, "--stop", "never") }
      assert_match(/^    -e \(line unknown\):in 'Object#hold'$/, heapprof!("stacks", "--stop=never", pid).out)
    end
  end

  def test_a_waiting_thread_has_its_line_without_a_stop
    script = "def hold(n)\n  n.times { |i| i }\n  sleep if n > 9\nend\n30.times { hold(1) }\n$ready.call\nhold(10)"
    beside(script, "--yjit", "--yjit-call-threshold=2") do |pid,|
      threads_until(pid) { |all| all.first["state"] == "sleeping" }
      %w[auto always never].each { |whom| assert_equal [4], lines_of_frames(pid, "--stop", whom), whom }
    end
  end

  def test_a_core_tells_the_line_by_its_registers
    omit "gcore is not installed" unless system("which gcore", out: File::NULL)
    held(:nothing) do |pid, line|
      in_directory do
        assert system("gcore", "-o", "core", pid.to_s, out: File::NULL, err: File::NULL)
        assert_equal [line], lines_of_frames("--core=core.#{pid}")
      end
    end
  end

  # A loop behind a call, in a method so large that its code lies on several of YJIT's pages.
  def test_code_on_several_pages
    filling = (1..600).map { |i| "  i = i + #{i} & 0xff\n" }.join
    script = "def cheap(x) = x\ndef hold(n)\n  cheap(n)\n  i = 0\n  while n > 0\n#{filling}  n -= 1\n  end\nend\n" \
             "30.times { hold(3) }\n$ready.call\nhold(1 << 60)"
    beside(script, "--yjit", "--yjit-call-threshold=2") do |pid,|
      in_directory do
        ran = record_by_bell(pid, "--output=held.pb.gz") { |bell,| ring_as_it_runs(bell, 300, pid) }
        assert_equal 0, ran.status
        innermost, = lines_of_hold("held.pb.gz")
        assert_equal [], innermost - [0, *6..607]
        assert_operator innermost.size, :>, 50
      end
    end
  end

  # What the code of a method that has been freed said is not said of another one.
  def test_methods_that_come_and_go
    script = <<~'RUBY'
      def hold(n)
        n.times do |k|
          eval("def made(x)\n#{"\n" * (k % 50)}  i = 0\n  i += 1 while i < x\nend", TOPLEVEL_BINDING, "made", 1000 * (k % 9))
          30.times { made(100) }
        end
      end
      $ready.call
      hold(1 << 60)
    RUBY
    beside(script, "--yjit", "--yjit-call-threshold=2") do |pid,|
      in_directory do
        assert_equal 0, record_looks(300, pid, "--output=made.pb.gz", running: pid).status
        profile = JSON.parse(heapprof!("convert", "made.pb.gz", "--to=json").out)
        found = profile["locations"].map { |location| location["lines"].first }.map { |function, line| [profile["functions"][function], line] }
        made = found.select { |function, _| function["name"].end_with?("made") && function["file"] == "made" }
        assert_not_empty made
        made.each { |function, line| assert_include [0, *function["start_line"]..function["start_line"] + 53], line }
      end
    end
  end

  def test_top_says_that_a_line_is_unknown
    held(:nothing) do |pid,|
      in_directory do
        assert_equal 0, record_looks(5, pid, "--stop=never", "--output=never.pb.gz").status
        assert_match(/^ +-e \(line unknown\):in 'Object#hold'$/, heapprof!("top", "never.pb.gz").out)
      end
    end
  end
end
