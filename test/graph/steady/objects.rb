# frozen_string_literal: true

# objects.rb - collections and objects that change, and do not grow.

class Steady
  steady "first use of a constant", <<~RUBY, "use_big"
    class Kept; end
    BIG = Array.new(20_000) { Kept.new }
    def use_big = BIG.size
  RUBY

  steady "first use of a class and of methods", <<~RUBY, "apart { SHOP.order('apple') }"
    class Item; attr_reader :name; def initialize(name) = @name = name; end
    class Shop
      STOCK = Array.new(5000) { |i| Item.new("item \#{i}") }
      def order(name) = find(name) || STOCK.first
      def find(name) = STOCK.find { |item| item.name == name }
    end
    SHOP = Shop.new
  RUBY

  steady "first use of a global's method by send", <<~RUBY, "apart { 50.times { |i| $service.public_send(\"do_\#{i}\") } }"
    class Service; 50.times { |i| class_eval("def do_\#{i} = @all.size") }; def initialize = @all = Array.new(3000) { Object.new }; end
    $service = Service.new
  RUBY

  steady "Array as a queue", <<~RUBY, "apart { WAITING.shift; WAITING.push(Waits.new) }"
    class Waits; def initialize = @n = "j" * 500; end
    WAITING = Array.new(2000) { Waits.new }
  RUBY

  steady "Array as a queue, turned over", <<~RUBY, "apart { 3000.times { TURNED.shift; TURNED.push(Turn.new) } }"
    class Turn; def initialize = @n = "j" * 500; end
    TURNED = Array.new(1000) { Turn.new }
    apart { 3000.times { TURNED.shift; TURNED.push(Turn.new) } }
  RUBY

  steady "slices of a large Array", <<~RUBY, "apart { SLICES.map! { ALL_ITEMS[100..] } }"
    ALL_ITEMS = Array.new(3000) { Object.new }
    SLICES = Array.new(50) { ALL_ITEMS[100..] }
  RUBY

  steady "buffer that is cleared", <<~RUBY, "apart { fill_buffer }"
    BUFFER = +""
    def fill_buffer = (BUFFER.clear; 5000.times { BUFFER << "x" * 100 })
    apart { fill_buffer }
  RUBY

  steady "strings that are replaced", <<~RUBY, "apart { LINES.map! { |line| line.dup } }"
    LINES = Array.new(2000) { |i| "line \#{1000 + i} " * 20 }
  RUBY

  steady "substrings", <<~RUBY, "apart { PARTS.replace(parts) }"
    TEXT = "word " * 10_000
    def parts = Array.new(1000) { |i| TEXT[i..] }
    PARTS = parts
  RUBY

  steady "Hash that is rehashed", <<~RUBY, "apart { REHASHED.rehash; keys = REHASHED.keys; keys.each { |key| REHASHED[key] = REHASHED.delete(key) } }"
    REHASHED = (0...2000).to_h { |i| [[i], "value \#{i} " * 20] }
    apart { REHASHED.rehash; keys = REHASHED.keys; keys.each { |key| REHASHED[key] = REHASHED.delete(key) } }
  RUBY

  steady "cache whose entries are replaced", <<~RUBY, "apart { fill_cache }"
    class Entry; def initialize = @body = "e" * 500; end
    CACHED = {}
    def fill_cache = 2000.times { |i| CACHED[i] = Entry.new }
    fill_cache
  RUBY

  steady "cache that is a new Hash", <<~RUBY, "apart { Catalog.load }"
    class Catalog; def self.load = @all = (0...2000).to_h { |i| [i, "item \#{1000 + i} " * 20] }; end
    Catalog.load
  RUBY

  steady "bounded LRU", <<~RUBY, "apart { 4000.times { |i| recent(i + 5000) } }"
    RECENT = {}
    def recent(key) = (RECENT[key] = "r" * 500; RECENT.shift if RECENT.size > 1000)
    apart { 3000.times { |i| recent(i) } }
  RUBY

  steady "ring of Structs", <<~RUBY, "apart { 3000.times { |i| RING[i % 1000] = Sample.new(i, 's' * 300) } }"
    Sample = Struct.new(:time, :value)
    RING = Array.new(1000) { |i| Sample.new(i, "s" * 300) }
  RUBY

  steady "list whose head and tail move", <<~RUBY, "apart { 2000.times { $list_tail = $list_tail.next = ListNode.new; $list_head = $list_head.next } }"
    class ListNode; attr_accessor :next; def initialize = @body = "n" * 300; end
    $list_head = $list_tail = ListNode.new
    apart { 1000.times { $list_tail = $list_tail.next = ListNode.new } }
  RUBY

  steady "WeakMap of what dies", <<~RUBY, "apart { weak_entries }"
    WEAK = ObjectSpace::WeakMap.new
    def weak_entries = 2000.times { |i| WEAK[Object.new] = "w" * 100; GC.start if i % 200 == 0 }
    apart { 2.times { weak_entries } }
  RUBY

  steady "finalizers that run", <<~RUBY, "apart { 1000.times { Object.new.then { |one| ObjectSpace.define_finalizer(one, FINALLY) } } }"
    FINALLY = proc { }
    apart { 1000.times { Object.new.then { |one| ObjectSpace.define_finalizer(one, FINALLY) } } }
  RUBY

  steady "symbols that die", <<~RUBY, "apart { 3000.times { |i| \"dynamic_\#{i}\".to_sym } }"
    apart { 3000.times { |i| "dynamic_\#{i}".to_sym } }
  RUBY

  steady "compaction", <<~RUBY, "GC.compact if GC.respond_to?(:compact)"
    SPARSE = Array.new(20_000) { "s" * 100 }.each_slice(5).map(&:first)
  RUBY

  steady "compaction, and first uses after it", <<~RUBY, "GC.compact if GC.respond_to?(:compact); use_moved"
    MOVED = Array.new(20_000) { Object.new }.each_slice(3).map(&:first)
    def use_moved = MOVED.size
  RUBY
end
