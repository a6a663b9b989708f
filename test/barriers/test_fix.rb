# frozen_string_literal: true
#
# test_fix.rb - heapprof barriers --fix: the diff applies and compiles, only the stores that it named are left, and the extension
# stops crashing.

require_relative "lib/barriers_command"

class TestBarriersFix < Test::Unit::TestCase
  include BarriersCommand

  RUBY = [EnvUtil.rubybin, "--disable-gems"].freeze

  # A store, and what it becomes.
  FIXES = {
    "pair->first = value;" => "RB_OBJ_WRITE(self, &pair->first, value);",
    "pair->first = value; /* why */" => "RB_OBJ_WRITE(self, &pair->first, value); /* why */",
    "pair->list[pair->number + 1] = value;" => "RB_OBJ_WRITE(self, &pair->list[pair->number + 1], value);",
    "if (value) pair->first = value;" => "if (value) RB_OBJ_WRITE(self, &pair->first, value);",
    "pair->first =\n        f(value, ';'); pair->number = 1;" => "RB_OBJ_WRITE(self, &pair->first, f(value, ';')); pair->number = 1;",
    "f(value, 0); // why\n    pair->first = value;" => "f(value, 0); // why\n    RB_OBJ_WRITE(self, &pair->first, value);",
    "f(value, '\"');\n#if 1\n    pair->first = value;\n#endif" => "f(value, '\"');\n#if 1\n    RB_OBJ_WRITE(self, &pair->first, value);\n#endif",
    "VALUE *slot = &pair->second;\n    *slot = value;" => "VALUE *slot = &pair->second;\n    RB_OBJ_WRITE(self, slot, value);",
    "pair->point = *other;" => "pair->point = *other;\n    RB_OBJ_WRITTEN(self, Qundef, pair->point.label);",
    "pair->point = *other; // all" => "pair->point = *other; // all\n    RB_OBJ_WRITTEN(self, Qundef, pair->point.label);",
    "if (value) pair->point = *other;" => "if (value) { pair->point = *other; RB_OBJ_WRITTEN(self, Qundef, pair->point.label); }",
    "memcpy(&pair->point, other, sizeof(*other));" => "memcpy(&pair->point, other, sizeof(*other));\n    RB_OBJ_WRITTEN(self, Qundef, pair->point.label);",
    "struct point *point = &pair->point;\n    *point = *other;" =>
      "struct point *point = &pair->point;\n    *point = *other;\n    RB_OBJ_WRITTEN(self, Qundef, point->label);",
  }.freeze

  # A store that is left to people, and the reason.
  BY_HAND = {
    "pair->first = pair->second = value;" => "it assigns more than once",
    "f(0, 0), pair->first = value;" => "it is not a statement of its own",
    "f(pair->first = value, 0);" => "it is not a statement of its own",
    "pair->first = value, pair->number = 1;" => "it is more than an assignment",
    "STORE(pair, value);" => "it is in a macro",
    "take(&pair->first);" => "it is neither an assignment nor a copy",
    "other->label = value;" => "the function has no name for the object",
    "*pair = *get_pair(value);" => "the copied field has no name there",
  }.freeze

  FIXES.each_with_index do |(before, after), i|
    define_method(:"test_fix_#{i}") { assert_equal(source(after), fixed(source(before)), before) }
  end

  BY_HAND.each_with_index do |(before, why), i|
    define_method(:"test_by_hand_#{i}") do
      in_source(source(before)) do |path|
        result = fix(path)
        assert_empty(result.out, before)
        assert_match(/^heapprof barriers: it\.c:\d+: fix this by hand: #{why}$/, result.err)
        assert_equal(1, result.status)
      end
    end
  end

  # A function that stores and has no name for the object; its caller; and what the caller becomes.
  SET = "static void set(struct pair *pair, VALUE value) { pair->first = value; }"
  FILL = "static VALUE fill(struct pair *pair, VALUE value) { pair->first = value; return f(rb_str_new_cstr(\"\"), 0); }"
  BOTH = "static void set(struct pair *pair, VALUE value) { pair->first = value; pair->second = value; }"
  COPY = "static void set(struct pair *pair, const struct point *other) { pair->point = *other; }"
  EACH = "static int fill(VALUE key, VALUE value, VALUE to) { ((struct pair *)to)->first = value; return 0; }"
  UNPROTECT = "RB_OBJ_WB_UNPROTECT(self); /* fill() stores there */"
  CALLS = [
    [SET, "set(pair, value);", "set(pair, value);\n    RB_OBJ_WRITTEN(self, Qundef, pair->first);"],
    [SET, "set(pair,\n        value); // why", "set(pair,\n        value); // why\n    RB_OBJ_WRITTEN(self, Qundef, pair->first);"],
    [SET, "set(get_pair(self), value);", "set(get_pair(self), value);\n    RB_OBJ_WRITTEN(self, Qundef, pair->first);"],
    [BOTH, "set(pair, value);", "set(pair, value);\n    RB_OBJ_WRITTEN(self, Qundef, pair->first);\n    RB_OBJ_WRITTEN(self, Qundef, pair->second);"],
    [COPY, "set(pair, other);", "set(pair, other);\n    RB_OBJ_WRITTEN(self, Qundef, pair->point.label);"],
    [FILL, "fill(pair, value);", "#{UNPROTECT}\n    fill(pair, value);"],
    [FILL, "VALUE result = fill(pair, value);", "#{UNPROTECT}\n    VALUE result = fill(pair, value);"],
    [FILL, "return fill(pair, value);", "#{UNPROTECT}\n    return fill(pair, value);"],
    [EACH, "rb_hash_foreach(value, fill, (VALUE)pair);", "#{UNPROTECT}\n    rb_hash_foreach(value, fill, (VALUE)pair);"],
  ].freeze
  CALLS_BY_HAND = [
    [FILL, "if (value) fill(pair, value);"], [FILL, "if (fill(pair, value)) return self;"], [FILL, "if (value)\n        fill(pair, value);"],
    [FILL, "if (self != value) f(self, 0);\n    else fill(pair, value);"], [FILL, "fill(pair, value);\n    if (value) fill(pair, value);"],
  ].freeze

  CALLS.each_with_index do |(function, before, after), i|
    define_method(:"test_call_#{i}") { assert_equal(source(after, function), fixed(source(before, function)), before) }
  end

  CALLS_BY_HAND.each_with_index do |(function, before), i|
    define_method(:"test_call_by_hand_#{i}") do
      in_source(source(before, function)) do |path|
        result = fix(path)
        assert_empty(result.out, before)
        assert_match(/: fix this by hand: the call that leads to it does not begin a line$/, result.err)
      end
    end
  end

  # ---- types ----

  # An initialiser, and what it becomes.
  TYPES = {
    'static const rb_data_type_t type = {"it", {mark, free}, 0, 0, RUBY_TYPED_FREE_IMMEDIATELY};' =>
      'static const rb_data_type_t type = {"it", {mark, free}, 0, 0, RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED};',
    'static const rb_data_type_t type = {"it", {mark, free}, 0, 0, 0};' => 'static const rb_data_type_t type = {"it", {mark, free}, 0, 0, RUBY_TYPED_WB_PROTECTED};',
    'static const rb_data_type_t type = {"it", {mark, free}};' => 'static const rb_data_type_t type = {"it", {mark, free}, .flags = RUBY_TYPED_WB_PROTECTED };',
    "const rb_data_type_t type = {\n    .function = {.dmark = mark},\n    .flags = 0, // none\n};" =>
      "const rb_data_type_t type = {\n    .function = {.dmark = mark},\n    .flags = RUBY_TYPED_WB_PROTECTED, // none\n};",
    "const rb_data_type_t type = {\n    .wrap_struct_name = \"it\",\n    .function = {mark},\n};" =>
      "const rb_data_type_t type = {\n    .wrap_struct_name = \"it\",\n    .function = {mark},\n    .flags = RUBY_TYPED_WB_PROTECTED,\n};",
    "const rb_data_type_t type = {\n    .function = {mark}\n};" => "const rb_data_type_t type = {\n    .function = {mark},\n    .flags = RUBY_TYPED_WB_PROTECTED\n};",
    "const rb_data_type_t type = {\n    \"it\", {mark},\n#if 1\n    0, 0, RUBY_TYPED_FREE_IMMEDIATELY,\n#endif\n};" =>
      "const rb_data_type_t type = {\n    \"it\", {mark},\n#if 1\n    0, 0, RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED,\n#endif\n};",
  }.freeze
  TYPE = 'static const rb_data_type_t type = {"it", {mark, free}, 0, 0, RUBY_TYPED_FREE_IMMEDIATELY};'

  # Code beside a type that could be WB_PROTECTED, and the reason for which it does not become so.
  TYPES_BY_HAND = {
    [TYPE, "take(&it->value);"] => "it is neither an assignment nor a copy",
    [TYPE, "give(it);"] => "its data is passed to a function that is not in these sources",
    [TYPE, "fill(it, value);"] => "a GC may start in a function that has no name for the object",
    [TYPE, "it->value = value, it->number = 1;"] => "it is more than an assignment",
    ['static const rb_data_type_t type = {"it", {mark, free}, &parent_type, 0, RUBY_TYPED_FREE_IMMEDIATELY};', ""] => "its parent type's functions store into it, too",
    ["#define TYPE static const rb_data_type_t type = {\"it\", {mark, free}, 0, 0, 0}\nTYPE;", ""] => "it is in a macro",
    ['static const rb_data_type_t type = {"it", {mark, free}, 0, 0, sizeof(int) ? 0 : 1};', ""] => "its initialiser is written in a way that is not understood",
  }.freeze

  TYPES.each_with_index do |(before, after), i|
    define_method(:"test_type_#{i}") do
      in_source(type(before, "it->value = value;")) do |path|
        assert_equal(["", 0], fix(path).then { |result| [result.out, result.status] })
        patch(File.dirname(path), fix(path, "--all"))
        assert_equal(type(after, "RB_OBJ_WRITE(self, &it->value, value);"), File.read(path))
        result = barriers("--flags=#{HEADERS}", path)
        assert_equal(["", 0], [result.out, result.status])
        assert_match(/1 of 2 types of typed data is WB_PROTECTED$/, result.err)
      end
    end
  end

  TYPES_BY_HAND.each_with_index do |((declaration, code), why), i|
    define_method(:"test_type_by_hand_#{i}") do
      in_source(type(declaration, code)) do |path|
        result = fix(path, "--all")
        assert_empty(result.out, code)
        assert_match(/^heapprof barriers: it\.c:\d+: 'type' is not made WB_PROTECTED: #{why}$/, result.err)
      end
    end
  end

  def test_a_type_stays_if_a_file_cannot_be_read
    in_source(type(TYPE, "it->value = value;") + "int broken = ;\n") do |path|
      result = fix(path, "--all")
      assert_equal(["", 2], [result.out, result.status])
      assert_match(/it\.c: no type is made WB_PROTECTED: some of its code could not be read$/, result.err)
    end
  end

  # Many hunks, near and far, at both ends of a file without a newline at its end.
  def test_hunks
    random = Random.new(1)
    lines = (1..400).map { |i| random.rand(12).zero? ? "VALUE f#{i}(VALUE self, VALUE value) { get_pair(self)->first = value; return self; }" : "int i#{i};" }
    lines << "VALUE last(VALUE self, VALUE value) { get_pair(self)->second = value; return self; }"
    before = "#{PAIR}#{lines.join("\n")}"
    after = before.gsub(/get_pair\(self\)->(\w+) = value;/, 'RB_OBJ_WRITE(self, &get_pair(self)->\1, value);')
    assert_equal("#{after}\n", fixed(before))
  end

  def test_nothing_to_fix
    in_source(PAIR) { |path| assert_equal(["", 0], fix(path).then { |result| [result.out, result.status] }) }
  end

  def test_it_cannot_be_combined
    %w[--json --sarif --confirm].each { |option| assert_equal(2, barriers("--fix", option, RULES).status) }
  end

  def test_a_file_outside_the_current_directory_stays
    in_source(source("pair->first = value;")) do |path|
      result = barriers("--fix", "--flags=#{HEADERS}", path)
      assert_empty(result.out)
      assert_match(/fix this by hand: its file is not below the current directory$/, result.err)
    end
  end

  # The fixture: all stores but one are fixed. The collector misses none of those after it.
  def test_the_extension_of_the_tests
    mended("#{TOP}/test/ext/confirm", %w[confirm.c], "-test-/heapprof_confirm", left: [["part.elements[]", "part.plain"]]) do |path|
      script = %(require "-test-/heapprof_confirm"; it = HeapProfConfirm.new; 4.times { GC.start }; it.plain("-" * 50); it.again("-" * 50);
                 it.last("-" * 50); it.element(1, "-" * 50); it.behind("-" * 50); puts "done")
      assert_match(/5 missed/, check("-e", script)[1])
      assert_equal(["done\n", ""], check("-I", path, "-e", script))
    end
  end

  def test_date_as_released
    mended("#{MRI}/ext/date", %w[date_core.c date_parse.c date_strftime.c date_strptime.c], "date_core", left: []) do |path|
      assert_mended(path, "date")
      assert_mended(path, "datetime")
    end
  end

  # The function that stores for #configure has no name for the object.
  def test_json_as_released
    mended("#{MRI}/ext/json/generator", %w[generator.c], "json/ext/generator", left: []) do |path|
      assert_mended(path, "json", "copy")
      assert_mended(path, "json")
    end
  end

  # In this release the type is not WB_PROTECTED. With the flag its own tests pass, and the collector misses nothing in them.
  def test_strscan_becomes_protected
    made = "#{BUILD}/ext/strscan"
    mended("#{MRI}/ext/strscan", %w[strscan.c], "strscan", left: [], options: %w[--all], flags: "-I#{made} -include #{made}/extconf.h") do |path|
      assert_match(/RUBY_TYPED_WB_PROTECTED$/, File.read("#{path}/../strscan.c"))
      out, err = check("-I", path, "-I", "#{MRI}/test/lib", "-I", "#{MRI}/tool/lib", "-r", "test/unit", "#{MRI}/test/strscan/test_stringscanner.rb")
      assert_match(/[1-9]\d+ tests, .* 0 failures, 0 errors/, out)
      assert_equal("", err)
    end
  end

  private

  # A type that could be WB_PROTECTED; its parent is not known.
  def type(declaration, code)
    <<~C
      #include <ruby.h>
      struct it { VALUE value; long number; };
      extern void take(VALUE *value);
      extern void give(struct it *it);
      static void mark(void *it) { rb_gc_mark(((struct it *)it)->value); }
      static void parent_mark(void *it) { give(it); }
      static const rb_data_type_t parent_type = {"parent", {parent_mark}};
      #define free RUBY_DEFAULT_FREE
      #{declaration}
      static void fill(struct it *it, VALUE value) { it->value = value; rb_gc_start(); }
      VALUE made(VALUE klass) { fill(0, 0); return rb_data_typed_object_zalloc(klass, sizeof(struct it), &type); }
      VALUE
      store(VALUE self, VALUE value)
      {
          struct it *it = (struct it *)rb_check_typeddata(self, &type);

          #{code}
          return self;
      }
    C
  end

  def source(text, function = "")
    <<~C
      #{PAIR}#define STORE(pair, value) (pair)->first = (value)
      extern VALUE f(VALUE value, int letter);
      #{function}
      extern void take(VALUE *value);
      VALUE
      store(VALUE self, VALUE value, struct point *other)
      {
          struct pair *pair = get_pair(self);

          #{text}
          return self;
      }
    C
  end

  def fix(path, *options) = Dir.chdir(File.dirname(path)) { barriers("--fix", *options, "--flags=#{HEADERS} -I#{File.dirname(path)}", File.basename(path)) }

  # The text with the changes in it.
  def fixed(text)
    in_source(text) do |path|
      patch(File.dirname(path), fix(path))
      assert_equal([[], 0], barriers("--flags=#{HEADERS}", path).then { |result| [result.told, result.status] })
      return File.read(path)
    end
  end

  def patch(directory, result)
    out, status = Open3.capture2e("patch", "-s", "-p1", stdin_data: result.out, chdir: directory)
    assert_equal(["", true], [out, status.success?], result.out)
  end

  # Fixes a copy of the sources, builds it, and yields the directory to load it from. left: the fields that are still reported.
  def mended(source, files, feature, left:, options: [], flags: "")
    in_directory do |directory|
      FileUtils.cp(Dir["#{source}/*.{c,h}"], directory)
      flags = "#{HEADERS} -I#{MRI} -I#{source}/.. -I#{source}/../fbuffer #{flags}"
      Dir.chdir(directory) do
        patch(directory, barriers("--fix", *options, "--flags=#{flags}", *files))
        assert_equal(left, barriers("--flags=#{flags}", *files).told.map(&:fields))
        FileUtils.mkdir_p(File.dirname("made/#{feature}"))
        out, status = Open3.capture2e("cc", "-shared", "-fPIC", "-w", *flags.split, *files, "-o", "made/#{feature}.so")
        assert(status.success?, out)
      end
      yield "#{directory}/made"
    end
  end

  def check(*arguments)
    out, err, = Open3.capture3({ "RUBY_WBCHECK" => "1" }, *RUBY, *arguments)
    [out, err]
  end

  def assert_mended(path, name, *arguments)
    script = ["#{TOP}/doc/upstream-bugs/#{name}-write-barriers.rb", *arguments]
    assert_match(/try to mark T_NONE object/, Open3.capture2e(*RUBY, *script)[0])
    assert_equal(["", true], Open3.capture2e(*RUBY, "-I", path, *script).then { |out, status| [out, status.success?] })
    assert_equal(["", ""], check("-I", path, *script))
  end
end
