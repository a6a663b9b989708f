# frozen_string_literal: true

# lifetime_fixture.rb - code of every kind that can die, for test_lifetime.rb.
#
# Run as a program, "on" under the profiler and "off" without, and with the name of a row of GCS. It makes
# COUNT pieces of each kind; each allocates an object that stays, in code that does not. Half of
# the pieces are dropped at once, half when they are old. After each GC of the row it counts who is
# left; no other GC runs. The output, by Marshal:
#
#     survivors  kind => count after each GC, and so for the VM's own objects of some types
#     compared   how many stacks of dead code were compared with MRI's backtrace of then
#     wrong      which differed

require "objspace"

HeapProfile = ObjectSpace::HeapProfile
COUNT = 40

class Keep; end
class Ending < Proc; end

module Kinds
  HELD = [] # what the dying code allocated, and where MRI said that it was

  def self.note(kept)
    at = caller_locations(1, 1).first
    HELD << [kept, "#{at.absolute_path || at.path}:#{at.lineno}:in '#{at.label}'"]
  end

  NOTE = "Kinds.note(Keep.new)"

  # A literal that only the code holds whose text this is part of; it dies with it.
  def self.literal(kind, number) = "'#{kind} #{number} #{$$}'.freeze"

  # Each takes [name, number, path, line] and returns what is to be watched: objects, to be held until the
  # piece is dropped, and literals. A method, which has none, is ended by an Ending.
  ALL = {
    klass: ->(i, *at) {
      klass = Class.new { class_eval("def made = #{NOTE}", *at) }
      klass.new.made
      [klass]
    },
    subclass: ->(i, *at) {
      klass = Class.new(Keep) { class_eval("def self.made = #{NOTE}", *at) }
      klass.made
      [klass, Class.new(klass).new]
    },
    mod: ->(i, *at) {
      mod = Module.new { module_eval("def made = #{NOTE}", *at) }
      klass = Class.new { include mod }
      klass.new.made
      Object.new.extend(mod).made
      [mod, klass, Class.new { prepend mod }]
    },
    singleton: ->(i, *at) {
      object = Object.new
      object.instance_eval("def made = #{NOTE}", *at)
      object.made
      [object, object.singleton_class]
    },
    refinement: ->(i, *at) {
      klass = Class.new { def made = 1 }
      mod = Module.new { refine(klass) { class_eval("def made = #{NOTE}", *at) } }
      mod.refinements[0].instance_method(:made).bind_call(klass.new)
      [klass, mod, mod.refinements[0]]
    },
    struct: ->(i, *at) {
      struct = Struct.new(:left, :right) { class_eval("def made = #{NOTE}", *at) }
      struct.new(1).made
      [struct, struct.new(2)]
    },
    data: ->(i, *at) {
      data = Data.define(:left) { class_eval("def made = #{NOTE}", *at) }
      data.new(1).made
      [data]
    },
    bmethod: ->(i, *at) {
      body = eval("proc { #{NOTE} }", nil, *at)
      klass = Class.new { define_method(:made, &body) }
      klass.new.made
      [klass, body, klass.instance_method(:made)]
    },
    proc: ->(i, *at) {
      body = eval("proc { [1].each { #{NOTE} } }", nil, *at)
      body.call
      [body, body.to_proc.curry]
    },
    lambda: ->(i, *at) {
      inner = eval("->(x) { -> { #{NOTE}; x } }", nil, *at).call(i)
      inner.call
      [inner]
    },
    binding: ->(i, *at) {
      captured = Object.new
      here = binding
      here.eval(NOTE, *at)
      [here, captured]
    },
    eval: ->(i, *at) { [eval("#{NOTE}; #{literal(:eval, i)}", nil, *at)] },
    instance_eval: ->(i, *at) { [Object.new.instance_eval("#{NOTE}; #{literal(:instance_eval, i)}", *at)] },
    iseq: ->(i, *at) {
      iseq = RubyVM::InstructionSequence.compile("#{NOTE}; #{literal(:iseq, i)}", at[0], at[0], at[1])
      [iseq, iseq.eval]
    },
    fiber: ->(i, *at) {
      fiber = Fiber.new { eval("#{NOTE}; Fiber.yield", nil, *at) }
      fiber.resume
      [fiber]
    },
    enumerator: ->(i, *at) {
      enumerator = Enumerator.new { |y| eval("y << #{NOTE}; y << 2", binding, *at) }
      enumerator.next
      [enumerator]
    },
    thread: ->(i, *at) {
      thread = Thread.new { eval(NOTE, nil, *at) }
      thread.join
      [thread]
    },
    exception: ->(i, *at) {
      [begin
        eval("#{NOTE}; raise 'gone'", nil, *at)
      rescue => e
        e
      end]
    },
    loaded: ->(i, *at) {
      path = File.join(Dir.pwd, "loaded#{i}.rb")
      File.write(path, "#{NOTE}\n$literal = #{literal(:loaded, i)}\nclass << self; #{NOTE}; end\n")
      load(path, i.odd?)
      literal, $literal = $literal, nil
      [literal]
    },
    autoloaded: ->(i, *at) {
      name = :"Autoloaded#{i}"
      path = File.join(Dir.pwd, "autoloaded#{i}.rb")
      File.write(path, "class #{name}\n def self.made = #{NOTE}\nend\n")
      Object.autoload(name, path)
      Object.const_get(name).made
      [Object.send(:remove_const, name)]
    },
    removed: ->(i, *at) {
      Keep.class_eval("def removed#{i} = #{NOTE} && #{literal(:removed, i)}", *at)
      [Keep.new.public_send("removed#{i}"), Ending.new { Keep.remove_method("removed#{i}") }]
    },
    undefined: ->(i, *at) {
      Keep.class_eval("def undefined#{i} = #{NOTE} && #{literal(:undefined, i)}", *at)
      [Keep.new.public_send("undefined#{i}"), Ending.new { Keep.undef_method("undefined#{i}") }]
    },
    redefined: ->(i, *at) {
      Keep.class_eval("def redefined#{i} = #{NOTE} && #{literal(:redefined, i)}", *at)
      [Keep.new.public_send("redefined#{i}"), Ending.new { Keep.class_eval("def redefined#{i} = 1") }]
    },
    aliased: ->(i, *at) {
      klass = Class.new { class_eval("def made = #{NOTE}\nalias also made", *at) }
      klass.new.also
      [klass, klass.instance_method(:also)]
    },
  }.freeze

  # In a thread of its own, of whose machine stack nothing is left.
  def self.aside(&block) = Thread.new(&block).join.then { nil }

  def self.make(kind, age, numbers)
    map = ObjectSpace::WeakMap.new
    alive = []
    aside do
      numbers.each do |number|
        alive << ALL[kind].call(number, "/dead/#{kind}#{number}.rb", number + 1)
        alive.last.each { |object| map[object] = true unless Ending === object }
      end
    end
    drop(alive) if age == :young
    [map, alive]
  end

  # Literals and objects go with the array; methods are taken away.
  def self.drop(alive)
    aside do
      alive.flatten.each { |object| object.call if Ending === object }
      alive.clear
    end
  end
