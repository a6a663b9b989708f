# frozen_string_literal: true

# frames_fixture.rb - code of every shape that can stand in a stack, for test_frames.rb and test_stacks.rb.
#
# Run as a program. Each shape calls Here.mark, which asks MRI for its backtrace and has its stack taken at the
# same moment, by FIXTURE_HERE: as a sample (frames_inside.rb), or by another process. At exit
# each stack must be that backtrace: path, line and label, frame by frame. What differs is printed;
# the last line tells how many stacks were compared.

require_relative "backtrace"
require ENV.fetch("FIXTURE_HERE") { File.join(__dir__, "frames_inside.rb") }

at_exit { Here.compare } # registered first, runs last
at_exit { Here.mark }

Here.mark

# ---- methods ----

def plain = Here.mark
plain

def with_default(a = Here.mark, b: Here.mark)
  [a, b]
end
with_default

def recursive(n)
  return Here.mark if n == 0
  recursive(n - 1)
end
recursive(3)
recursive(60)

def forwarding(...) = plain(...)
forwarding

module Outer
  Here.mark

  class Inner
    Here.mark

    def instance = Here.mark
    def self.singleton = Here.mark

    class << self
      Here.mark
      def in_singleton_class = Here.mark
      attr_accessor :accessor
    end

    def initialize = Here.mark
    def [](_) = Here.mark
    def []=(_, _)
      Here.mark
    end
    def !
      Here.mark
    end
    def -@ = Here.mark
    def <=>(_) = Here.mark && 0
    def ==(_) = Here.mark
    def question? = Here.mark
    def bang! = Here.mark
    def to_s = "#{Here.mark}"
    def each
      yield Here.mark
      yield 2
    end
    def deconstruct = [Here.mark]
    def coerce(_) = [1, Here.mark]
    def to_proc = proc { Here.mark }
    def call = Here.mark
    def `(_) = Here.mark
    def backtick = `command`
    def übung = Here.mark
    def method_missing(name, *) = name == :ghost ? Here.mark : super
    def respond_to_missing?(name, _) = name == :ghost && Here.mark
    def self.const_missing(_) = Here.mark
    def self.inherited(_) = Here.mark
    def self.method_added(_) = Here.mark
    include Enumerable
    include Comparable
    define_method(:defined) { Here.mark }
    define_method(:defined_by_method, instance_method(:instance))
    alias aliased instance
    alias_method :aliased_too, :defined
    protected def guarded = Here.mark
    public def through = guarded
    private_class_method def self.hidden = Here.mark
    def self.through = hidden
  end
end

inner = Outer::Inner.new
inner.instance
Outer::Inner.singleton
Outer::Inner.in_singleton_class
inner[1]
inner[1] = 2
!inner
-inner
inner < inner
inner == 1
inner.question?
inner.bang!
"#{inner}"
inner.each { |_| Here.mark }
inner.map { |_| Here.mark }
inner.sort_by { |_| Here.mark }
inner.each_slice(2) { |_| Here.mark }
inner.lazy.map { |_| Here.mark }.first(1)
case inner
in [Integer] then Here.mark
end
1 + inner
[1].each(&inner)
inner.()
inner.backtick
inner.übung
inner.ghost
inner.respond_to?(:ghost)
Outer::Inner::Missing
Class.new(Outer::Inner)
inner.defined
inner.defined_by_method
inner.aliased
inner.aliased_too
inner.through
Outer::Inner.through
inner.method(:instance).call
inner.method(:instance).unbind.bind_call(inner)
inner.method(:instance).to_proc.call
inner.public_send(:instance)
inner.__send__(:instance)
[inner].each(&:instance)
[inner].map(&:defined)
inner.define_singleton_method(:own) { Here.mark }
inner.own
def inner.own_too = Here.mark
inner.own_too

class Outer::Inner
  def added_later = Here.mark
end
inner.added_later

module Prepended
  def instance = [Here.mark, super]
end
Outer::Inner.prepend(Prepended)
inner.instance

class Derived < Outer::Inner
  def initialize
    super
    Here.mark
  end
  def instance(*) = super()
  define_method(:defined) { super() }
end
Derived.new.instance
Derived.new.defined

module Refined
  refine String do
    Here.mark
    def refined = Here.mark
    def upcase = "#{Here.mark} #{super}"
    define_method(:refined_by_block) { [1].each { Here.mark } }
  end
end
using Refined
"text".refined
"text".upcase
"text".refined_by_block

module Extension
  module_function def helper = Here.mark
  def self.extended(_) = Here.mark
  def extension = Here.mark
end
Extension.helper
Object.new.extend(Extension).extension

anonymous = Class.new do
  Here.mark
  def named_method = Here.mark
  def self.class_method = Here.mark
  def in_block = [1].each { Here.mark }
end
anonymous.new.named_method
anonymous.class_method
anonymous.new.in_block
Pair = Struct.new(:left) { def marked = Here.mark }
Pair.new(1).marked
Point = Data.define(:x) do
  def initialize(x:) = super(x: x + 0 * Here.mark)
end
Point.new(1)

class Bare < BasicObject
  def bare = ::Here.mark
  def method_missing(*) = ::Here.mark
end
Bare.new.bare
Bare.new.anything

# ---- blocks ----

[1].each { Here.mark }
[1].each { [2].each { [3].each { Here.mark } } }
1.times { Here.mark }
1.upto(1) { Here.mark }
[1].map { _1 + Here.mark }
[1].each_with_index { |_, _| Here.mark }
{ 1 => 2 }.each { |_, _| Here.mark }
Hash.new { |_, _| Here.mark }[1]
[2, 1].sort { |a, b| Here.mark && a <=> b }
[1, 2].inject { |a, b| a + b + Here.mark }
[[1, 2]].to_h { |a, b| [a, Here.mark || b] }
"ab".gsub(/b/) { Here.mark.to_s }
"ab".each_char { Here.mark }
loop do
  Here.mark
  break
end
1.tap { Here.mark }
1.then { Here.mark }
catch(:out) { throw :out, Here.mark }
proc { Here.mark }.call
lambda { Here.mark }.()
->(_ = Here.mark) { Here.mark }.(1)
->(a = Here.mark) { a }.()
->(a, b) { a + b + Here.mark }.curry[1][2]
(proc { |x| x } >> proc { Here.mark }).call(1)
def with_block = yield
with_block { with_block { Here.mark } }
def block_in_method = [1].each { [2].each { Here.mark } }
block_in_method
def passes_on(&block) = with_block(&block)
passes_on { Here.mark }
def makes_lambda = -> { Here.mark }
makes_lambda.call
for _i in [1] do Here.mark end
while true do break Here.mark end
ObjectSpace.each_object(Bare.singleton_class) { Here.mark }
Comparable.instance_method(:clamp).then { |m| m.name && Here.mark }

# ---- eval ----

eval("Here.mark")
eval("Here.mark", nil, "given.rb", 77)
eval("def evaluated\n Here.mark\nend", nil, "/given/methods.rb", 100)
evaluated
binding.eval("[1].each { Here.mark }")
1.instance_eval { Here.mark }
inner.instance_eval { Here.mark }
inner.instance_eval("Here.mark")
inner.instance_exec(1) { |_| Here.mark }
Outer.module_eval { Here.mark }
Outer.class_eval("def self.by_text = Here.mark")
Outer.by_text
Outer::Inner.class_eval("class << self; Here.mark; end")
Outer::Inner.class_exec { def by_exec = Here.mark }
inner.by_exec
def evaluates = eval("[1].each { Here.mark }")
evaluates
RubyVM::InstructionSequence.compile("Here.mark").eval
RubyVM::InstructionSequence.compile("[1].each { Here.mark }", "compiled", "/compiled.rb", 5).eval
TOPLEVEL_BINDING.eval("Here.mark")

# ---- exceptions ----

begin
  raise "one"
rescue
  Here.mark
else
  raise "not reached"
ensure
  Here.mark
end

def rescues
  yield
rescue ArgumentError
  Here.mark
ensure
  [1].each { Here.mark }
end
rescues { raise ArgumentError }
rescues {}
rescues { [1].each { begin; raise IOError; rescue IOError; Here.mark; end } }
Integer("x") rescue Here.mark

def retries
  tries ||= 0
  raise "again" if (tries += 1) < 2
  Here.mark
rescue
  Here.mark
  retry
end
retries

def returns_through_ensure
  [1].each { return 1 }
ensure
  Here.mark
end
returns_through_ensure

class Matcher < Module
  def ===(_) = Here.mark && true
end

def matches
  yield
rescue Matcher.new
  begin
    raise "in rescue"
  rescue => e
    [e].each { Here.mark }
  end
end
matches { raise "x" }

class Detailed < StandardError
  def message = "#{Here.mark}"
  def self.exception(*) = Here.mark && super
end
begin
  raise Detailed
rescue => e
  e.full_message
end

# ---- fibers, threads, enumerators ----

Fiber.new { Here.mark }.resume
def in_fiber = Fiber.new { |x| [x].each { Fiber.yield Here.mark } }
in_fiber.resume(1)
Thread.new { Here.mark }.join
def in_thread = Thread.new { [1].each { Here.mark } }
in_thread.join
Thread.new { Fiber.new { Here.mark }.resume }.join
enumerator = Enumerator.new { |y| y << Here.mark; y << Here.mark }
enumerator.next
enumerator.next
enumerator.each { Here.mark }
inner.each_entry.next
[1].each.with_index { Here.mark }
[1].each_entry.lazy.select { Here.mark }.to_a
Mutex.new.synchronize { Here.mark }
Thread.new { Thread.handle_interrupt(RuntimeError => :never) { Here.mark } }.join

# ---- callbacks ----

trap(:USR1) { Here.mark }
Process.kill(:USR1, $$)
trace = TracePoint.new(:call) { |tp| Here.mark if tp.method_id == :plain }
trace.enable { plain }
warned = Module.new { def warn(*, **) = Here.mark }
Warning.extend(warned)
warn "never seen"
Marshal.load(Marshal.dump([1]), ->(x) { Here.mark; x })
ObjectSpace.define_finalizer(+"dead at exit", proc { })
Kernel.at_exit { [1].each { Here.mark } }
END { Here.mark }
BEGIN { def from_begin = Here.mark }
from_begin
Signal.list.sum { |_, number| number.zero? ? Here.mark : 0 }
[3, 1].sort_by { |x| Here.mark && x }
[3, 1].min_by { |x| Here.mark && x }
ENV.each { break Here.mark }
Dir.each_child(__dir__) { break Here.mark }
File.open(__FILE__) { Here.mark }
IO.pipe { |_, _| Here.mark }
Random.new(1).then { Here.mark }
inner.instance_variable_get(:@x).then { Here.mark }

# ---- files ----

load File.join(ENV.fetch("FIXTURE_FILES"), "loaded.rb")
load File.join(ENV.fetch("FIXTURE_FILES"), "loaded.rb"), true
require File.join(ENV.fetch("FIXTURE_FILES"), "required")
Object.autoload :Autoloaded, File.join(ENV.fetch("FIXTURE_FILES"), "autoloaded.rb")
Autoloaded.mark
