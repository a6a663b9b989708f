# frozen_string_literal: true

# test_memprof_dump.rb - dump and dump_all of lib/heapprof/memprof: each field of each kind of object is what Ruby itself
# says; what is in a file, in which order, and what becomes of it when it cannot be written whole.

require "json"
require_relative "lib/heapprof_test"

class TestHeapProfMemprofDump < Test::Unit::TestCase
  include HeapProfTest

  HELPERS = <<~'RUBY'
    require "json"

    def reference(value) = HeapProfile::Reflection.reference(value)
    def references(values) = values.map { |value| reference(value) }

    def read(path) = File.read(path, encoding: "UTF-8").lines.map { |line| JSON.parse(line) }

    def all
      Memprof.dump_all("all.json")
      read("all.json")
    end

    def line(id, lines) = lines.find { |line| line["_id"] == id }

    # What the dump says of the object.
    def of(object, lines = all) = line(reference(object), lines)

    def assert_fields(expected, object, lines = all)
      expected = expected.transform_keys(&:to_s)
      assert_equal expected, of(object, lines).slice(*expected.keys)
    end
  RUBY

  def in_memprof(script, *args) = in_file(script, "heapprof/memprof", HELPERS, *args)

  # ---- objects ----

  def test_an_object_has_its_class_and_instance_variables
    in_memprof(<<~'RUBY')
      class Cart; def initialize = (@size, @owner, @state, @rate = 3, "me" + "!", :open, 1.5); end
      cart = Cart.new
      owner = cart.instance_variable_get(:@owner)
      assert_fields({ type: "object", class: reference(Cart), class_name: "Cart",
                      ivars: { "@size" => 3, "@owner" => reference(owner), "@state" => ":open", "@rate" => 1.5 } }, cart)
      anonymous = Class.new(BasicObject).new
      fields = of(anonymous)
      assert_equal [false, {}], [fields.key?("class_name"), fields["ivars"]]
      owner.instance_variable_set(:@of, cart)
      assert_fields({ ivars: { "@of" => reference(cart) } }, owner)
    RUBY
  end

  def test_what_a_program_writes_over_core_methods_is_not_called
    in_memprof(<<~'RUBY')
      class Liar < Hash
        %i[to_a length default instance_variables class hash to_json nil?].each { |name| define_method(name) { |*| exit!(1) } }
      end
      class Text < String
        %i[length bytesize encoding to_s to_json].each { |name| define_method(name) { |*| exit!(1) } }
      end
      lie = Liar.new.merge!(1 => 2)
      text = Text.new("data")
      lines = all
      assert_fields({ data: [[1, 2]], class_name: "Liar" }, lie, lines)
      assert_fields({ data: "data", class_name: "Text" }, text, lines)
    RUBY
  end

  def test_a_string_has_its_text_length_and_whom_it_shares_with
    in_memprof(<<~'RUBY')
      short, wide, broken, binary = "short" + "", "h\u00e4" + "", "\xff" + "a", [1, 200].pack("C*")
      whole = "x" * 10_000
      part = whole[100..]
      lines = all
      assert_fields({ type: "string", length: 5, bytes: 5, encoding: "UTF-8", data: "short" }, short, lines)
      assert_fields({ length: 2, bytes: 3, data: "h\u00e4" }, wide, lines)
      assert_fields({ length: 2, bytes: 2, data: broken.dump }, broken, lines)
      assert_fields({ encoding: Encoding::BINARY.name, data: binary.dump }, binary, lines)
      assert_equal [9900, part], of(part, lines).values_at("bytes", "data")
      shared = of(part, lines).fetch("shared")
      assert_equal 1, lines.count { |line| line["_id"] == shared && line["type"] == "string" }
      assert_equal false, of(short, lines).key?("shared")
    RUBY
  end

  def test_an_array_has_its_values_and_a_hash_its_pairs
    in_memprof(<<~'RUBY')
      hello = "hello" + ""
      array = [1, 2.5, true, false, nil, :name, hello, 2**70]
      long = (1..1000).to_a
      part = long.last(900)
      hash = Hash.new(hello).merge!(:a => 1, hello => [2], 3 => nil)
      made = Hash.new { |h, k| h[k] = 1 }
      lines = all
      assert_fields({ type: "array", length: 8,
                      data: [1, 2.5, true, false, nil, ":name", reference(hello), reference(array[7])] }, array, lines)
      assert_fields({ length: 900, data: (101..1000).to_a }, part, lines)
      shared = line(of(part, lines).fetch("shared"), lines)
      assert_equal ["array", *(1..1000)], [shared["type"], *shared["data"].first(1000)] # only the VM sees it
      assert_fields({ type: "hash", length: 3, default: reference(hello), default_proc: nil,
                      data: hash.map { |pair| references(pair) } }, hash, lines)
      assert_fields({ data: [], default: nil, default_proc: reference(made.default_proc) }, made, lines)
    RUBY
  end

  def test_numbers_have_their_values
    in_memprof(<<~'RUBY')
      float, tiny, infinite, none = 1.0e300 * 10, 1.0e-300 / 3, Float::INFINITY, 0.0 / 0
      big, negative = 2**64 + 1, -(3**50)
      ratio, complex = 2**70 / 3r, Complex(1, 2.5)
      lines = all
      assert_fields({ type: "float", data: float }, float, lines)
      assert_fields({ data: tiny }, tiny, lines)
      assert_fields({ data: "Infinity" }, infinite, lines)
      assert_fields({ data: "NaN" }, none, lines)
      assert_fields({ type: "bignum", negative: false, data: big.to_s }, big, lines)
      assert_fields({ negative: true, data: negative.to_s }, negative, lines)
      assert_fields({ type: "rational", data: references([ratio.numerator, 3]) }, ratio, lines)
      assert_fields({ type: "complex", data: [1, 2.5] }, complex, lines)
    RUBY
  end

  def test_regexps_matches_and_symbols_have_their_text
    in_memprof(<<~'RUBY')
      regexp = Regexp.new("a(b)" + "c", Regexp::IGNORECASE)
      match = regexp.match("xABCx")
      symbol = ("made_" + "here").to_sym
      lines = all
      assert_fields({ type: "regexp", data: "a(b)c", options: Regexp::IGNORECASE }, regexp, lines)
      assert_fields({ type: "match", data: "xABCx", regexp: reference(regexp) }, match, lines)
      assert_fields({ _id: ":made_here", type: "symbol", data: "made_here" }, symbol, lines)
    RUBY
  end

  def test_structs_have_their_members_and_ranges_their_ends
    in_memprof(<<~'RUBY')
      struct = Struct.new(:name, :size).new("n" + "", 2)
      data = Data.define(:left).new(left: :right)
      range = Range.new("a" + "", "c" + "", true)
      lines = all
      assert_fields({ type: "struct", data: { "name" => reference(struct.name), "size" => 2 } }, struct, lines)
      assert_fields({ type: "struct", data: { "left" => ":right" } }, data, lines)
      assert_fields({ data: references([range.begin, range.end]), exclude_end: true }, range, lines)
    RUBY
  end

  def test_files_have_path_mode_number_and_process
    in_memprof(<<~'RUBY')
      file = File.open("file", "a")
      both = File.open("both", "w+")
      closed = File.open("file").tap(&:close)
      child = IO.popen("cat")
      lines = all
      assert_fields({ type: "file", path: "file", mode: "a", fileno: file.fileno, pid: nil, closed: false }, file, lines)
      assert_fields({ path: "both", mode: "r+" }, both, lines)
      assert_fields({ closed: true }, closed, lines)
      assert_equal false, of(closed, lines).key?("fileno")
      assert_fields({ pid: child.pid, mode: "r" }, child, lines)
      child.close
    RUBY
  end

  # ---- classes ----

  def test_a_class_has_what_it_defines
    in_memprof(<<~'RUBY')
      module Sold; def sell = 1; end
      module Kept; end
      class Thing; end
      class Cart < Thing
        include Sold
        LIMIT = 3
        SECRET = Object.new
        private_constant :SECRET
        autoload :Later, "./never"
        deprecate_constant :LIMIT
        @ivar = :mine
        @@cvar = 7
        def add = 1
        private def hide = 2
        undef_method :sell
        def self.build = new
        class << self; attr_accessor :ivar; end
      end
      lines = all
      fields = of(Cart, lines)
      assert_fields({ type: "class", name: "Cart", class: reference(Class), super_name: "Thing", singleton: false,
                      ivars: { "@ivar" => ":mine" }, class_variables: { "@@cvar" => 7 } }, Cart, lines)
      assert_equal({ "LIMIT" => 3, "SECRET" => reference(Cart.class_eval("SECRET")), "Later" => "autoload" }, fields["constants"])
      assert_equal %w[add hide], fields["methods"].keys.sort
      assert_equal true, Cart.autoload?(:Later) ? true : false
      add = line(fields["methods"]["add"], lines)
      assert_equal ["method_entry", "add", reference(Cart)], add.values_at("type", "name", "owner")
      node = line(add["node"], lines)
      assert_equal ["node", "add", "./it.rb", Cart.instance_method(:add).source_location[1]],
                   node.values_at("type", "label", "path", "first_line").tap { |values| values[2] = values[2].sub(Dir.pwd, ".") }
      included = line(fields["super"], lines)
      assert_equal ["iclass", reference(Sold), "Sold", reference(Thing)], included.values_at("type", "module", "module_name", "super")
      assert_fields({ type: "module", name: "Sold", constants: {} }, Sold, lines)
      assert_fields({ singleton: true, attached: reference(Cart) }, Cart.singleton_class, lines)
      assert_equal %w[build ivar ivar=], of(Cart.singleton_class, lines)["methods"].keys.sort
    RUBY
  end

  def test_methods_are_those_that_ruby_lists
    in_memprof(<<~'RUBY')
      lines = all.to_h { |line| [line["_id"], line] }
      [String, Array, Comparable, Thread, JSON, JSON.singleton_class].each do |mod|
        listed = mod.instance_methods(false) + mod.private_instance_methods(false)
        assert_equal listed.map(&:name).sort, lines[reference(mod)]["methods"].keys.sort, mod.to_s
        constants = mod.constants(false)
        assert_empty constants.map(&:name) - lines[reference(mod)]["constants"].keys
      end
    RUBY
  end

  def test_a_prepended_class_has_its_own_methods
    in_memprof(<<~'RUBY')
      class Cart; prepend Module.new { def other = 1 }; def add = 1; end
      assert_equal %w[add], of(Cart)["methods"].keys
    RUBY
  end

  # ---- code ----

  def test_a_proc_has_its_receiver_and_variables
    in_memprof(<<~'RUBY')
      class Maker; def make(size) = (kept = "k" + ""; [proc { size }, lambda { |x| inner = x; -> { inner } }, kept]); end
      maker = Maker.new
      block, lambda, kept = maker.make(5)
      nested = lambda.call(9)
      by_c = :upcase.to_proc
      lines = all
      assert_fields({ type: "data", struct: "proc", lambda: false, self: reference(maker),
                      variables: { "size" => 5, "kept" => reference(kept) } }, block, lines)
      assert_equal({ "inner" => 9, "x" => 9, "size" => 5, "kept" => reference(kept) }, of(nested, lines)["variables"])
      assert_fields({ lambda: true }, by_c, lines)

      scope = line(of(nested, lines)["scope"], lines)
      assert_equal ["scope", { "x" => 9, "inner" => 9 }], scope.values_at("type", "variables")
      outer = line(scope["outer"], lines)
      assert_equal({ "size" => 5, "kept" => reference(kept) }, outer["variables"])
      assert_equal %w[scope method_entry make], [outer["type"], *line(outer["cref"], lines).values_at("type", "name")]
      assert_equal of(block, lines)["scope"], outer["_id"]
      assert_equal "block in make", line(of(block, lines)["node"], lines)["label"]
    RUBY
  end

  def test_a_method_has_its_receiver_owner_and_name
    in_memprof(<<~'RUBY')
      text = "t" + ""
      bound, unbound = text.method(:frozen?), String.instance_method(:upcase)
      lines = all
      assert_fields({ struct: "method", receiver: reference(text), owner: reference(Kernel), name: ":frozen?" }, bound, lines)
      assert_fields({ owner: reference(String), name: ":upcase" }, unbound, lines)
      assert_equal false, of(unbound, lines).key?("receiver")
    RUBY
  end

  def test_a_thread_has_its_state_and_what_it_waits_for
    in_memprof(<<~'RUBY')
      reader, _writer = IO.pipe
      queue = Thread::Queue.new
      sleeper = Thread.new { Thread.current[:a] = 1; Thread.current.thread_variable_set(:b, :c); sleep 1000.5 }
      sleeper.name = "sleeper"
      sleeper.priority = 2
      waits = { sleep: sleeper, join: Thread.new { sleeper.join(900) }, read: Thread.new { reader.read(1) },
                pop: Thread.new { queue.pop }, forever: Thread.new { sleep } }
      dead = Thread.new {}.join
      Thread.pass until waits.values.all?(&:stop?)
      lines = all
      assert_fields({ struct: "VM/thread", status: "sleep", name: "sleeper", priority: 2, main: false, current: false,
                      locals: { "a" => 1, "b" => ":c" }, wait_for: "Kernel#sleep", delay: 1000.5 }, sleeper, lines)
      assert_fields({ status: "run", main: true, current: true }, Thread.main, lines)
      assert_fields({ status: false, locals: {} }, dead, lines)
      assert_fields({ wait_for: "Thread#join", join: reference(sleeper), delay: 900.0 }, waits[:join], lines)
      assert_fields({ wait_for: "IO#read", fd: reader.fileno, wait_on: reference(reader) }, waits[:read], lines)
      assert_fields({ wait_for: "Thread::Queue#pop", wait_on: reference(queue) }, waits[:pop], lines)
      assert_equal %w[delay fd join], %w[delay fd join] - of(waits[:forever], lines).keys
    RUBY
  end

  def test_names_of_any_bytes_are_written_as_text
    in_memprof(<<~'RUBY')
      wide, nul, broken = "a\0b\u00e4".encode("UTF-16LE"), "a\0b", "\xff".b
      names = [wide, nul, broken].map(&:to_sym)
      class Odd; end
      names.each { |name| Odd.define_method(name) { 1 } }
      Thread.current[names[0]] = 1
      Thread.current.name = "\x83\x65".dup.force_encoding("Shift_JIS")
      hash = { wide => nul, names[0] => names[1] }
      lines = eval("all", binding, "\xff\0.rb")
      assert_equal [wide.dump, nul, broken.dump].sort, of(Odd, lines)["methods"].keys.sort
      assert_equal [references([hash.keys[0], nul]), [":#{wide.dump}", ":#{nul}"]], of(hash, lines)["data"]
      assert_equal({ wide.dump => 1 }, of(Thread.current, lines)["locals"].slice(wide.dump))
      assert_equal Thread.current.name.dump, of(Thread.current, lines)["name"]
      assert_includes lines.filter_map { |line| line["file"] if line["type"] == "frame" }, "\xff\0.rb".dump
    RUBY
  end

  # ---- what is not an object ----

  def test_sections_come_in_memprofs_order
    in_memprof(<<~'RUBY')
      types = all.map { |line| line["type"] }
      assert_equal %w[finalizers globals frame], types.first(3)
      assert_equal %w[lsof ps], types.last(2)
      assert_equal 1, types.chunk_while { |a, b| (a == "frame") == (b == "frame") }.count { |run| run[0] == "frame" }
    RUBY
  end

  def test_finalizers_and_globals_are_there
    in_memprof(<<~'RUBY')
      object, finalizer = Object.new, proc {}
      ObjectSpace.define_finalizer(object, finalizer)
      $cart, $number = object, 7
      lines = all
      assert_includes lines[0]["data"], [reference(object), [reference(finalizer)]]
      globals = lines[1]["variables"]
      assert_equal [reference(object), 7, reference($stdout), reference($LOADED_FEATURES)],
                   globals.values_at("$cart", "$number", "$stdout", '$"')
      assert_equal global_variables.map(&:name).sort, globals.keys.sort
    RUBY
  end

  def test_reading_globals_warns_of_nothing
    in_directory do
      assert_clean run_ruby("--disable-gems", "-w", "-rheapprof/memprof", "-e", "Memprof.dump_all('heap')"), out: ""
    end
  end

  def test_frames_of_all_threads_have_their_variables
    in_memprof(<<~'RUBY')
      class Worker; def work(queue, size) = (text = "t" + ""; queue << text; sleep); end
      worker, queue = Worker.new, Thread::Queue.new
      thread = Thread.new { worker.work(queue, 5) }
      text = queue.pop
      Thread.pass until thread.stop?
      frames = all.select { |line| line["type"] == "frame" }
      of_thread = frames.select { |frame| frame["thread"] == reference(thread) }
      assert_equal ["Kernel#sleep", "Worker#work", "block in <top (required)>"], of_thread.map { |frame| frame["method"] }
      assert_equal({ "queue" => reference(queue), "size" => 5, "text" => reference(text) }, of_thread[1]["variables"])
      assert_equal [1, reference(worker)], of_thread[1].values_at("line", "self")
      assert_equal of_thread.drop(1).map { |frame| frame["_id"] } + [nil], of_thread.map { |frame| frame["prev"] }
      own = frames.select { |frame| frame["thread"] == reference(Thread.main) }
      assert_equal ["Object#all", "<top (required)>"], own.map { |frame| frame["method"] }.first(2)
    RUBY
  end

  def test_open_files_and_memory_are_what_the_system_says
    in_memprof(<<~'RUBY')
      file = File.open("here", "w")
      lines = all
      assert_includes lines[-2]["data"], { "fd" => file.fileno, "path" => File.realpath("here") }
      memory = lines[-1]["data"]
      assert_equal [Process.pid, true], [memory["pid"], memory["vsize"] > memory["rss"]]
      assert_in_delta File.read("/proc/self/statm").split[1].to_i * 4096, memory["rss"], 50 << 20
    RUBY
  end

  def test_all_that_ruby_sees_is_there_and_nothing_is_there_twice
    in_memprof(<<~'RUBY')
      before = ObjectSpace.each_object.to_a
      ids = all.map { |line| line["_id"] }
      assert_equal ids.size, ids.uniq.size
      assert_empty before.map { |object| reference(object) } - ids
    RUBY
  end

  def test_what_is_only_allocated_is_there_without_fields
    in_memprof(<<~'RUBY')
      objects = [Regexp.allocate, IO.allocate, Class.allocate]
      lines = all
      objects.each { |object| assert_equal reference(object), of(object, lines)["_id"] }
      assert_fields({ unreadable: "uninitialized Regexp" }, objects[0], lines)
      assert_fields({ unreadable: "uninitialized stream" }, objects[1], lines)
    RUBY
  end

  # ---- lines and times ----

  def test_what_was_made_since_start_has_line_and_time
    in_memprof(<<~'RUBY')
      old = Object.new
      Memprof.start
      before = Process.clock_gettime(Process::CLOCK_REALTIME, :microsecond)
      object = Object.new
      after = Process.clock_gettime(Process::CLOCK_REALTIME, :microsecond)
      GC.compact
      lines = all
      assert_fields({ file: "#{Dir.pwd}/it.rb", line: 4 }, object, lines)
      assert_include before..after, of(object, lines)["time"]
      assert_empty of(old, lines).keys & %w[file line time]
      Memprof.stop
      assert_empty of(object).keys & %w[file line time]
    RUBY
  end

  def test_times_follow_objects_that_move_and_end_with_them
    in_memprof(<<~'RUBY')
      Memprof.start
      kept = Array.new(2000) { [Object.new, Object.new] }.map(&:first)
      times = ->(lines) { kept.map { |object| lines[reference(object)]["time"] } }
      lines = ->() { all.to_h { |line| [line["_id"], line] } }
      first = times.(lines.())
      assert_equal first.sort, first
      2.times { GC.verify_compaction_references(expand_heap: true, toward: :empty) }
      assert_equal first, times.(lines.())
      kept.clear
      GC.start
      again = Array.new(2000) { Object.new }
      now = lines.()
      assert_operator again.map { |object| now[reference(object)]["time"] }.min, :>, first.max
    RUBY
  end

  def test_with_ractors_there_is_no_time
    in_memprof(<<~'RUBY', "-W:no-experimental")
      Memprof.start
      object = Object.new
      Ractor.new { 100_000.times { Object.new } }.take
      after = Object.new
      lines = all
      assert_equal [false, false], [object, after].map { |each| of(each, lines).key?("time") }
      assert_equal [2, "Object"], of(object, lines).values_at("line", "class_name")
    RUBY
  end

  # Another ractor may be changing it.
  def test_with_ractors_only_what_is_shareable_is_looked_into
    in_memprof(<<~'RUBY', "-W:no-experimental")
      ractor = Ractor.new { hash = {}; (0..).each { |i| hash[i % 1000] = [i]; hash.delete(i * 7 % 1000); break if i == 3_000_000 } }
      frozen, open = [1, 2].freeze, [3, 4]
      lines = all
      assert_fields({ type: "array", data: [1, 2] }, frozen, lines)
      assert_fields({ type: "array", class_name: "Array" }, open, lines)
      assert_equal false, of(open, lines).key?("data")
      assert_equal "TestRactor", of(Class.new { Object.const_set(:TestRactor, self) })["name"]
      ractor.take
    RUBY
  end

  # ---- a block ----

  def test_dump_has_what_the_block_made
    in_memprof(<<~'RUBY', "--enable=frozen-string-literal")
      $before = [Object.new]
      result = Memprof.dump("d") { $kept = [1, "a" + "b"]; 3 }
      $after = Object.new
      lines = read("d")
      assert_nil result
      assert_equal %w[array string], lines.map { |line| line["type"] }.sort
      assert_equal [2], lines.map { |line| line["line"] }.uniq
      assert_fields({ data: [1, reference($kept[1])] }, $kept, lines)
      assert_fields({ data: "ab" }, $kept[1], lines)
      assert_equal [false, 0o600], [HeapProfile.running?, File.stat("d").mode & 0o777]
      assert_raise_with_message(ArgumentError, /a block is needed/) { Memprof.dump }
    RUBY
  end

  def test_without_a_file_it_is_for_people_on_stderr
    ran = run_ruby("--disable-gems", "-rheapprof/memprof", "-e", "Memprof.dump { $kept = [1, 2] }")
    assert_equal "", ran.out
    assert_equal [[1, 2]], [JSON.parse(ran.err)["data"]]
    assert_operator ran.err.lines.size, :>, 5
  end

  def test_a_block_that_raises_leaves_no_dump
    in_memprof(<<~'RUBY')
      assert_raise(IOError) { Memprof.dump("d") { raise IOError } }
      assert_equal [false, false], [File.exist?("d"), HeapProfile.running?]
    RUBY
  end

  # ---- the file ----

  def test_a_file_has_its_name_when_it_is_whole
    in_memprof(<<~'RUBY')
      File.write("heap", "before")
      File.chmod(0o644, "heap")
      seen = nil
      Memprof.singleton_class.prepend(Module.new { define_method(:globals) { seen = [Dir.children("."), File.read("heap")]; super() } })
      Memprof.dump_all("heap")
      assert_equal %w[heap heap.IN_PROGRESS it.rb], seen[0].sort
      assert_equal "before", seen[1]
      assert_equal %w[heap it.rb], Dir.children(".").sort
      assert_equal 0o600, File.stat("heap").mode & 0o777
    RUBY
  end

  def test_a_dump_that_fails_leaves_what_was_there
    in_memprof(<<~'RUBY')
      File.write("heap", "before")
      Process.setrlimit(Process::RLIMIT_FSIZE, 100_000)
      trap("XFSZ", "IGNORE")
      assert_raise(Errno::EFBIG) { Memprof.dump_all("heap") }
      assert_equal [%w[heap it.rb], "before"], [Dir.children(".").sort, File.read("heap")]
      File.write("heap.IN_PROGRESS", "another's")
      assert_raise(Errno::EEXIST) { Memprof.dump_all("heap") }
      assert_equal "another's", File.read("heap.IN_PROGRESS")
      assert_raise(Errno::ENOENT) { Memprof.dump_all("none/heap") }
    RUBY
  end

  def test_a_link_at_the_part_is_not_followed
    in_memprof(<<~'RUBY')
      File.write("victim", "mine")
      File.symlink("victim", "heap.IN_PROGRESS")
      assert_raise(Errno::EEXIST) { Memprof.dump_all("heap") }
      assert_equal "mine", File.read("victim")
    RUBY
  end

  # ---- whatever happens meanwhile ----

  # A Hash that is iterated over takes no new key, and an Array of each_object's objects keeps all of them where they are.
  def test_other_threads_change_what_is_dumped
    in_memprof(<<~'RUBY')
      hash = {}
      thread = Thread.new { (0..).each { |i| hash[i % 1000] = Object.new; hash.delete(i * 7 % 1000) } }
      GC.auto_compact = true
      all
      assert_equal true, thread.alive?
    RUBY
  end

  def test_what_only_the_vm_sees_is_read_under_gc_stress
    in_memprof(<<~'RUBY')
      kept = proc { kept }
      ObjectSpace.define_finalizer(kept, proc {})
      count = 0
      GC.stress = true
      HeapProfile::Reflection.frames(Thread.main)
      HeapProfile::Reflection.finalizers
      HeapProfile::Reflection.each_object { break if (count += 1) == 30 }
      GC.stress = false
      assert_equal 30, count
    RUBY
  end
end
