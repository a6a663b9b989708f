# frozen_string_literal: true

# missed.rb - the write barriers that MRI's suites have found missing: each has to be known, with its reason, and those
# that always come have to be there, so that a check which sees nothing is no pass.
#
#   missed.rb FILE LOG PART    what RUBY_WBCHECK=out=FILE has written, and the suite's own output; one in PART of its files ran

require_relative "suite"

# What MRI 3.4 misses, in its core and its extensions (doc/upstream-bugs.md).
KNOWN = {
  /\AJSON::Ext::Generator::State \(.*\) -> .*, in JSON::Ext::Generator::State#(?:_configure|initialize_copy)\z/ =>
    "generator.c stores what it is configured with in a protected struct",
  /\ADate(?:Time)? \(.*\) -> .*, in Date#initialize_copy\z/ => "date_core.c copies the struct",
  /\AFiddle::Pointer \(fiddle\/pointer\+0x28\) -> .*, in Fiddle::Pointer#free=\z/ => "pointer.c has another function fill the field in",
  /\AFiddle::MemoryView \(fiddle\/memory_view\+0x0\) -> .*, in Fiddle::MemoryView#initialize\z/ =>
    "memory_view.c has rb_memory_view_get fill the field in, whose registry holds the object meanwhile",
  /\AT_IMEMO\(iseq\) -> T_IMEMO\(iseq\)\z/ =>
    "set_relation in iseq.c stores local_iseq and parent_iseq; they are older than the iseq, so old before it is",
  /\A<iClass> -> T_IMEMO\(ment\)\z/ =>
    "ensure_origin in class.c gives a class's methods to its new origin; a moment later they are not the class's any more",
  /\AHash -> / => "obj_traverse_rec in ractor.c puts what it has seen into a Hash by st_insert; the object it begins at holds all of that"
}.freeze

# The suite's own processes are bound to find these.
CERTAIN = /\AJSON::Ext::Generator::State .*#_configure\z/

file, log, part = ARGV
tests = tests_in(log, least: 10_000 / Integer(part))

reports = File.read(file, encoding: "BINARY").split(/^ruby: write barrier/).grep(/\A missed: /).to_h do |report|
  what, *stack = report.delete_prefix(" missed: ").lines
  [what.chomp, stack.grep(/\A    /)]
end
fail! "no missed barrier of JSON::State: nothing was checked" if reports.keys.grep(CERTAIN).empty?

KNOWN.each { |pattern, reason| puts "#{reports.keys.grep(pattern).size} places: #{reason}" }
unknown = reports.reject { |what,| KNOWN.keys.any? { |pattern| pattern.match?(what) } }
unknown.each { |what, stack| puts "unknown: #{what}", stack }
puts "write barriers: #{tests} tests, #{reports.size} places at which one is missed, #{unknown.size} unknown"
exit unknown.empty?
