# frozen_string_literal: true
#
# test_fix.rb - heapprof barriers --fix: the diff applies, compiles, leaves nothing to tell but what was said, and the extension does
# not crash any more.

require_relative "lib/barriers_command"

class TestBarriersFix < Test::Unit::TestCase
  include BarriersCommand

  RUBY = [EnvUtil.rubybin, "--disable-gems"].freeze

  # What is written, and what it becomes.
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

  # And what is left to people, with the reason.
  BY_HAND = {
    "pair->first = pair->second = value;" => "it assigns more than once",
    "f(0, 0), pair->first = value;" => "it is no statement of its own",
    "f(pair->first = value, 0);" => "it is no statement of its own",
    "pair->first = value, pair->number = 1;" => "it is more than an assignment",
    "STORE(pair, value);" => "it is in a macro",
    "take(&pair->first);" => "it is neither an assignment nor a copy",
    "other->label = value;" => "the object has no name there",
    "*pair = *get_pair(value);" => "what is copied has no name there",
  }.freeze

  FIXES.each_with_index do |(before, after), i|
    define_method(:"test_fix_#{i}") { assert_equal(source(after), fixed(source(before)), before) }
  end

  BY_HAND.each_with_index do |(before, why), i|
    define_method(:"test_by_hand_#{i}") do
      in_source(source(before)) do |path|
        result = fix(path)
        assert_empty(result.out, before)
        assert_match(/^heapprof barriers: it\.c:\d+: to be mended by hand: #{why}$/, result.err)
        assert_equal(1, result.status)
      end
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

  def test_nothing_to_mend
    in_source(PAIR) { |path| assert_equal(["", 0], fix(path).then { |result| [result.out, result.status] }) }
  end

  def test_it_goes_alone
    %w[--json --sarif --confirm].each { |option| assert_equal(2, barriers("--fix", option, RULES).status) }
  end

  def test_what_is_not_below_the_current_directory_stays
    in_source(source("pair->first = value;")) do |path|
      result = barriers("--fix", "--flags=#{HEADERS}", path)
      assert_empty(result.out)
      assert_match(/to be mended by hand: its file is not below the current directory$/, result.err)
    end
  end

  # The fixture: all but two are mended; what the collector missed before it does not miss now.
  def test_the_extension_of_the_tests
    mended("#{TOP}/test/ext/confirm", %w[confirm.c], "-test-/heapprof_confirm", left: [%w[last], ["part.elements[]", "part.plain"]]) do |path|
      script = %(require "-test-/heapprof_confirm"; it = HeapProfConfirm.new; 4.times { GC.start }; it.plain("-" * 50); it.again("-" * 50);
                 it.last("-" * 50); it.element(1, "-" * 50); it.behind("-" * 50); puts "done")
      assert_match(/5 missed/, check("-e", script)[1])
      assert_equal(["done\n", ""], check("-I", path, "-e", script))
    end
  end

  def test_date_as_released
    mended("#{MRI}/ext/date", %w[date_core.c date_parse.c date_strftime.c date_strptime.c], "date_core", left: []) do |path|
      assert_mended(path, "date")
    end
  end

  # What #configure stores is left to people: there the function that stores knows no object.
  def test_json_as_released
    left = %w[indent space space_before object_nl array_nl].map { |field| [field] }
    mended("#{MRI}/ext/json/generator", %w[generator.c], "json/ext/generator", left: left) { |path| assert_mended(path, "json", "copy") }
  end

  private

  def source(text)
    <<~C
      #{PAIR}#define STORE(pair, value) (pair)->first = (value)
      extern VALUE f(VALUE value, int letter);
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

  def fix(path) = Dir.chdir(File.dirname(path)) { barriers("--fix", "--flags=#{HEADERS} -I#{File.dirname(path)}", File.basename(path)) }

  # The text with what is to be changed in it.
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

  # Mends a copy of the sources, builds it, yields the directory to load it from; left: the fields that are told then.
  def mended(source, files, feature, left:)
    in_directory do |directory|
      FileUtils.cp(Dir["#{source}/*.{c,h}"], directory)
      flags = "#{HEADERS} -I#{MRI} -I#{source}/.. -I#{source}/../fbuffer"
      Dir.chdir(directory) do
        patch(directory, barriers("--fix", "--flags=#{flags}", *files))
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
    refute_match(/initialize_copy/, check("-I", path, *script)[1])
  end
end
