# frozen_string_literal: true

# things.rb - an object that C code keeps; and what keeps nothing.

class Kinds
  kind "Queue", "IN_QUEUE = Queue.new << THING", /IN_QUEUE -> elements/
  kind "SizedQueue", "IN_SIZED = SizedQueue.new(3) << THING", /IN_SIZED -> elements/
  kind "Queue that a thread waits for", "WAITED = SizedQueue.new(1) << 1; Thread.new { WAITED << THING }", /thread/i
  kind "ivar of a File", "IVAR_OF_IO = File.open(__FILE__).tap { _1.instance_variable_set(:@kept, THING) }", /IVAR_OF_IO -> @kept/
  kind "string of a StringIO", "require 'stringio'; STRING_IO = StringIO.new(CLASS.new('abc'))", /STRING_IO/, base: "String"
  kind "string of a StringScanner", "require 'strscan'; SCANNER = StringScanner.new(CLASS.new('abc'))", /SCANNER/, base: "String"
  kind "Delegator", "require 'delegate'; DELEGATES = SimpleDelegator.new(THING)", /DELEGATES -> @delegate_sd_obj/
  kind "element of ARGV", "ARGV << CLASS.new('abc')", /constant ARGV/, base: "String"
  kind "element of $LOAD_PATH", "$LOAD_PATH << CLASS.new('/nowhere/kept')", /\$:|LOAD_PATH/, base: "String"
  kind "element of $LOADED_FEATURES", "$LOADED_FEATURES << CLASS.new('/nowhere/kept.rb')", /\$"|LOADED_FEATURES/, base: "String"
  kind "value of a WeakKeyMap", "WEAK_KEY = Object.new; WEAK_KEYS = ObjectSpace::WeakKeyMap.new; WEAK_KEYS[WEAK_KEY] = THING", /WEAK_KEYS/
  kind "finalizer of an object", "FINAL = Object.new; THING.then { |caught| ObjectSpace.define_finalizer(FINAL, proc { caught }) }", /finalizer.*local caught/i
  kind "finalizer that keeps its object", "class CLASS; def guard = ObjectSpace.define_finalizer(self, proc {}); end; THING.guard", /finalizer.*self/i, never: /LOAD_PATH|\$:/
  kind "callable object as a finalizer", "class CLASS; def call(id) = 1; end; FINAL_OBJECT = Object.new; ObjectSpace.define_finalizer(FINAL_OBJECT, THING)", /finalizer/i
  kind "ivar of a Mutex", "LOCK = Mutex.new; LOCK.instance_variable_set(:@kept, THING)", /LOCK -> @kept/
  kind "ivar of a module in a constant", "AUTOLOADS = Module.new { @kept = THING; autoload :Later, '/nowhere/later' }", /AUTOLOADS -> @kept|@kept of AUTOLOADS/
  kind "variable of an extension", "require '-test-/heapprof_hostile'; HeapProfHostile.keep(THING)", /hostile_cache.*\[0\]/
  kind "address that C code has registered", <<~RUBY, /registered/i, never: /C global/
    require "fiddle"
    word = Fiddle.malloc(8)
    Fiddle::Pointer.new(word)[0, 8] = [Fiddle.dlwrap(THING)].pack("J")
    Fiddle::Function.new(Fiddle::Handle::DEFAULT["rb_gc_register_address"], [Fiddle::TYPE_VOIDP], Fiddle::TYPE_VOID).call(word)
  RUBY
  kind "object that C code has registered", <<~RUBY, /registered/i
    require "fiddle"
    Fiddle::Function.new(Fiddle::Handle::DEFAULT["rb_gc_register_mark_object"], [Fiddle::TYPE_UINTPTR_T], Fiddle::TYPE_VOID).call(Fiddle.dlwrap(THING))
  RUBY
  kind "nothing: dropped", "THING"
  kind "nothing: key of a WeakMap", "WEAK_MAP = ObjectSpace::WeakMap.new; WEAK_MAP[THING] = WEAK_MAP"
  kind "nothing: value of a WeakMap", "WEAK_VALUES = ObjectSpace::WeakMap.new; WEAK_VALUES[WEAK_VALUES] = THING"
  kind "nothing: key of a WeakKeyMap", "ONLY_KEYS = ObjectSpace::WeakKeyMap.new; ONLY_KEYS[THING] = 1"
  kind "nothing: WeakRef", "require 'weakref'; WEAK_REF = WeakRef.new(THING)"
  kind "nothing: object_id", "IDENTIFIED = THING.object_id"
  kind "nothing: a circle", "circle = THING; circle.instance_variable_set(:@self, [circle])"
  kind "nothing: global that was cleared", "$cleared = THING; $cleared = nil"
  kind "nothing: constant that was removed", "GONE = THING; Object.send(:remove_const, :GONE)"
  kind "nothing: removed constant that a method has used", <<~RUBY
    REMOVED = THING
    def use_removed = REMOVED
    use_removed
    Object.send(:remove_const, :REMOVED)
  RUBY
  kind "nothing: Array that was cleared", "CLEARED = [THING]; CLEARED.clear"
  kind "nothing: subclass of a class", "Class.new(CLASS).new"
end
