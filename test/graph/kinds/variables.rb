# frozen_string_literal: true

# variables.rb - an object in a variable of each kind.

class Kinds
  kind "constant", "IN_CONSTANT = THING", /constant IN_CONSTANT/
  kind "nested constant", "module Deep; module Er; KEPT = THING; end; end", /Deep::Er::KEPT/
  kind "constant of a singleton class", "module OfMeta; class << self; IN_META = THING; end; end", /OfMeta.*IN_META/
  kind "private constant", "module Hides; HIDDEN = THING; private_constant :HIDDEN; end", /Hides::HIDDEN/
  kind "global", "$in_global = THING", /\$in_global\b/
  kind "alias of a global", "$aliased = THING; alias $another_name $aliased", /\$aliased|\$another_name/
  kind "ivar of $stdin", "$stdin.instance_variable_set(:@kept_in_stdin, THING)", /@kept_in_stdin/
  kind "class ivar", "class HasIvar; @kept = THING; end", /@kept of HasIvar|HasIvar.*@kept/
  kind "module ivar", "module AlsoIvar; @kept = THING; end", /@kept of AlsoIvar|AlsoIvar.*@kept/
  kind "class variable", "class HasCvar; @@kept = THING; end", /@@kept/
  kind "class variable of a superclass", "class CvarBase; @@from_base = 1; end; class CvarSub < CvarBase; @@from_base = THING; end", /@@from_base/
  kind "ivar", "class Holder; def initialize(kept) = @kept = kept; end; HOLDER = Holder.new(THING)", /HOLDER -> @kept/
  kind "ivar of main", "TOPLEVEL_BINDING.receiver.instance_variable_set(:@kept_by_main, THING)", /@kept_by_main/
  kind "one ivar of fifty", <<~'RUBY', /MANY_IVARS -> @v37/
    MANY_IVARS = Object.new
    50.times { |i| MANY_IVARS.instance_variable_set("@v#{i}", i == 37 ? THING : i) }
  RUBY
  kind "ivar of an object without a shape", <<~'RUBY', /SHAPELESS -> @kept/
    SHAPELESS = Object.new
    2000.times { |i| SHAPELESS.instance_variable_set("@s#{i}", i) }
    SHAPELESS.instance_variable_set(:@kept, THING)
  RUBY
  kind "ivar of an Array", "IVAR_OF_ARRAY = []; IVAR_OF_ARRAY.instance_variable_set(:@kept, THING)", /IVAR_OF_ARRAY -> @kept/
  kind "ivar of a String", "IVAR_OF_STRING = +''; IVAR_OF_STRING.instance_variable_set(:@kept, THING)", /IVAR_OF_STRING -> @kept/
  kind "ivar of a Proc", "IVAR_OF_PROC = proc {}; IVAR_OF_PROC.instance_variable_set(:@kept, THING)", /IVAR_OF_PROC -> @kept/
  kind "ivar of a singleton class", "IVAR_OF_META = Object.new; IVAR_OF_META.singleton_class.instance_variable_set(:@kept, THING)", /IVAR_OF_META.*@kept/
  kind "ivar of a Thread", "Thread.main.instance_variable_set(:@kept_on_thread, THING)", /@kept_on_thread/
  kind "local of the main program", "TOPLEVEL_BINDING.local_variable_set(:in_toplevel, THING)", /local in_toplevel/
  kind "two globals", "$two_one = $two_two = THING", /\$two_one/, /\$two_two/, ordered: false
  kind "a constant and a global", "BOTH = [THING]; $both = BOTH[0]", /constant BOTH -> \[0\]/, /\$both/, ordered: false
  kind "a constant, and a variable of it", "class TwoWays; FIRST = THING; @second = FIRST; end", /TwoWays::FIRST/, /@second/, ordered: false
  kind "a constant, and the stack of a thread", <<~RUBY, /constant ON_STACK_TOO/
    ON_STACK_TOO = [THING]
    Thread.new { on_stack = ON_STACK_TOO[0]; Thread.stop }
  RUBY
  kind "a constant, and self of a frame", <<~RUBY, /constant SELF_OF_FRAME/
    SELF_OF_FRAME = THING
    class CLASS; def wait = Thread.stop; end
    Thread.new { SELF_OF_FRAME.wait }
  RUBY
  kind "a far constant, and a near local", <<~RUBY, /constant FAR.*@a.*@b/, /local near/
    FAR = Object.new
    FAR.instance_variable_set(:@a, Object.new).instance_variable_set(:@b, [[[THING]]])
    Thread.new { near = FAR.instance_variable_get(:@a).instance_variable_get(:@b)[0][0][0]; Thread.stop }
  RUBY
  kind "a constant that was used", <<~RUBY, /constant USED\b/, never: /constant cache/
    USED = THING
    def use_it = USED
    3.times { use_it }
  RUBY
  kind "the same list by two globals", "$first_list = [THING]; $second_list = $first_list", /\$(first|second)_list -> \[0\]/
end
