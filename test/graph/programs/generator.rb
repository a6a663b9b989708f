# generator.rb - a random program that dumps itself again and again: between two dumps it builds, links, drops and makes larger, below
# every kind of place. Beside N.graph it writes N.built: by class, how many objects are reachable from the places, and how many bytes
# they are, as ObjectSpace tells.

require "json"
require "objspace"

module Places; end

class Generator
  CLASSES = Array.new(6) do |number|
    fields = Array.new(number + 1) { |i| "@f#{i}" }
    Object.const_set("Random#{number}", Class.new do
      define_method(:fill) { |values| fields.zip(values) { |name, value| instance_variable_set(name, value) if value } }
    end)
  end
  SLOTS = 8 # places of each kind
  GLOBALS = Array.new(SLOTS) { |slot| eval("[-> { $random#{slot} }, ->(value) { $random#{slot} = value }]") }
  STEPS = 5..40
  MOST = 150 # objects that one step builds

  def initialize(seed)
    @random = Random.new(seed)
    @holders = Array.new(SLOTS) { Object.new }
    Places.const_set(:HASH, {})
    Places.const_set(:ARRAY, [])
    Places.const_set(:TEXT, +"")
    Places.const_set(:NUMBERS, [])
    Places.const_set(:COUNTS, {})
  end

  def run(programs)
    step_and_dump
    programs.times { step_and_dump }
  end

  private

  def step_and_dump
    apart { number(STEPS).times { step } }
    apart { GC.compact } if GC.respond_to?(:compact) && @random.rand < 0.15
    dump
    apart { File.write("#{DUMPED[0]}.built", JSON.dump(built)) }
  end

  def number(range) = @random.rand(range)
  def one_of(array) = (array[@random.rand(array.size)] unless array.empty?)

  def step
    case @random.rand(12)
    when 0..3 then put(structure)
    when 4..5 then put(nil)
    when 6 then link
    when 7 then Places::TEXT << "text " * number(1..2000)
    when 8 then Places::NUMBERS.concat(Array.new(number(1..2000)) { 1 })
    when 9 then number(1..500).times { Places::COUNTS[Places::COUNTS.size] = 1 }
    when 10 then lose
    when 11 then queue
    end
  end

  # What stands at a random place goes, and this comes; nil: nothing comes.
  def put(value)
    slot = number(0...SLOTS)
    case @random.rand(7)
    when 0
      Places.send(:remove_const, "C#{slot}") if Places.const_defined?("C#{slot}")
      Places.const_set("C#{slot}", value) if value
    when 1 then GLOBALS[slot][1].call(value)
    when 2 then @holders[slot].instance_variable_set("@kept#{number(0..3)}", value)
    when 3 then value ? Places::HASH[slot] = value : Places::HASH.delete(slot)
    when 4 then value ? Places::ARRAY.push(value) : Places::ARRAY.pop
    when 5 then one_of(CLASSES).instance_variable_set("@kept#{slot}", value)
    when 6 then Places.class_variable_set("@@kept#{slot}", value)
    end
  end

  def structure
    count = number(1..MOST)
    case @random.rand(5)
    when 0 then Array.new(count) { make }
    when 1 then Array.new(count) { |i| [i, make] }.to_h
    when 2 then count.times.inject(nil) { |rest, _| make(rest) }
    when 3 then Array.new(count) { |i| [make("t" * i), make].each(&:itself) }
    when 4 then (shared = make) && Array.new(count) { make(shared) }
    end
  end

  def make(*values) = one_of(CLASSES).new.tap { |made| made.fill([*values, *([+"s" * number(1..100)] if @random.rand < 0.3)]) }

  # An object that is there refers to another one that is there.
  def link
    from, to = walk, walk
    from.instance_variable_set("@linked#{number(0..2)}", to) if CLASSES.include?(from.class)
  end

  # Down from a random root, some steps.
  def walk
    here = one_of(roots)
    number(1..6).times do
      here = one_of(below(here).reject { |object| Module === object }) || here
    end
    here
  end

  def lose
    case @random.rand(4)
    when 0 then Places::TEXT.replace("")
    when 1 then Places::NUMBERS.clear
    when 2 then Places::COUNTS.clear
    when 3 then Places::ARRAY.shift(number(1..3))
    end
  end

  def queue
    list = one_of(roots.grep(Array)) or return
    list.shift
    list.push(make)
  end

  def roots
    [Places::HASH, Places::ARRAY, *@holders, *Places.constants.grep(/\AC/).map { |name| Places.const_get(name) },
     *GLOBALS.map { |read, _| read.call }, *Places.class_variables.map { |name| Places.class_variable_get(name) },
     *CLASSES.flat_map { |one| one.instance_variables.map { |name| one.instance_variable_get(name) } }].compact
  end

  def below(object) = ObjectSpace.reachable_objects_from(object) || []

  def built
    seen, sums, left = {}.compare_by_identity, CLASSES.to_h { |one| [one.name, [0, 0]] }, roots
    internal = {}
    while (object = left.pop)
      next if Module === object || seen[object]
      if ObjectSpace::InternalObjectWrapper === object
        next if internal[object.internal_object_id]
        internal[object.internal_object_id] = true
      else
        seen[object] = true
      end
      if (sum = sums[object.class.name])
        sum[0] += 1
        sum[1] += ObjectSpace.memsize_of(object)
      end
      left.concat(below(object))
    end
    sums
  end
end