end

AGING = [{ full_mark: false }, { full_mark: false }, {}, {}, { full_mark: false }].freeze

# What GC.start is given, or another method's name; where it says drop, the old pieces lose what held them.
GCS = {
  "full" => [*AGING, :drop, { full_mark: false }, { full_mark: false }, {}, {}, { immediate_sweep: false }],
  "incremental" => [*AGING, :drop, { immediate_mark: false, immediate_sweep: false }, { full_mark: false },
                    { immediate_mark: false, immediate_sweep: false }, { immediate_sweep: false }, {}],
  "compact" => [:compact, *AGING, :verify, :drop, { full_mark: false }, :compact, :verify, :compact],
}.freeze

COLLECT = {
  compact: -> { GC.compact },
  verify: -> { GC.verify_compaction_references(expand_heap: true, toward: :empty) },
}.freeze

TYPES = %i[imemo_iseq imemo_ment imemo_cref imemo_env T_CLASS T_MODULE T_ICLASS].freeze

def counts(watched)
  types = ObjectSpace.count_imemo_objects.merge(ObjectSpace.count_objects)
  watched.transform_values { |map, _| map.size }.merge(types.slice(*TYPES))
end

def stacks = Kinds::HELD.map { |kept, _| HeapProfile.allocation_stack(kept) }

# Above the place itself is Class#new, which has no place of its own.
def wrong(profiles)
  expected = Kinds::HELD.map(&:last)
  of_objects = stacks.map { |frames| frames[1].to_s }
  of_profiles = profiles.map do |profile|
    rows = profile.select { |row| row.class_name == "Keep" && row.inuse_objects > 0 }
    rows.flat_map { |row| [row.frames[1].to_s] * row.inuse_objects } & expected
  end
  (expected - of_objects) + (of_objects - expected) + of_profiles.flat_map { |found| expected - found }
end

profiled, row = ARGV[0] == "on", GCS.fetch(ARGV[1])
GC.disable
HeapProfile.start(interval: 1) if profiled

watched = Kinds::ALL.keys.product(%i[young old]).to_h do |kind, age|
  numbers = age == :young ? (0...COUNT / 2) : (COUNT / 2...COUNT)
  [[kind, age], Kinds.make(kind, age, numbers)]
end
held = profiled ? [HeapProfile.snapshot, stacks] : []
survivors = row.filter_map do |gc|
  next Kinds.aside { watched.each_value { |_, alive| Kinds.drop(alive) } } if gc == :drop

  COLLECT.key?(gc) ? COLLECT[gc].call : GC.start(**gc)
  Array.new(3000) { Object.new }.clear # what is done in steps takes some here
  held << HeapProfile.snapshot if profiled
  counts(watched)
end

result = { survivors: survivors, compared: Kinds::HELD.size }
result[:wrong] = wrong([held.first, held.last, HeapProfile.snapshot(gc: true)]) if profiled
$stdout.binmode
$stdout.write(Marshal.dump(result))
