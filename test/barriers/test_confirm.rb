# frozen_string_literal: true
#
# test_confirm.rb - heapprof barriers --confirm: the findings, beside what the collector missed while a command ran.
#
# The extensions are ../ext/confirm, which has a method for each kind of store, and MRI's own date and json, whose scripts are
# in doc/upstream-bugs.

require_relative "lib/barriers_command"

class TestBarriersConfirm < Test::Unit::TestCase
  include BarriersCommand

  SUBJECT = "#{BUILD}/ext/-test-/heapprof_confirm"
  RUBY = [EnvUtil.rubybin, "--disable-gems"].freeze
  PREPARE = <<~RUBY
    require "-test-/heapprof_confirm"
    old, other = HeapProfConfirm.new, HeapProfConfirm.new
    4.times { GC.start }
    def text = "-" * 50
  RUBY

  # A script, and the functions and fields that it confirms.
  CONFIRMED = {
    "old.right(text)" => [],
    "old.plain(text)" => [%w[confirm_plain part.plain]],
    "old.again(text)" => [%w[confirm_again part.plain]],
    "old.last(text)" => [%w[confirm_last last]],
    "old.last(nil)" => [],
    "old.element(2, text)" => [%w[confirm_element part.elements[]]],
    "old.behind(text)" => [%w[confirm_behind behind->object]],
    "old.far(text)" => [%w[confirm_far far]],
    "old.each(1 => text)" => [%w[each_i last]],
    "other.plain(text); old.take(other)" => [%w[confirm_plain part.plain], %w[confirm_take part.plain]],
    "fork { old.plain(text) }; Process.wait" => [%w[confirm_plain part.plain]],
    "warn text; puts text; old.plain(text); exit 3" => [%w[confirm_plain part.plain]],
    "old.plain(text); $stderr.flush; Process.kill(:KILL, $$)" => [%w[confirm_plain part.plain]],
  }.freeze

  CONFIRMED.each_with_index do |(script, wanted), i|
    define_method(:"test_confirmed_#{i}") do
      findings = json(script)["extensions"][0]["findings"]
      told = findings.group_by { |each| each["verdict"] }.transform_values { |each| each.map { |one| one.values_at("function", "field") } }
      assert_equal(wanted, told["confirmed"] || [], script)
      assert_equal(ALL_STORES.sort, told.values.flatten(1).sort)
    end
  end

  ALL_STORES = [
    %w[confirm_plain part.plain], %w[confirm_again part.plain], %w[confirm_last last], %w[confirm_element part.elements[]],
    %w[confirm_behind behind->object], %w[confirm_far far], %w[each_i last], %w[confirm_take part.plain], %w[confirm_take part.elements[]],
    %w[confirm_guarded guarded], %w[fill filled], %w[confirm_either either], %w[confirm_both both], %w[store_both both], %w[confirm_spare spare],
  ].freeze

  # A script, the verdict on one store, and what barriers told of its field.
  JUDGED = {
    "3.times { old.guarded(text) }" => ["confirm_guarded", "refuted", 3, "confirm_guarded"],
    "2.times { old.filled(text) }" => ["fill", "refuted", 2, "confirm_filled"],
    "fork { old.guarded(text) }; old.guarded(text); Process.wait" => ["confirm_guarded", "refuted", 2, "confirm_guarded"],
    "old.guarded(text); GC.start; old.guarded(nil).guarded(text)" => ["confirm_guarded", "refuted", 2, "confirm_guarded"],
    # The stored value is no object, or was there before.
    "old.guarded(nil).guarded(1)" => ["confirm_guarded", "not reached", 0, nil],
    "a = text; GC.start; 3.times { old.guarded(a) }" => ["confirm_guarded", "refuted", 1, "confirm_guarded"],
    # The reference may come from another store: in the same function, in one that it calls, or anywhere.
    "old.either(text, true)" => ["confirm_either", "not reached", 1, "confirm_either"],
    "old.either(text, false)" => ["confirm_either", "not reached", 1, "confirm_either"],
    "old.both(text, true)" => ["store_both", "not reached", 1, "confirm_both"],
    "old.both(text, false)" => ["store_both", "not reached", 1, "confirm_both"],
    "old.right_spare(text)" => ["confirm_spare", "not reached", 1, "confirm_right_spare"],
    "old.right_spare(text).then { old.spare(text) }" => ["confirm_spare", "refuted", 1, "confirm_spare"],
    # A barrier was missed for the same field, too.
    "old.right(text); old.last(text)" => ["confirm_last", "confirmed", 1, "confirm_right"],
  }.freeze

  JUDGED.each_with_index do |(script, (function, *wanted)), i|
    define_method(:"test_judged_#{i}") do
      finding = json(script)["extensions"][0]["findings"].find { |each| each["function"] == function }
      assert_equal(wanted, finding.values_at("verdict", "told", "told_in"), script)
    end
  end

  def test_a_field_in_which_one_was_missed_is_not_refuted
    findings = judge(<<~LINES)
      ruby: write barrier missed: Sub (HeapProfConfirm+0x38) -> String, in HeapProfConfirm#right
      ruby: write barrier told: 5 of HeapProfConfirm+0x38, in confirm_guarded() of confirm.so
      ruby: write barrier told: 6 of HeapProfConfirm+0x40, in confirm_filled.isra.0() of confirm.so
    LINES
    assert_equal([["not reached", 5], ["refuted", 6]], %w[guarded filled].map { |field| findings.find { |each| each["field"] == field }.values_at("verdict", "told") })
  end

  # Lines that no ruby writes.
  def test_hostile_told
    findings = judge(["told: ", "told: 5", "told: 5 of ", "told: 5 of +0x38, in ", "told: 5 of HeapProfConfirm+0x38, in confirm_guarded", "told: x of A+0x8, in (",
                      "told: 5 of HeapProfConfirm+0x38, in #{"x" * 300}()", "told: 5 of #{"x" * 300}+0x38, in confirm_guarded()", "told: -1 of HeapProfConfirm, in confirm_guarded()",
                      *(0..5000).map { |i| "told: #{i} of T#{i}+0x8, in f() of g" }].map { |line| "ruby: write barrier #{line}\n" }.join)
    assert_equal([["not reached", 0]], findings.map { |each| each.values_at("verdict", "told") }.uniq)
  end

  # A memcpy of bytes that the source does not name.
  def test_what_only_the_collector_sees
    document = json("other.right(text); old.bytes(other)")
    assert_equal([{ "seen" => "HeapProfConfirm (HeapProfConfirm+0x28) -> String, in HeapProfConfirm#bytes", "field" => "last" }], document["only_seen"])
    assert_equal([["not reached"], [nil], [0]], %w[verdict seen fits].map { |key| document["extensions"][0]["findings"].map { |each| each[key] }.uniq })
  end

  def test_the_table
    result = confirm("old.plain(text); 2.times { old.guarded(text) }; old.either(text, true); other.right(text); old.bytes(other)")
    lines = result.out.lines(chomp: true)
    assert_equal(["verdict", "source", "place", "field", "type", "what the collector saw"], lines.shift.split(/ {2,}/))
    assert_equal(ALL_STORES.size, lines.grep(/\A(?:confirmed|refuted|not reached)  /).size)
    assert_match(%r{\Aconfirmed    error    \S+/confirm\.c:\d+:5 +part\.plain +confirm_type +HeapProfConfirm \(HeapProfConfirm\+0x8\) -> String, in HeapProfConfirm#plain\z},
                 lines.first)
    assert_match(/\Anot reached  error .* spare +confirm_type +\z/, lines[-2])
    assert_match(/\Aonly seen    -        - +last +- +.*\+0x28\) -> String, in HeapProfConfirm#bytes\z/, lines.last)
    assert_match(/\Arefuted      error .* guarded +confirm_type +2 stores, all told, in confirm_guarded\(\)\z/, lines.grep(/guarded/)[0])
    assert_match(/\Anot reached  error .* either +confirm_type +1 store told, in confirm_either\(\)\z/, lines.grep(/either/)[0])
    assert_equal(1, lines.map { |line| line.index(/HeapProfConfirm |\d stores? |\d stores, |\z/) }.reject { |at| at < 90 }.uniq.size)
    assert_equal(1, result.status)
  end

  def test_sarif
    sarif = JSON.parse(confirm("old.plain(text); other.right(text); old.bytes(other)", "--sarif").out)
    stores, seen = sarif["runs"].map { |run| run["results"] }
    assert_equal({ "part.plain" => "confirmed" }, stores[0]["properties"]["verdicts"])
    assert_equal([%w[confirmed], ["not reached"]], stores.map { |each| each["properties"]["verdicts"].values.uniq }.uniq)
    assert_equal([["missed-write-barrier", "error"]], seen.map { |each| each.values_at("ruleId", "level") }.uniq)
    assert_match(/in HeapProfConfirm#bytes \(field last\)\z/, seen[0]["message"]["text"])
  end

  # A union is named by all its members. A field that is no VALUE, or of other sources, has no name.
  def test_a_field_that_only_the_collector_saw_has_a_name
    fields = { "HeapProfConfirm (HeapProfConfirm+0x18) -> String, in HeapProfConfirm#right" => "part.elements[1]",
               "HeapProfConfirm (HeapProfConfirm+0x0) -> String, in HeapProfConfirm#right" => nil,
               "HeapProfConfirm (HeapProfConfirm) -> String, in HeapProfConfirm#right" => nil,
               "Date (Date+0x8) -> Integer, in Date#hash" => "s.nth or c.nth", "Other (Other+0x8) -> String" => nil, "Array -> String" => nil }
    in_directory do |directory|
      File.write("#{directory}/lines", fields.keys.map { |text| "ruby: write barrier missed: #{text}\n" }.join)
      result = barriers("--json", "--confirm", SUBJECT, "#{BUILD}/ext/date", "--", "sh", "-c", "cat #{directory}/lines > ${RUBY_WBCHECK#*out=}")
      assert_equal(fields, JSON.parse(result.out)["only_seen"].to_h { |each| each.values_at("seen", "field") })
    end
  end

  # The extension itself lacks nothing.
  def test_what_only_the_collector_saw_is_missing_too
    command = script("other.right(text); old.bytes(other)")
    assert_equal(1, barriers("--confirm", "#{BUILD}/ext/monitor", "--", *command).status)
    assert_equal(0, barriers("--confirm", "#{BUILD}/ext/monitor", "--", *script("old.right(text)")).status)
  end

  def test_date_and_json_as_released
    date = upstream("ext/date", "date")
    assert_equal(%w[s.nth c.nth c.nth].map { |field| ["d_lite_initialize_copy", field, 3] },
                 date["confirmed"].map { |each| each.values_at("function", "field", "fits") })
    assert_equal(%w[c.sf], date["not reached"].map { |each| each["field"] })
    assert_equal([%w[c.sf]], upstream("ext/date", "datetime").values_at("confirmed").map { |each| each.map { |one| one["field"] } })
    configure = upstream("ext/json/generator", "json")
    assert_include(configure["confirmed"].map { |each| each.values_at("function", "field") }, %w[configure_state_i indent])
    assert_include(configure["not reached"].map { |each| each["function"] }, "cState_init_copy")
    copy = upstream("ext/json/generator", "json", "copy")
    assert_include(copy["confirmed"].map { |each| each.values_at("function", "field") }, %w[cState_init_copy indent])
    assert_empty(copy["confirmed"].select { |each| each["function"] == "configure_state_i" && each["seen"].include?("#initialize_copy") })
  end

  # A type of core; its file is judged alone.
  def test_time_as_released
    flags = "--flags=-I#{BUILD} #{HEADERS} -I#{MRI} -I#{Dir["#{MRI}/enc/unicode/*"].first} -DRUBY_EXPORT"
    command = [*RUBY, "#{TOP}/doc/upstream-bugs/time-write-barriers.rb"]
    findings = JSON.parse(barriers("--json", flags, "--confirm", "#{MRI}/time.c", "--", *command).out)["extensions"][0]["findings"]
    assert_equal([%w[time_init_copy timew]],
                 findings.select { |each| each["verdict"] == "confirmed" }.map { |each| each.values_at("function", "field") })
  end

  # ---- what is wrong ----

  def test_without_a_command
    [[SUBJECT], [SUBJECT, "--"], []].each do |rest|
      result = barriers("--confirm", *rest)
      assert_equal(["", 2], [result.out, result.status])
      assert_match(/command is missing|(DIR|COMMAND) is missing/, result.err)
    end
  end

  def test_a_command_that_does_not_run
    result = barriers("--confirm", SUBJECT, "--", "/nonexistent")
    assert_match(/^heapprof barriers: \/nonexistent: No such file or directory$/, result.err)
    assert_equal(2, result.status)
  end

  def test_a_command_without_this_ruby
    result = barriers("--confirm", SUBJECT, "--", "true")
    assert_match(/^heapprof barriers: true: none of its processes read RUBY_WBCHECK/, result.err)
    assert_equal([ALL_STORES.size, 2], [result.told.sum { |each| each.fields.size }, result.status])
  end

  # The command writes lines to the file that no ruby writes.
  def test_hostile_lines
    lines = ["ruby: write barrier missed: ", "ruby: write barrier missed: (((+0x", "ruby: write barrier missed: A (+0xzz) -> , in ", "ruby: write barrier missed: #{"x" * 5000}",
             "ruby: write barrier missed: #{" (B+0x8) -> " * 50}, in #", *(0...3000).map { |i| "ruby: write barrier missed: C#{i} (C+0x8) -> String" }]
    in_directory do |directory|
      File.write("#{directory}/lines", lines.join("\n") + "\n\0\xff".b)
      result = barriers("--json", "--confirm", SUBJECT, "--", "sh", "-c", "cat #{directory}/lines > ${RUBY_WBCHECK#*out=}")
      assert_match(/^heapprof barriers: more than 2000 places were seen: the rest is left out$/, result.err)
      assert_equal([2000, 1], [JSON.parse(result.out)["only_seen"].size, result.status])
    end
  end

  def test_nothing_is_left_behind
    setting = confirm("warn ENV['RUBY_WBCHECK']; old.plain(text)").err[/^told,out=(.*)/, 1]
    assert_path_not_exist(File.dirname(setting))
  end

  private

  def script(text) = [*RUBY, "-e", PREPARE + text]
  def confirm(text, *options) = barriers("--confirm", *options, SUBJECT, "--", *script(text))

  # The verdicts after a process has written that.
  def judge(lines)
    in_directory do |directory|
      File.write("#{directory}/lines", lines)
      result = barriers("--json", "--confirm", SUBJECT, "--", "sh", "-c", "cat #{directory}/lines > ${RUBY_WBCHECK#*out=}")
      JSON.parse(result.out)["extensions"][0]["findings"]
    end
  end

  def json(text)
    result = confirm(text, "--json")
    assert_equal(1, result.status)
    JSON.parse(result.out)
  end

  def upstream(path, name, *arguments)
    result = barriers("--json", "--confirm", "#{BUILD}/#{path}", "--", *RUBY, "#{TOP}/doc/upstream-bugs/#{name}-write-barriers.rb", *arguments)
    assert_equal(1, result.status)
    findings = JSON.parse(result.out)["extensions"][0]["findings"]
    findings.select { |each| each["missing"] }.group_by { |each| each["verdict"] }
  end
end
