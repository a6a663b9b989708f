# frozen_string_literal: true

# code.rb - an object that a proc, a method, a class or a module keeps.

class Kinds
  kind "local of a Proc", "IN_PROC = THING.then { |caught| proc { caught } }", /IN_PROC.*local caught/
  kind "local of a lambda", "IN_LAMBDA = THING.then { |caught| -> { caught } }", /IN_LAMBDA.*local caught/
  kind "local two blocks outside", "OUTSIDE = THING.then { |caught| 1.then { |one| proc { [one, caught] } } }", /OUTSIDE.*local caught/
  kind "local that the Proc does not use", "UNUSED = THING.then { |unused| proc { 1 } }", /UNUSED.*local unused/
  kind "self of a Proc", "class CLASS; def block = proc {}; end; SELF_OF_PROC = THING.block", /SELF_OF_PROC.*self/
  kind "receiver of a Method", "class CLASS; def run = 1; end; RECEIVER = THING.method(:run)", /RECEIVER -> (receiver|self)/
  kind "Method made a Proc", "class CLASS; def run = 1; end; METHOD_PROC = THING.method(:run).to_proc", /METHOD_PROC.*(receiver|self)/
  kind "curried Proc", "CURRIED = proc { |one, two| 1 }.curry[THING]", /CURRIED/
  kind "composed Proc", "COMPOSED = THING.then { |caught| proc { caught } } >> proc { 1 }", /COMPOSED.*local caught/
  kind "local of a Binding", "IN_BINDING = THING.then { |bound| binding }", /IN_BINDING.*local bound/
  kind "local set in a Binding", "SET_BINDING = Object.new.instance_eval { binding }; SET_BINDING.local_variable_set(:added, THING)", /SET_BINDING.*local added/
  kind "self of a Binding", "class CLASS; def bound = binding; end; SELF_OF_BINDING = THING.bound", /SELF_OF_BINDING.*self/
  kind "receiver of an Enumerator", "class CLASS; def each = yield(1); end; ENUM_RECEIVER = THING.to_enum", /ENUM_RECEIVER -> (receiver|object|self)/
  kind "argument of an Enumerator", "ENUM_ARGUMENT = [1].each_with_object(THING)", /ENUM_ARGUMENT -> arg/
  kind "block of an Enumerator", "ENUM_BLOCK = THING.then { |caught| Enumerator.new { caught } }", /ENUM_BLOCK.*local caught/
  kind "lazy Enumerator", "LAZY = THING.then { |caught| (1..).lazy.map { caught } }", /LAZY.*local caught/
  kind "chain of Enumerators", "CHAIN = [THING].each + [1].each", /CHAIN.*\[0\]/
  kind "start of Enumerator.produce", "PRODUCED = Enumerator.produce(THING) { 1 }", /PRODUCED/
  kind "local of a method with a closure", "METHODS = Module.new; THING.then { |caught| METHODS.define_method(:m) { caught } }", /METHODS.*method m.*local caught/
  kind "singleton method's closure", "SINGLE = Object.new; THING.then { |caught| SINGLE.define_singleton_method(:m) { caught } }", /SINGLE.*method m.*local caught/
  kind "alias of a removed method", <<~RUBY, /ALIASED.*method kept_alias.*local caught/
    ALIASED = Class.new
    THING.then { |caught| ALIASED.define_method(:original) { caught } }
    ALIASED.alias_method(:kept_alias, :original)
    ALIASED.remove_method(:original)
  RUBY
  kind "attached object of a singleton class", "ATTACHED = THING.singleton_class", /ATTACHED -> attached/
  kind "ivar of an included module", "INCLUDER = Class.new { include(Module.new { @kept = THING }) }", /INCLUDER.*@kept/
  kind "ivar of an extended module", "EXTENDED = Object.new.extend(Module.new { @kept = THING })", /EXTENDED.*@kept/
  kind "ivar of a prepended module", "PREPENDER = Class.new { prepend(Module.new { @kept = THING }) }", /PREPENDER.*@kept/
  kind "ivar of an anonymous superclass", "SUBCLASS = Class.new(Class.new { @kept = THING })", /SUBCLASS.*super.*@kept/
  kind "class of an object", "OBJECT_OF = Class.new { @kept = THING }.new", /OBJECT_OF.*class.*@kept/
  kind "refinement", "module Refines; refine(String) { @kept = THING }; end", /Refines.*@kept/
  kind "UnboundMethod of a class", "UNBOUND = Class.new { @kept = THING; def m = 1 }.instance_method(:m)", /UNBOUND.*@kept/
  kind "at_exit block", "THING.then { |caught| at_exit { caught } }", /(at_exit|end.?proc|at exit).*local caught/i
  kind "trap handler", "THING.then { |caught| trap('USR2') { caught } }", /(trap|USR2|signal).*local caught/i
  kind "TracePoint enabled", "THING.then { |caught| TracePoint.new(:fiber_switch) { caught }.enable }", /trace.*local caught/i
  kind "TracePoint of one method", <<~RUBY, /traced_only|trace/i
    def traced_only = 1
    THING.then { |caught| TracePoint.new(:call) { caught }.enable(target: method(:traced_only)) }
  RUBY
  kind "trace_var", "$traced_global = 1; THING.then { |caught| trace_var(:$traced_global, proc { caught }) }", /\$traced_global.*local caught/
end
