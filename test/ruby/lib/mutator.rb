# frozen_string_literal: true

# mutator.rb - a random program from a seed: it makes objects of all kinds and sizes, keeps some for
# a while, and lets go. For scripts in children.
class Mutator
  class Item
    def initialize(words) = words.times { |n| instance_variable_set("@word#{n}", n) }
    def method_missing(name, *args) = [name, args]
    def respond_to_missing?(...) = true
  end

  class Text < String; end
  class List < Array; end
  class Table < Hash; end
  Pair = Struct.new(:left, :right)
  Point = Data.define(:x, :y)

  CLASSES = [Item, Text, List, Table, Pair, Point].freeze

  MAKERS = {
    item: ->(random) { Item.new(random.rand(60)) },
    string: ->(random) { "x" * random.rand(800) },
    text: ->(random) { Text.new("text " * random.rand(100)) },
    shared: ->(random) { ("y" * 1000)[random.rand(500)..] },
    array: ->(random) { Array.new(random.rand(90)) { |n| n.to_s } },
    list: ->(random) { List.new(Array.new(random.rand(50), 1.5)) },
    hash: ->(random) { Array.new(random.rand(20)) { |n| [n.to_s, n] }.to_h },
    table: ->(random) { Table.new.update(random.rand(9) => Table.new { |_, key| key.to_s }) },
    struct: ->(random) { Pair.new(random.rand, Point.new(1, random.rand.to_s)) },
    numbers: ->(random) { [2**random.rand(2000), 1.0e300 * random.rand, random.rand(99).to_r, Complex(1, 2.5)] },
    symbol: ->(random) { :"symbol #{random.rand(10**9)}" },
    closure: ->(random) { text = random.rand.to_s; [proc { text }, -> { binding }.call, method(:puts).unbind] },
    enumerator: ->(random) { [1, 2, 3].each_slice(2).tap(&:next).lazy.map { |x| x + random.rand(9) } },
    fiber: ->(random) { Fiber.new { Fiber.yield "in a fiber #{random.rand}"; 1 }.tap(&:resume) },
    thread: ->(random) { Thread.new { ["in a thread", random.rand.to_s] }.value },
    exception: ->(random) { begin Integer("no #{random.rand}") rescue $! ensure [1].to_s end },
    match: ->(random) { /(\d)(.*)/.match("text #{random.rand}").then { |match| [match, match[2], $~.pre_match] } },
    regexp: ->(random) { Regexp.new("[a-#{("b".."z").to_a[random.rand(20)]}]+") },
    code: ->(random) { eval("-> { [#{random.rand(9)}].map { |x| x.to_s } }").tap(&:call) },
    klass: ->(_) { Class.new(Item) { def made = [1].each { |x| x.to_s }; attr_reader :word0 }.new(3).tap(&:made) },
    mixin: ->(_) { Item.new(1).extend(Module.new { def mixed = super; def more = "more".dup }).tap(&:more) },
    singleton: ->(random) { Item.new(2).tap { |item| item.define_singleton_method(:own) { random.rand.to_s } }.tap(&:own) },
    weak: ->(_) { ObjectSpace::WeakMap.new.tap { |map| map["key".dup] = Object.new } },
    identity: ->(_) { Object.new.tap(&:object_id) },
    finalized: ->(_) { Object.new.tap { |object| ObjectSpace.define_finalizer(object, FINALIZER) } },
    clone: ->(random) { Text.new("z" * random.rand(300)).tap(&:freeze).clone(freeze: false) << "more" },
    missing: ->(random) { Item.new(1).public_send("unknown_#{random.rand(50)}", 1, 2) }
  }.freeze

  FINALIZER = ->(id) { "finalized #{id}".to_sym.to_proc }
  KINDS_OF_GC = [true, false].product([true, false], [true, false]).freeze

  # Kept alive by it.
  attr_reader :kept

  def initialize(seed, size = 1000)
    @random = Random.new(seed)
    @kept = Array.new(size)
    @makers = MAKERS.values
  end

  def run(steps)
    steps.times { step }
  end

  # What is kept is an object of today, or refers to an old one.
  def step
    made = @makers.sample(random: @random).call(@random)
    place = @random.rand(@kept.size)
    @kept[place] = @random.rand(4) == 0 ? [made, @kept[@random.rand(@kept.size / 8)]] : made
    @kept.fill(nil, place, 20) if @random.rand(200) == 0
  end

  def collect
    full, mark, sweep = KINDS_OF_GC.sample(random: @random)
    GC.start(full_mark: full, immediate_mark: mark, immediate_sweep: sweep)
  end
end
