# frozen_string_literal: true

# test_symbols.rb - names of the C functions that ask the allocator (vm/names/symbols.c, vm/names/symbol_names.c): whatever the program
# calls itself, and whatever has become of the files they were loaded from.

require_relative "lib/heapprof_test"

class TestHeapProfSymbols < Test::Unit::TestCase
  include HeapProfTest

  # A library that asks MRI for memory, from a function that it exports and from one that it does not.
  LIBRARY = <<~C
    void *ruby_xmalloc(unsigned long bytes);
    PADDING
    __attribute__((noinline)) static void *NAME_hidden(unsigned long bytes)
    {
        void *block = ruby_xmalloc(bytes);
        __asm__ volatile("" : : "r"(block) : "memory");
        return block;
    }
    __attribute__((noinline)) void *NAME_shown(unsigned long bytes)
    {
        void *block = ruby_xmalloc(bytes);
        __asm__ volatile("" : : "r"(block) : "memory");
        return block;
    }
    void ask(void)
    {
        NAME_hidden(1000);
        NAME_shown(1000);
        __asm__ volatile("" ::: "memory");
    }
    __attribute__((noinline)) void *NAME_again(unsigned long bytes)
    {
        void *block = ruby_xmalloc(bytes);
        __asm__ volatile("" : : "r"(block) : "memory");
        return block;
    }
    void ask_again(void)
    {
        NAME_again(1000);
        __asm__ volatile("" ::: "memory");
    }
  C
  PADDING = "int padding(int n) { return n * 3 + padding(n - 1); }"

  SETUP = <<~'RUBY'
    require "-test-/heapprof_plain"
    def callers(library) = HeapProfile.snapshot.filter_map { |row| row.caller if row.caller&.end_with?(" (#{library})") }.uniq.sort
    def start = HeapProfile.start(interval: 1 << 30, malloc_interval: 1)
    def ask(path)
      library = HeapProfPlain.load(path)
      HeapProfPlain.call(library, "ask", 1)
      library
    end
  RUBY

  def build(path, name: "lib", padding: false, after: "", options: [])
    text = LIBRARY.gsub("NAME", name).sub("PADDING", padding ? PADDING : "") + after
    source = write_file("#{path}.c", text)
    out, status = Open3.capture2e("gcc", "-shared", "-fPIC", "-O1", *options, "-o", path, source)
    assert status.success?, out
    File.expand_path(path)
  end

  # ---- the program ----

  def test_callers_in_ruby_are_named_after_its_file_whatever_the_program_calls_itself
    [%q($0 = "worker 1 [busy]"), %q(Process.setproctitle("worker (2)"))].each do |title|
      in_child(<<~RUBY)
        def take = HeapProfile.snapshot.filter_map(&:caller).uniq
        HeapProfile.start(interval: 1 << 30, malloc_interval: 1)
        #{title}
        assert_equal 10, Array.new(10) { "x" * 1000 }.size
        callers = take
        assert_include callers, "str_enc_new (ruby)"
        assert_empty callers.grep_v(/ \\((?:ruby|lib[^ ]*\\.so[.\\d]*|\\w+\\.so)\\)\\z/)
      RUBY
    end
  end

  def test_program_started_by_another_name_is_named_after_its_file
    in_directory do |directory|
      File.symlink(EnvUtil.rubybin, File.join(directory, "another"))
      script = <<~'RUBY'
        ObjectSpace::HeapProfile.start(interval: 1 << 30, malloc_interval: 1)
        kept = "x" * 10_000
        $stdout.write ObjectSpace::HeapProfile.snapshot.filter_map(&:caller).grep(/str_enc_new/).uniq
      RUBY
      ran = run_ruby("--disable-gems", "-I#{$LOAD_PATH.join(" -I")}", "-e", script, ruby: File.join(directory, "another"))
      assert_clean ran, out: '["str_enc_new (ruby)"]'
    end
  end

  # ---- files ----

  def test_static_functions_have_names
    in_directory do
      path = build("whole.so")
      in_child(SETUP + <<~RUBY)
        start
        ask(#{path.dump})
        assert_equal ["lib_hidden (whole.so)", "lib_shown (whole.so)"], callers("whole.so")
      RUBY
    end
  end

  def test_stripped_file_has_the_names_it_exports
    in_directory do
      path = build("stripped.so", options: ["-s"])
      in_child(SETUP + <<~RUBY)
        start
        ask(#{path.dump})
        assert_equal ["? (stripped.so)", "lib_shown (stripped.so)"], callers("stripped.so")
      RUBY
    end
  end

  # Names of what is loaded, never those of what has taken the file's place.
  def test_file_that_was_replaced_is_not_believed
    [["--build-id"], ["--build-id=none"]].each do |id|
      in_directory do
        options = id.map { |option| "-Wl,#{option}" }
        path = build("taken.so", options: options)
        other = build("other.so", name: "wrong", padding: true, options: options)
        in_child(SETUP + <<~RUBY)
          start
          ask(#{path.dump})
          File.rename(#{other.dump}, #{path.dump})
          assert_equal ["? (taken.so)", "lib_shown (taken.so)"], callers("taken.so")
        RUBY
      end
    end
  end

  def test_file_that_went_away_or_became_something_else
    { "File.unlink(path)" => "nothing", "File.unlink(path); File.mkfifo(path)" => "a pipe",
      "File.unlink(path); Dir.mkdir(path)" => "a directory",
      "File.unlink(path); File.write(path, '\\x7fELF' + 'x' * 10_000)" => "no object" }.each do |change, what|
      in_directory do
        path = build("gone.so")
        in_child(SETUP + <<~RUBY)
          start
          path = #{path.dump}
          ask(path)
          #{change}
          assert_equal ["? (gone.so)", "lib_shown (gone.so)"], callers("gone.so"), #{what.dump}
        RUBY
      end
    end
  end

  # Another file is where it was, the same but for its end, which has the table of sections.
  def test_file_that_was_cut_short
    in_directory do
      path = build("cut.so")
      size = File.size(path)
      in_child(SETUP + <<~RUBY)
        path = #{path.dump}
        whole = File.binread(path)
        library = HeapProfPlain.load(path)
        [0, 10, 64, 1000, 4096, #{size / 2}, #{size - 64}, #{size - 1}].each do |size|
          File.unlink(path)
          File.binwrite(path, whole[0, size])
          start
          HeapProfPlain.call(library, "ask", 1)
          assert_equal ["? (cut.so)", "lib_shown (cut.so)"], callers("cut.so"), size
          HeapProfile.stop
        end
        File.binwrite(path, whole)
        start
        HeapProfPlain.call(library, "ask", 1)
        assert_equal ["lib_hidden (cut.so)", "lib_shown (cut.so)"], callers("cut.so")
      RUBY
    end
  end

  # As above, whole, but its functions end where addresses do, or are longer than all of them.
  def test_functions_of_any_place_and_size
    in_directory do
      path = build("long.so")
      in_child(SETUP + <<~'RUBY' + <<~RUBY)
        # The entries of the symbol table: where they are in the file.
        def entries(file)
          sections, = file.unpack("@40Q")
          count, = file.unpack("@60S")
          table = count.times.map { |i| file.unpack("@#{sections + 64 * i}L2Q4") }.find { |section| section[1] == 2 }
          table[4].step(by: 24).take(table[5] / 24)
        end
      RUBY
        whole = File.binread(#{path.dump})
        library = HeapProfPlain.load(#{path.dump})
        [[0, 2**64 - 1], [2**64 - 1, 1], [2**64 - 1, 2**63], [2**64 - 2**21, 2**22 - 1]].each do |place, size|
          changed = whole.dup
          entries(whole).each { |entry| changed[entry + 8, 16] = [place, size].pack("Q2") }
          File.unlink(#{path.dump})
          File.binwrite(#{path.dump}, changed)
          start
          HeapProfPlain.call(library, "ask", 1)
          rows = HeapProfile.snapshot.select { |row| row.caller&.end_with?(" (long.so)") }
          assert_equal rows.map(&:caller).uniq, rows.map(&:caller)
          assert_not_empty rows
          HeapProfile.stop
        end
      RUBY
    end
  end

  # The very file that is loaded, behind all that is.
  def test_file_that_is_cut_short_between_two_snapshots
    in_directory do
      many = (1..4000).map { |i| "static void many_#{i}(void) __attribute__((used)); static void many_#{i}(void) {}" }
      path = build("cut.so", after: many.join("\n"))
      in_child(SETUP + <<~RUBY)
        path = #{path.dump}
        start
        library = ask(path)
        assert_equal ["lib_hidden (cut.so)", "lib_shown (cut.so)"], callers("cut.so")
        File.truncate(path, File.size(path) - 100_000)
        HeapProfPlain.call(library, "ask_again", 1)
        assert_equal ["lib_again (cut.so)", "lib_hidden (cut.so)", "lib_shown (cut.so)"], callers("cut.so")
      RUBY
    end
  end

  # ---- libraries that go ----

  def test_library_in_the_place_of_one_that_was_unloaded_has_its_own_names
    in_directory do
      paths = %w[one two].map { |name| build("#{name}.so", name: name) }
      in_child(SETUP + <<~RUBY)
        paths = #{paths.inspect}
        8.times do |i|
          name = %w[one two][i % 2]
          start
          library = ask(paths[i % 2])
          assert_equal ["\#{name}_hidden (\#{name}.so)", "\#{name}_shown (\#{name}.so)"], callers("\#{name}.so")
          HeapProfPlain.unload(library)
          HeapProfile.stop
        end
      RUBY
    end
  end

  # The same run, so callers of the first are known by addresses that are the second one's later.
  def test_with_malloc_all_a_library_that_was_unloaded_keeps_its_names_and_one_in_its_place_has_its_own
    in_directory do
      paths = %w[one two].map { |name| build("#{name}.so", name: name) }
      in_child(SETUP + <<~RUBY)
        def place_of(path) = File.foreach("/proc/self/maps").grep(/\#{Regexp.escape(path)}$/).first&.slice(/\\h+/)
        HeapProfile.start(interval: 1 << 30, malloc: :all, malloc_interval: 1)
        places = #{paths.inspect}.cycle.first(8).map do |path|
          library = ask(path)
          place = [path, place_of(path)]
          HeapProfPlain.unload(library)
          assert_nil place_of(path)
          place
        end
        assert_equal 2, places.uniq.group_by(&:last).values.map(&:size).max, places.inspect
        %w[one two].each { |name| assert_equal ["\#{name}_hidden (\#{name}.so)", "\#{name}_shown (\#{name}.so)"], callers("\#{name}.so") }
        assert_empty HeapProfile.snapshot.filter_map(&:caller).grep(/\\A\\?|one_.*two|two_.*one/)
      RUBY
    end
  end

  # dlclose in the sweep.
  def test_with_malloc_all_a_library_that_an_objects_free_function_unloads_keeps_its_names
    in_directory do
      path = build("swept.so")
      in_child(SETUP + <<~RUBY)
        require "fiddle"
        def ask_swept
          library = Fiddle::Handle.new(#{path.dump})
          library.enable_close
          Fiddle::Function.new(library["ask"], [], Fiddle::TYPE_VOID).call
        end
        HeapProfile.start(interval: 1 << 30, malloc: :all, malloc_interval: 1)
        ask_swept
        100.times { break unless File.read("/proc/self/maps").include?("swept.so"); Array.new(10) { Object.new }; GC.start }
        assert_not_include File.read("/proc/self/maps"), "swept.so"
        assert_equal ["lib_hidden (swept.so)", "lib_shown (swept.so)"], callers("swept.so")
      RUBY
    end
  end

  # ---- while others run ----

  def test_no_row_is_without_a_name_while_threads_and_ractors_bring_new_callers
    in_child(<<~'RUBY')
      Warning[:experimental] = false
      work = <<~WORK
        [proc { "x" * 1000 }, proc { Array.new(100) }, proc { Hash.new(capacity: 100) }, proc { "a".encode("UTF-16") },
         proc { :a.to_proc.dup }, proc { Class.new }, proc { 3**5000 }, proc { /a\#{rand}/ }, proc { Struct.new(:a) },
         proc { [3, 1, 2].sort_by { |n| n }.to_set }, proc { Rational(1, 3)**50 }, proc { eval("->(a) { a + 1 }") }]
      WORK
      "a".encode("UTF-16") # loads it: doc/upstream-bugs/encode-in-ractors-and-threads.rb
      stop = false
      threads = Array.new(2) { |i| Thread.new { work_list = eval(work); work_list.rotate(i).cycle { |w| w.call; break if stop } } }
      ractors = Array.new(2) { |i| Ractor.new(work, i) { |text, n| eval(text).rotate(n * 5).cycle.first(2000).each(&:call) } }
      5.times do
        HeapProfile.start(interval: 1 << 30, malloc_interval: 1)
        3.times do
          names = HeapProfile.snapshot.filter_map(&:caller).uniq
          assert_empty names.grep_v(/\A\S+ \(\S+\)\z/)
          assert_empty names.grep(/\A\? \(ruby\)/)
        end
        HeapProfile.stop
      end
      stop = true
      [*threads, *ractors].each { |each| each.is_a?(Ractor) ? each.take : each.join }
    RUBY
  end

  def test_reading_leaves_nothing_open_or_mapped
    in_child(SETUP + <<~'RUBY')
      def round
        start
        assert_equal 10_000, ("x" * 10_000).size
        HeapProfile.snapshot
        HeapProfile.stop
      end
      def open_files = Dir.children("/proc/self/fd").size
      def mapped_files = File.foreach("/proc/self/maps").count { |line| line.include?(" /") }
      round
      before = [open_files, mapped_files]
      20.times { round }
      assert_equal before, [open_files, mapped_files]
    RUBY
  end
end
