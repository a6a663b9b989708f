# frozen_string_literal: true
#
# test_mri.rb - findings in MRI's own sources, which are pinned: the barriers that they lack, and each barrier that they have, once it
# is removed.
#
# A barrier is removed in a copy of the file: RB_OBJ_WRITE becomes a store, RB_OBJ_WRITTEN nothing. It is found if something is
# reported that was not reported before. To remove all at once, a header does it, and the file stays as it is.

require_relative "lib/barriers_command"

class TestBarriersMri < Test::Unit::TestCase
  include BarriersCommand

  STRIPPED = <<~'C'
    #include <ruby.h>
    #define STRIPPED_WRITE(object, slot, value) (*(VALUE *)(slot) = (VALUE)(value))
    #define STRIPPED_WRITTEN(object, old, value) ((void)(object), (void)(value))
  C
  STRIPPED_ALL = <<~'C'
    #undef RB_OBJ_WRITE
    #undef RB_OBJ_WRITTEN
    #define RB_OBJ_WRITE STRIPPED_WRITE
    #define RB_OBJ_WRITTEN STRIPPED_WRITTEN
  C

  # A file, how many of its barriers are found, and why the rest is not.
  IMMEDIATE = /RB_OBJ_WRITE\(.*, (?:Qnil|INT2FIX\(0\))\);|RB_OBJ_WRITE\(.*INT2FIX\(0\)\);\\$/
  USE_PACK = "not compiled: USE_PACK is defined"
  EXTENSIONS = {
    "ext/date/date_core.c" => [12, { 341 => USE_PACK, 365 => USE_PACK, 368 => USE_PACK, 398 => USE_PACK, 430 => USE_PACK }],
    "ext/json/generator/generator.c" => [10, {}],
    "ext/stringio/stringio.c" => [3, {}],
    "ext/monitor/monitor.c" => [4, {}],
    "ext/fiddle/pointer.c" => [6, {}],
    "ext/fiddle/pinned.c" => [1, {}],
  }.freeze
  CORE = {
    "enumerator.c" => [25, {}],
    "error.c" => [6, {}],
    "io_buffer.c" => [3, {}],
    "dir.c" => [1, {}],
    "time.c" => [5, {}],
    "vm_backtrace.c" => [9, { 745 => "what is stored is an rb_iseq_t *, not a VALUE" }],
  }.freeze

  def test_stock_date_misses_barriers_in_initialize_copy
    result = extension("ext/date")
    assert_equal([[5150, %w[s.nth]], [5154, %w[c.nth]], [5177, %w[c.nth c.sf]]], result.told.map { |each| [each.line, each.fields] })
    assert_equal([["error", "copy", "d_lite_type"]], result.told.map { |each| [each.sure, each.parent, each.type] }.uniq)
    assert_equal(1, result.status)
  end

  def test_stock_json_misses_barriers_in_initialize_copy_and_configure
    told = extension("ext/json/generator").told
    copy, configure = told.partition { |each| each.why.include?("cState_init_copy") }
    assert_equal((1129..1134).to_a, copy.map(&:line))
    assert_equal([%w[array_nl indent object_nl space space_before], ["error"]], [copy.first.fields, copy.map(&:sure).uniq])
    assert_equal((1494..1498).to_a, configure.map(&:line))
    assert_equal([["error", "self"]], configure.map { |each| [each.sure, each.parent] }.uniq)
  end

  def test_stock_stringio_and_monitor_miss_none
    assert_equal([[], 0], extension("ext/stringio").then { |result| [result.told, result.status] })
    assert_equal([[], 0], extension("ext/monitor").then { |result| [result.told, result.status] })
  end

  # rb_memory_view_get stores into the struct that it gets; get_freefunc stores at the address that it gets.
  def test_stock_fiddle_misses_barriers_in_memory_view_and_free
    told = extension("ext/fiddle").told.to_h { |each| [each.file, [each.line, each.fields, each.sure]] }
    assert_equal({ "memory_view.c" => [114, %w[view.obj], "warning"], "pointer.c" => [48, ["wrap[]"], "error"] }, told)
  end

  # json 2.9.1 has no barriers there, and needs none. --all reports what protection would take.
  def test_the_parser_of_json_is_not_protected
    assert_empty(extension("ext/json/parser").told)
    told = extension("ext/json/parser", "--all").told
    assert_equal(%w[note], told.map(&:sure).uniq)
    assert_operator(told.map(&:fields).flatten.uniq.size, :>=, 7)
  end

  # wb_check counts RB_OBJ_WRITTEN in groups: by function.
  def test_the_groups_of_wb_check
    { "ext/date/date_core.c" => 3, "ext/json/generator/generator.c" => 1, "ext/stringio/stringio.c" => 1 }.each do |path, groups|
      lines = File.readlines("#{MRI}/#{path}")
      numbers = lines.each_index.select { |index| lines[index].include?("RB_OBJ_WRITTEN(") }
      numbers = numbers.slice_when { |one, other| other - one > 1 }.to_a
      assert_equal(groups, numbers.size, path)
      numbers.each { |group| assert_operator(new_without(path, group), :>=, 1, "#{path}:#{group.first + 1}") }
    end
  end

  EXTENSIONS.merge(CORE).each do |path, (count, reasons)|
    define_method(:"test_each_barrier_of_#{path.tr("/.", "_")}") do
      lines = File.readlines("#{MRI}/#{path}")
      sites = lines.each_index.select { |index| lines[index].match?(/RB_OBJ_WRIT(?:E|TEN)\(/) }
      missed = sites - found(path, sites)
      unexplained = missed.reject { |index| reasons[index + 1] || IMMEDIATE.match?(lines[index]) }
      assert_empty(unexplained.map { |index| "#{path}:#{index + 1}: #{lines[index]}" })
      assert_equal(count, sites.size - missed.size)
    end
  end

  def test_all_barriers_at_once_taken_away_by_a_header
    { "ext/date/date_core.c" => 12, "ext/json/generator/generator.c" => 6, "ext/stringio/stringio.c" => 3,
      "ext/monitor/monitor.c" => 4 }.each do |path, places|
      stock = look(path, "#{MRI}/#{path}", STRIPPED).told
      told = look(path, "#{MRI}/#{path}", STRIPPED + STRIPPED_ALL).told
      assert_operator((told.map(&:line) - stock.map(&:line)).uniq.size, :>=, places, path)
    end
  end

  private

  def extension(path, *options) = barriers(*options, "#{BUILD}/#{path}")

  # The number of places that are reported only if the barriers of those lines are removed.
  def new_without(path, indices)
    in_directory do |directory|
      lines = File.readlines("#{MRI}/#{path}")
      indices.each { |index| lines[index] = lines[index].gsub("RB_OBJ_WRIT", "STRIPPED_WRIT") }
      copy = "#{directory}/#{File.basename(path)}"
      File.write(copy, lines.join)
      return (look(path, copy, STRIPPED).told - stock(path)).size
    end
  end

  def found(path, sites)
    found = Queue.new
    stock(path)
    each_at_once(sites) { |index| found << index if new_without(path, [index]) > 0 }
    Array.new(found.size) { found.pop }
  end

  def stock(path) = (@stock ||= {})[path] ||= look(path, "#{MRI}/#{path}", STRIPPED).told

  # A file that stands for the one at path.
  def look(path, file, header)
    in_directory do |directory|
      File.write("#{directory}/stripped.h", header)
      result = barriers("--all", "--flags=#{flags(path)} -include #{directory}/stripped.h", file)
      assert_empty(result.err.lines.grep_v(/WB_PROTECTED$/), path)
      return result
    end
  end

  def flags(path)
    directory = File.dirname(path)
    return "-I#{BUILD} #{HEADERS} -I#{MRI} -I#{Dir["#{MRI}/enc/unicode/*"].first} -DRUBY_EXPORT" if directory == "."
    extconf = File.exist?("#{BUILD}/#{directory}/extconf.h") ? %q(-DRUBY_EXTCONF_H='"extconf.h"') : ""
    "-I#{BUILD}/#{directory} #{HEADERS} -I#{MRI}/#{directory} -I#{MRI} #{extconf}"
  end
end
