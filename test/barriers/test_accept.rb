# frozen_string_literal: true
#
# test_accept.rb - heapprof barriers: stores that somebody accepts, by a comment at the store or by a line of a file.

require_relative "lib/barriers_command"

class TestBarriersAccept < Test::Unit::TestCase
  include BarriersCommand

  # Four stores. Behind each is a place for a comment; above the second one is a line for it.
  def source(first: "", above: "", second: "")
    <<~C
      #{PAIR}
      VALUE
      one(VALUE self, VALUE value)
      {
          struct pair *pair = get_pair(self);
          pair->first = value; #{first}
          #{above}
          pair->second = value; #{second}
          return self;
      }
      VALUE
      two(VALUE self, VALUE value)
      {
          get_pair(self)->first = value;
          get_pair(self)->second = value;
          return self;
      }
    C
  end

  LINES = [7, 9, 15, 16].freeze

  def test_a_comment_at_the_store_accepts_it
    ["/* heapprof: no barrier: held by owner */", "// heapprof: no barrier: held by owner", "/** heapprof: no barrier:held by owner*/ int x;"].each do |comment|
      result = look(source(first: comment))
      assert_equal(LINES - [7], result.told.map(&:line), comment)
      assert_match(/: 3 stores without a write barrier, and 1 accepted; 1 of 1 type/, result.err)
      assert_equal([1, 1], [result.status, result.err.lines.size])
    end
  end

  def test_a_comment_in_a_line_of_its_own_accepts_the_next_one
    assert_equal(LINES - [9], look(source(above: "/* heapprof: no barrier: held */")).told.map(&:line))
    assert_equal(LINES - [7], look(source(first: "// heapprof: no barrier: of this one alone")).told.map(&:line))
  end

  def test_accepted_stores_are_reported_with_all
    result = look(source(second: "/* heapprof: no barrier: held by owner */"), "--all")
    told = result.told.find { |each| each.line == 9 }
    assert_equal("note", told.sure)
    assert_match(/ \(accepted: held by owner\)\z/, told.why)
    finding = JSON.parse(look(source(second: "/* heapprof: no barrier: held by owner */"), "--json").out)["extensions"][0]["findings"][1]
    assert_equal(["held by owner", false, "note"], finding.values_at("accepted", "missing", "severity"))
    sarif = JSON.parse(look(source(second: "/* heapprof: no barrier: held by owner */"), "--sarif").out)["runs"][0]["results"]
    assert_equal([nil, [{ "kind" => "inSource", "justification" => "held by owner" }], nil, nil], sarif.map { |each| each["suppressions"] })
  end

  def test_no_barrier_is_missing_when_all_stores_are_accepted
    result = look(source, accept: "it.c:*:* all of them")
    assert_equal([[], 0], [result.told, result.status])
    assert_match(/: 0 stores without a write barrier, and 4 accepted;/, result.err)
  end

  def test_a_comment_that_accepts_nothing_is_reported
    result = look(source(first: "/* heapprof: no barrier: */") + "/* heapprof: no barrier: of nothing */\nint x;\n")
    assert_equal(LINES, result.told.map(&:line))
    assert_match(/it\.c:7: warning: "heapprof: no barrier:": it gives no reason$/, result.err)
    assert_match(/it\.c:19: warning: "heapprof: no barrier:": it accepts nothing$/, result.err)
    text = look(source + %(const char *x = "heapprof: no barrier: in a string";\n))
    assert_equal(1, text.err.lines.size)
  end

  # A line of the file, and which of LINES it accepts.
  ACCEPTED = {
    "it.c:one:first why" => [7],
    "it.c:one:* why" => [7, 9],
    "it.c:*:second why" => [9, 16],
    "*:one:second why" => nil,
    "/it.c:two:first why" => [15],
    "t.c:two:first why" => nil,
    "it.c:two:third why" => nil,
    "it.c:three:* why" => nil,
  }.freeze

  def test_lines_of_a_file
    ACCEPTED.each do |line, lines|
      result = look(source, accept: "# a comment\n\n  #{line}\n")
      assert_equal(LINES - Array(lines), result.told.map(&:line), line)
      assert_equal(lines.nil?, result.err.match?(/accept:3: warning: it accepts nothing$/), line)
    end
    sarif = JSON.parse(look(source, "--sarif", accept: "it.c:one:first it is held").out)["runs"][0]["results"]
    assert_equal([{ "kind" => "external", "justification" => "it is held" }], sarif[0]["suppressions"])
  end

  def test_lines_of_another_form
    ["it.c", "it.c:one:first", "it.c:one why", "::: why", "it.c::first why", "it.c:one: why"].each do |line|
      result = look(source, accept: "#\n#{line}\n")
      assert_match(/\Aheapprof barriers: \S+accept:2: expected PATH:FUNCTION:FIELD REASON\n\z/, result.err, line)
      assert_equal(["", 2], [result.out, result.status])
    end
    result = look(source, accept: "a:b:c d\n" * 10_001)
    assert_match(/accept: more than 10000 lines\n\z/, result.err)
    assert_match(/accept cannot be read\n\z/, look(source, accept: "a:b:c \0\n").err)
    assert_match(/--accept: \/nonexistent cannot be read$/, look(source, "--accept=/nonexistent").err)
  end

  # An accepted store explains a barrier that the collector missed.
  def test_an_accepted_store_that_is_confirmed_is_reported
    accept = "confirm.c:*:* not now"
    in_directory do |directory|
      File.write("#{directory}/accept", accept)
      script = %(require "-test-/heapprof_confirm"; it = HeapProfConfirm.new; 4.times { GC.start }; it.plain("-" * 50))
      result = barriers("--accept=#{directory}/accept", "--confirm", "#{BUILD}/ext/-test-/heapprof_confirm", "--", EnvUtil.rubybin, "--disable-gems", "-e", script)
      lines = result.out.lines[1..]
      assert_equal([1, 0], [lines.size, result.status])
      assert_match(/\Aconfirmed  note .*part\.plain/, lines[0])
    end
  end

  private

  def look(text, *options, accept: nil)
    in_source(text) do |path|
      if accept
        File.write("#{File.dirname(path)}/accept", accept)
        options += ["--accept=#{File.dirname(path)}/accept"]
      end
      return barriers("--flags=#{HEADERS}", *options, path)
    end
  end
end
