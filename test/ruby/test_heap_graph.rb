# frozen_string_literal: true

# test_heap_graph.rb - ObjectSpace::HeapGraph (gc/graph/graph.c, vm/graph/graph.c): that the references in the file are those that MRI
# itself marks, what they are called, what roots there are, and that nothing of what objects hold is in it unless asked for.

require_relative "lib/heapprof_test"
require_relative "../cli/lib/held"
require_relative "lib/allocators"

class TestHeapProfHeapGraph < Test::Unit::TestCase
  include HeapProfTest
  include HeapProfAllocators
  extend HeapProfAllocators::Cases

  READER = File.join(__dir__, "lib/heap_graph.rb")

  PRELUDE = <<~'RUBY'
    require "tmpdir"
    HeapGraph = ObjectSpace::HeapGraph

    def dump(**settings)
      Dir.mktmpdir do |directory|
        path = File.join(directory, "heap.rbgraph")
        bytes = HeapGraph.dump(path, **settings)
        assert_equal File.size(path), bytes
        HeapGraphFile.read(path)
      end
    end

    def address(object) = ObjectSpace.dump(object)[/"address":"0x(\h+)"/, 1].to_i(16)
  RUBY

  def in_graph_child(script, **options)
    in_child(PRELUDE + script, "-r#{READER}", "-robjspace", **options)
  end

  # By dump_all, which asks marking functions as well: of each object all that it refers to but its class. What the two
  # dumps do themselves changes call caches, and the stack.
  SAME = <<~'RUBY'
    require "json"

    def all_objects(directory)
      path = File.join(directory, "all.json")
      File.open(path, "w") { |file| ObjectSpace.dump_all(output: file) }
      path
    end

    def both
      Dir.mktmpdir do |directory|
        HeapGraph.dump(File.join(directory, "heap.rbgraph"))
        all_objects(directory)
        GC.disable
        HeapGraph.dump(File.join(directory, "heap.rbgraph"))
        all_objects(directory)
        GC.enable
        [HeapGraphFile.read(File.join(directory, "heap.rbgraph")),
         File.foreach(File.join(directory, "all.json")).map { |line| JSON.parse(line) }]
      end
    end

    def assert_same_references
      graph, lines = both
      compared = 0
      different = lines.filter_map do |line|
        object = graph.objects[line["address"].to_i(16)] if line["address"]
        next if !object || object.type == "T_DATA(VM/thread)" || object.type == "T_DATA(fiber)"
        compared += 1
        klass = object.layout.class_address
        truth = line.fetch("references", []).map { |address| address.to_i(16) }.uniq - [klass]
        ours = object.edges.filter_map { |edge| edge.to if edge.to.is_a?(Integer) && edge.kind != :weak }.uniq - [klass]
        [object, truth - ours, ours - truth] if truth.sort != ours.sort
      end
      assert_operator compared, :>, lines.size * 0.95
      assert_empty different.map { |object, *rest| [object.type, object.text, object.class_name, *rest] }
      graph
    end
  RUBY

  def test_references_are_what_marking_finds
    in_graph_child(SAME + <<~'RUBY')
      require "optparse"
      class Point
        attr_accessor :x, :y
        @@count = 0
      end
      Pair = Struct.new(:left, :right)
      Datum = Data.define(:a, :b)
      Text = Class.new(String)
      odd = Text.new("odd").tap { |text| text.instance_variable_set(:@mark, Object.new) }
      shared = ("long enough to be shared by two" * 10).then { |text| [text, text[3..]] }
      list = Array.new(100) { |i| i.to_s }
      keep = [Point.new.tap { |point| point.x = point }, Pair.new("left", 1), Datum.new("a", []), odd, shared, list, list[10..],
              { "key" => [1], 2 => :two }, Hash.new { |hash, key| hash[key] = 1 }, Hash.new("else"), { 1 => 2 }.compare_by_identity,
              1r / 3, Complex(1.5, 2), /reg#{list[0]}exp/, "text" =~ /(e)x/ && $~, proc { list }, method(:puts), binding,
              2**100, 1e300, "dynamic#{list[1]}".to_sym, $stdout, Thread.new { Thread.stop }, Fiber.new { }.tap(&:resume),
              ObjectSpace::WeakMap.new.tap { |map| map[odd] = list }, [1, 2].each, (1..).lazy, Ractor.make_shareable([["x"]])]
      complex = Class.new
      many = Array.new(3000) { |i| complex.new.tap { |object| object.instance_variable_set(:"@v#{i}", "value") } }
      graph = assert_same_references
      assert_equal 3000, many.size
      assert_operator graph.objects.size, :>, 10_000
      assert_not_nil keep
    RUBY
  end

  def test_references_have_names
    in_graph_child(<<~'RUBY')
      class Cart
        CACHE = { "one" => "first" }
        @@all = []
        def initialize
          @items = ["item"]
          @count = 3
        end
      end
      Pair = Struct.new(:left, :right)
      cart, pair = Cart.new, Pair.new("l", nil)
      graph = dump
      of = ->(object) { graph.objects.fetch(address(object)) }
      assert_equal address(cart.instance_variable_get(:@items)), of[cart].named("@items")
      assert_equal [:integer, 3], of[cart].named("@count")
      assert_equal %w[Cart T_OBJECT], [of[cart].class_name, of[cart].type]
      assert_equal address(Cart::CACHE), of[Cart].named("CACHE")
      assert_equal %i[constant cvar], [of[Cart].edges.find { _1.name == "CACHE" }, of[Cart].edges.find { _1.name == "@@all" }].map(&:kind)
      assert_equal "Cart", of[Cart].text
      assert_equal address(Object), of[Cart].named("superclass")
      assert_equal %i[key value], of[Cart::CACHE].edges.map(&:kind)
      assert_equal address(Cart::CACHE["one"]), of[Cart::CACHE].edges[1].to
      assert_equal [[:member, "left", address(pair.left)], [:member, "right", [:special, nil]]], of[pair].edges.map(&:to_a)
    RUBY
  end

  # What Ruby calls by a name has that name, also where MRI has it in a struct of its own or in a variable without a name.
  def test_references_of_objects_in_c_have_names
    in_graph_child(<<~'RUBY')
      class Each
        def run = 1
        def each = yield(1)
      end
      receiver, list = Each.new, ["element"]
      rescued = ->(&block) { block.call rescue $! }
      named = [
        [receiver.method(:run), "receiver", receiver], [Each.instance_method(:run), "owner", Each],
        [receiver.to_enum, "receiver", receiver], [[1].each_with_object(list), "arguments", nil],
        [Enumerator.produce(list) { 1 }, "receiver", nil], [list.each + [1], "enumerators", nil], [(1..).lazy.map { 1 }, "lazy steps", nil],
        [Enumerator.new { |to| to << list; to << 1 }.tap(&:peek), "fiber", nil],
        [rescued.() { receiver.no_such_method }, "receiver", receiver],
        [rescued.() { receiver.freeze.instance_variable_set(:@a, 1) }, "receiver", receiver],
        [rescued.() { {}.fetch(list) }, "key", list],
        ["a" =~ /a/ && $~, "regexp", nil], [binding, "self", self],
        [Queue.new(list), "elements", nil], [SizedQueue.new(1) << list, "elements", nil],
        [TracePoint.new(:call) { list }, "block", nil], [Dir.open("."), "path", nil],
        [ARGF, "ARGV", ARGV], *Array.new(200) { |i| [ARGF.class.new("file #{i}"), "ARGV", nil] }, # some begin on one page and end on the next
        [caller_locations(0)[0], "backtrace", nil],
      ]
      graph = dump
      named.each do |object, name, to|
        record = graph.objects.fetch(address(object))
        assert record.edges.any? { |edge| edge.name == name }, "#{record.type} has no #{name}: #{record.edges.inspect}"
        assert_equal address(to), record.named(name), "#{record.type} #{name}" if to
      end
      own = /\AT_DATA\((?:method|enumerator|generator|yielder|producer|chain|product|proc_entry|queue|sized_queue|tracepoint|ARGF|dir|binding)\)/
      assert_empty graph.objects.each_value.select { |object| own.match?(object.type) }.flat_map(&:edges).select { |edge| %i[offset unlabelled].include?(edge.kind) }
      assert_empty graph.objects.each_value.select { |object| object.edges.any? { |edge| edge.kind == :field && edge.name.to_s.empty? } }.map(&:type)
    RUBY
  end

  def test_what_a_ractor_keeps_has_names
    in_graph_child(<<~'RUBY')
      $VERBOSE = nil
      kept, message = Object.new, Ractor.make_shareable(["message"])
      Ractor.current[:of_main] = kept
      waits = Ractor.new { Ractor.current[:own] = ["own"]; Ractor.yield(1); sleep }
      waits.take
      waits.send(message)
      graph = dump
      main, other = graph.objects.fetch(address(Ractor.main)), graph.objects.fetch(address(waits))
      assert_equal [:local, address(kept)], main.edges.find { |edge| edge.name == "of_main" }.then { |edge| [edge.kind, edge.to] }
      assert_equal :local, other.edges.find { |edge| edge.name == "own" }&.kind
      assert_equal [main.address, address(message)], %w[sender message].map { |name| other.named(name) }
    RUBY
  end

  # The VM registers its tables as C code does; as roots they have a name.
  def test_symbols_are_a_root_of_the_vm
    in_graph_child(<<~'RUBY')
      symbol = eval(":#{"a_symbol_of_a_test" * 20}")
      dynamic = ("made_at_run_time" * 20).to_sym
      graph = dump
      tables = graph.roots.select { |root| root.category == "symbols" }
      assert_equal [[:root, "symbol table"], [:root, "symbol table, made at run time"]], tables.map { |root| [root.kind, root.name] }
      rows = graph.objects.fetch(tables[0].address).to.flat_map { |row| graph.objects[row]&.to || [] }
      assert_include rows, address(symbol.name)
      registered = graph.objects.each_value.select { |object| object.type == "T_DATA(VM/pin_array_list)" }
      assert_equal tables.map { |root| [root.name] }, tables.map { |root| registered.flat_map(&:edges).select { |edge| edge.to == root.address }.map(&:name) }
      assert_not_nil dynamic
    RUBY
  end

  # Elements that are shared are in another Array; how many there are is told.
  def test_arrays_and_strings_that_share_have_their_length
    in_graph_child(<<~'RUBY')
      all = Array.new(500) { |i| i }
      some = all[100..]
      text = "text to share " * 100
      rest = text[13..]
      graph = dump
      shared = [some, rest].map { |object| graph.objects.fetch(address(object)) }
      assert_equal [[400, 1387], %w[shared shared]], [shared.map(&:length), shared.map { |object| object.edges[0].name }]
      assert_equal [500, 1400], [all.size, text.size]
    RUBY
  end

  # MRI marks all the room that such an object has for variables, also what a removed one has left there; so it is kept. Of other
  # objects and of classes it marks what is there.
  def test_a_variable_that_was_removed_may_still_keep_its_value
    in_graph_child(SAME + <<~'RUBY')
      holders = ["text".dup, [1], Object.new, Class.new]
      holders.each do |holder|
        %i[@first @second @last].each { |name| holder.instance_variable_set(name, "value of #{name}") }
        %i[@last @first].each { |name| holder.remove_instance_variable(name) }
      end
      graph = assert_same_references
      left = holders.map { |holder| graph.objects.fetch(address(holder)).edges.select { |edge| edge.name == "room of a removed variable" } }
      assert_equal [true, true, false, false], left.map(&:any?)
      holders.each do |holder|
        assert_equal address(holder.instance_variable_get(:@second)), graph.objects.fetch(address(holder)).named("@second")
      end
    RUBY
  end

  # Nor is what prepending leaves behind.
  def test_an_included_module_is_no_object_of_it
    in_graph_child(<<~'RUBY')
      module Priced; def price = 1; end
      class Item
        include Priced
        prepend Module.new
      end
      items = Array.new(3) { Item.new }
      graph = dump
      assert_equal items.size, graph.objects.each_value.count { |object| object.class_name == "Item" }
      assert_equal 0, graph.objects.each_value.count { |object| object.class_name == "Priced" }
      included = graph.objects.each_value.select { |object| object.type == "T_ICLASS" }
      assert_equal [nil], included.map(&:class_name).uniq
      assert_equal [address(Priced)], included.select { |object| object.text == "Priced" }.map { |object| object.layout.class_address }
    RUBY
  end

  def test_blocks_threads_and_fibers_name_their_variables
    in_graph_child(<<~'RUBY')
      def run(argument)
        inside = argument + "!"
        Thread.stop
        inside
      end
      def block_of(captured) = proc { captured }

      thread = Thread.new { run("thread".dup) }
      fiber = Fiber.new { |first| in_fiber = first; Fiber.yield; in_fiber }
      fiber.resume("first".dup)
      captured = "captured".dup
      block = block_of(captured)
      Thread.pass until thread.stop?
      graph = dump(values: :all)
      of = ->(object) { graph.objects.fetch(address(object)) }
      local = of[thread].edges.find { |edge| edge.name&.start_with?("inside in Object#run at ") }
      assert_equal [:local, "thread!"], [local.kind, graph.objects[local.to].text]
      local = of[fiber].edges.find { |edge| edge.name&.start_with?("in_fiber in block in <main> at ") }
      assert_equal "first", graph.objects[local.to].text
      environment = graph.objects.fetch(of[block].named("environment"))
      assert_equal "T_IMEMO(env)", environment.type
      assert_equal address(captured), environment.named("captured")
      assert_match(/\Ablock in block_of /, graph.objects.fetch(of[block].named("code")).text)
    RUBY
  end

  # They are told, and keep nothing: what only they lead to is not reached.
  def test_weak_references_are_told_and_keep_nothing
    in_graph_child(<<~'RUBY')
      require "weakref"
      alive, key = "alive".dup, "key".dup
      map, keys = ObjectSpace::WeakMap.new, ObjectSpace::WeakKeyMap.new
      map[alive] = key
      map[1] = alive
      keys[key] = value = "value".dup
      at = [alive, key, value].map { |object| address(object) }
      reference = WeakRef.new(alive)
      dead = Thread.new { Array.new(100) { |i| "dead #{i}".tap { |text| map[text] = keys } }.map { |text| address(text) } }.value
      graph = dump
      of = ->(object) { graph.objects.fetch(address(object)) }
      weak = ->(object) { of[object].edges.select { |edge| edge.kind == :weak }.map { |edge| [edge.name, edge.to] } }
      assert_empty [["key", at[0]], ["value", at[1]], ["key", [:integer, 1]], ["value", at[0]]] - weak[map]
      assert_empty of[map].edges.reject { |edge| edge.kind == :weak }
      assert_equal [["key", at[1]]], weak[keys]
      assert_equal [[:field, "value", at[2]]], of[keys].edges.reject { |edge| edge.kind == :weak }.map(&:to_a)
      assert_include weak[WeakRef.class_variable_get(:@@__map)], ["value", at[0]]
      assert_operator (dead & graph.objects.keys).size, :>, 90
      assert_operator (dead & graph.reachable.keys).size, :<, 10 # a word on a stack
      assert_not_nil reference
    RUBY
  end

  # A container of so many references is in several records.
  def test_large_containers_are_whole
    in_graph_child(<<~'RUBY')
      list = Array.new(200_000) { |i| i % 1000 }
      pairs = list.each_index.to_h { |i| [i, "x"] }
      graph = dump
      assert_equal list.map { |i| [:integer, i] }, graph.objects.fetch(address(list)).edges.map(&:to)
      assert_equal pairs.size * 2, graph.objects.fetch(address(pairs)).edges.size
    RUBY
  end

  def test_everything_marked_is_reached_from_roots
    in_graph_child(<<~'RUBY')
      at_exit { $kept.to_s }
      trap("USR1") { $kept.to_s }
      $kept = "by a global"
      finalizer = proc { }
      finalized = "finalized".dup
      ObjectSpace.define_finalizer(finalized, finalizer)
      thread = Thread.new { local = "in a thread"; Thread.stop; local }
      Thread.pass until thread.stop?
      graph = dump(gc: true)
      reached = graph.reachable
      lost = graph.objects.keys - reached.keys
      assert_operator lost.size, :<=, 5, lost.map { |at| graph.objects[at].type }.inspect # only a forgotten word on the stack led there
      roots = graph.roots.to_h { |root| [[root.kind, root.name], root.address] }
      assert_equal address($kept), roots[[:global, "$kept"]]
      assert_equal address($LOADED_FEATURES), roots[[:root, "$LOADED_FEATURES"]]
      assert_empty [[:root, "finalizer of String"], [:root, "trap USR1"], [:root, "ractor"]] - roots.keys
      assert reached[address(finalizer)]
    RUBY
  end

  # $: and ARGF's variables have getters that take the value from elsewhere. What they mark is not their value.
  def test_a_root_is_a_global_only_if_it_is_its_value
    in_graph_child(<<~'RUBY')
      $kept = "by a global".dup
      trace_var(:$kept, handler = proc { |value| value })
      graph = dump
      of = ->(address) { graph.roots.filter_map { |root| [root.kind, root.name] if root.address == address }.uniq }
      vm = graph.objects.each_value.find { |object| object.type == "T_DATA(VM)" }
      assert_equal [[:root, "VM"]], of[vm.address]
      assert_equal [[:global, "$kept"]], of[address($kept)]
      assert_equal [[:root, "trace of $kept"]], of[address(handler)]
      assert_empty [[:global, "$<"], [:root, "data of $."], [:root, "data of $FILENAME"]] - of[address(ARGF)]
      getters = %w[$: $LOAD_PATH $-I $" $LOADED_FEATURES $. $FILENAME $* $~ $stdout $VERBOSE]
      assert_empty graph.roots.filter_map { |root| root.name if root.kind == :global } & getters
    RUBY
  end

  # By it a reader knows which files are the application's.
  def test_a_dump_says_where_the_program_began
    in_graph_child(<<~'RUBY')
      began = Dir.pwd
      Dir.chdir("/") { assert_equal began, dump.process["directory"] }
    RUBY
  end

  # An address of malloc has no name, not that of a variable nearby.
  def test_a_registered_address_has_the_name_of_its_variable_alone
    in_graph_child(<<~'RUBY')
      require "-test-/heapprof_hostile"
      kept = Array.new(50) { HeapProfHostile.keep_in_memory(Object.new) }
      graph = dump
      roots = graph.roots.group_by(&:address)
      assert_equal [[[:root, "registered address"]]], kept.map { |object| roots[address(object)].map { |root| [root.kind, root.name] } }.uniq
      assert_empty graph.roots.select { |root| root.kind == :c_global && root.name !~ /\A\S+ in \S+\z/ }
    RUBY
  end

  # A block is where it is written; a symbol's and a method's have their own.
  def test_objects_say_where_they_are_from
    in_graph_child(<<~'RUBY')
      def called = 1
      line = __LINE__
      block = proc { 1 }
      held = lambda do
        2
      end
      wrapper, of_method, of_symbol, of_c = proc(&block), method(:called).to_proc, :upcase.to_proc, method(:puts).to_proc
      thread = Thread.new { Thread.stop }
      fiber = Fiber.new { Fiber.yield }
      started = Fiber.new { Fiber.yield }.tap(&:resume)
      ended = Fiber.new { }.tap(&:resume)
      here = binding
      scheduled = Enumerator.new { |to| to << 1 << 2 }.tap(&:next)
      timed = Thread.new { sleep 1000 }
      over = Thread.new { }.tap(&:join)
      Thread.pass until thread.stop? && timed.stop?
      thread.name = "its name"
      where = ->(at, state = nil) { [__FILE__ + ":#{line + at}", *state].join(", ") }
      [dump, dump(values: :all)].each_with_index do |graph, values|
        text = ->(object) { graph.objects.fetch(address(object)).text }
        assert_equal [where[1], where[2], where[1], where[-1], "&:upcase", nil, where[10]],
                     [block, held, wrapper, of_method, of_symbol, of_c, here].map(&text)
        named = values.zero? ? "" : " (its name)"
        assert_equal [where[6] + named + ", sleeps for ever", where[12, "sleeps"], where[13, "has ended"], "main, runs"],
                     [thread, timed, over, Thread.main].map(&text)
        assert_equal [where[7, "created"], where[8, "suspended"], where[9, "terminated"], "main, resumed"],
                     [fiber, started, ended, Fiber.current].map(&text)
        assert_include graph.strings, "C code, suspended" # of the Enumerator
      end
      assert_not_nil scheduled
    RUBY
  end

  # The longest path leaves room for the state.
  def test_a_long_path_does_not_hide_what_a_thread_does
    in_graph_child(<<~'RUBY')
      thread = eval("Thread.new { Thread.stop }", nil, "p" * 5000, 77)
      Thread.pass until thread.stop?
      thread.name = "n" * 5000
      [dump, dump(values: :all)].each do |graph|
        assert_match(/\Ap{768}:77( \(n{128}\))?, sleeps for ever\z/, graph.objects.fetch(address(thread)).text)
      end
    RUBY
  end

  def test_threads_and_fibers_say_what_they_wait_for
    in_graph_child(<<~'RUBY')
      require "monitor"
      held, queue, full, mutex, condition, monitor = Thread.new { Thread.stop }, Queue.new, SizedQueue.new(1), Mutex.new, ConditionVariable.new,
                                                     Monitor.new
      other = Monitor.new
      signal = other.new_cond
      full << 1
      mutex.lock
      monitor.enter
      own = Mutex.new
      waiting = {
        held => Thread.new { held.join }, queue => Thread.new { queue.pop }, full => Thread.new { full << 2 },
        mutex => Thread.new { mutex.synchronize { } }, condition => Thread.new { own.synchronize { condition.wait(own) } },
        monitor => Thread.new { monitor.synchronize { } },
        signal.instance_variable_get(:@cond) => Thread.new { other.synchronize { signal.wait } },
      }
      class Sleeper < Queue; def wait = sleep; end
      queue_too = Queue.new
      timed = Thread.new { queue_too.pop(timeout: 1000) }
      not_waiting = [held, Thread.new { Sleeper.new.wait }, Thread.new { Mutex.new.then { |one| one.synchronize { one.sleep } } }]
      in_fiber = Thread.new { Fiber.new { queue.pop }.resume }
      Thread.pass until [*waiting.values, *not_waiting, timed, in_fiber].all?(&:stop?)
      graph = dump
      awaited = lambda do |object|
        [object, graph.objects[object.named("current fiber")]].compact.flat_map(&:edges).filter_map { |edge| edge.to if edge.name == "waits for" }.uniq
      end
      waiting.each do |object, thread|
        found = awaited[graph.objects.fetch(address(thread))]
        assert_include found, address(object), object.class.name
        assert_operator found.size, :<=, object.is_a?(Monitor) ? 2 : 1
        assert_match(/, sleeps for ever\z/, graph.objects.fetch(address(thread)).text)
      end
      not_waiting.each { |thread| assert_empty awaited[graph.objects.fetch(address(thread))] }
      found = graph.objects.fetch(address(timed))
      assert_equal [[address(queue_too)], "sleeps"], [awaited[found], found.text[/\w+\z/]]
      thread = graph.objects.fetch(address(in_fiber))
      current = graph.objects.fetch(thread.named("current fiber"))
      assert_equal [[address(queue)], "resumed"], [awaited[current], current.text[/\w+\z/]]
      assert_equal thread.named("root fiber"), current.named("resumed by")
      mutex.unlock
      monitor.exit
    RUBY
  end

  # Of a scheduler's fibers, whoever has a timeout needs nobody.
  def test_fibers_of_a_scheduler_say_what_they_wait_for
    in_graph_child(<<~'RUBY')
      class Scheduler
        def block(blocker, timeout = nil) = Fiber.yield
        def unblock(blocker, fiber) = nil
        def kernel_sleep(duration = nil) = Fiber.yield
        def io_wait(io, events, timeout) = Fiber.yield
        def fiber(&block) = Fiber.new(blocking: false, &block).tap(&:resume)
        def close = nil
      end
      queue, timed = Queue.new, Queue.new
      fibers = nil
      thread = Thread.new do
        Fiber.set_scheduler(Scheduler.new)
        fibers = [Fiber.schedule { queue.pop }, Fiber.schedule { timed.pop(timeout: 1000) }, Fiber.schedule { sleep }]
        Thread.stop
      end
      Thread.pass until fibers && thread.stop?
      graph = dump
      awaited = fibers.map { |fiber| graph.objects.fetch(address(fiber)).named("waits for") }
      assert_equal [address(queue), nil, nil], awaited
    RUBY
  end

  # Also if it is around the wait, as Timeout.timeout has it.
  def test_a_fiber_with_a_timeout_of_its_scheduler_waits_for_nobody
    in_graph_child(<<~'RUBY')
      require "timeout"
      class Scheduler
        def block(blocker, timeout = nil) = Fiber.yield
        def unblock(blocker, fiber) = nil
        def kernel_sleep(duration = nil) = Fiber.yield
        def io_wait(io, events, timeout) = Fiber.yield
        def timeout_after(duration, error, message, &block) = block.call(duration)
        def fiber(&block) = Fiber.new(blocking: false, &block).tap(&:resume)
        def close = nil
      end
      queue, lock, free = Queue.new, Mutex.new, Mutex.new
      lock.lock
      free.lock
      fibers = nil
      thread = Thread.new do
        Fiber.set_scheduler(Scheduler.new)
        fibers = [Fiber.schedule { Timeout.timeout(1000) { queue.pop } }, Fiber.schedule { lock.synchronize { } }, Fiber.schedule { free.synchronize { } }]
        Thread.stop
      end
      Thread.pass until fibers && thread.stop?
      free.unlock
      graph = dump
      written = fibers.map { |fiber| graph.objects.fetch(address(fiber)) }
      assert_equal [nil, address(lock), nil], written.map { |fiber| fiber.named("waits for") }
      assert_equal [address(thread)] * 3, written.map { |fiber| fiber.named("thread") }
      lock.unlock
    RUBY
  end

  # They share a native thread: MRI does not tell one from the other by the state.
  def test_threads_of_ractors_say_what_they_do
    in_graph_child(<<~'RUBY')
      Warning[:experimental] = false
      line = __LINE__
      ractors = [
        Ractor.new { Ractor.receive },
        Ractor.new { Ractor.yield 1 },
        Ractor.new { sleep 1000 },
        Ractor.new { IO.pipe.first.read },
        Ractor.new { Queue.new.pop(timeout: 1000) },
      ]
      for_ever = [2, 3]
      begin
        graph = dump
        threads = (2..6).to_h { |at| [at, graph.objects.each_value.find { |object| object.text&.start_with?("#{__FILE__}:#{line + at},") && object.type.end_with?("thread)") }] }
      end while threads.each_value.any? { |thread| thread.text.end_with?(", runs") }
      assert_equal (2..6).map { |at| for_ever.include?(at) ? "sleeps for ever" : "sleeps" }, threads.map { |_, thread| thread.text[/\A.*, (.*)/, 1] }
      assert_equal ractors.first(2).map { |ractor| address(ractor) } + [nil, nil], threads.values.first(4).map { |thread| thread.named("waits for") }
    RUBY
  end

  # They have been woken, and wait for the GVL.
  def test_threads_that_have_been_woken_run
    in_graph_child(<<~'RUBY')
      queue, lock, condition, other = Queue.new, Mutex.new, ConditionVariable.new, Mutex.new
      lock.lock
      threads = [Thread.new { queue.pop }, Thread.new { lock.synchronize { } }, Thread.new { other.synchronize { condition.wait(other) } },
                 Thread.new { Thread.stop }, Thread.new { Queue.new.pop }]
      Thread.pass until threads.all?(&:stop?)
      states = -> { dump.then { |graph| threads.map { |thread| graph.objects.fetch(address(thread)).text[/\A.*, (.*)/, 1] } } }
      assert_equal ["sleeps for ever"] * 5, states.call
      queue << 1
      lock.unlock
      condition.signal
      threads[3].wakeup
      threads[4].kill
      assert_empty states.call - ["runs", "has ended"]
    RUBY
  end

  def test_a_mutex_says_who_has_locked_it
    in_graph_child(<<~'RUBY')
      require "monitor"
      lock, monitor, free, of_fiber = Mutex.new, Monitor.new, Mutex.new, Mutex.new
      other = Thread.new { lock.synchronize { monitor.synchronize { Thread.stop } } }
      fiber = Fiber.new { of_fiber.lock; Fiber.yield }
      fiber.resume
      Thread.pass until other.stop?
      own = Mutex.new.lock
      graph = dump
      owner = ->(object) { graph.objects.fetch(address(object)).edges.find { |edge| edge.name == "owner" }&.then { |edge| [edge.kind, edge.to] } }
      assert_equal [[:weak, address(other)], [:weak, address(Thread.current)], nil, nil], [lock, own, free, of_fiber].map(&owner)
      inside = graph.objects.fetch(address(monitor)).to.find { |at| graph.objects[at].type == "T_DATA(mutex)" }
      assert_equal address(other), graph.objects[inside].named("owner")
    RUBY
  end

  # What code refers to has a name, and is an object.
  def test_code_names_what_it_refers_to
    in_graph_child(<<~'RUBY')
      class Holder
        @@held = []
        def held = @@held
      end
      def of_code(one: [1].first) = one
      def made_once(text) = /#{text}/o
      def rescued
        raise "x"
      rescue StandardError
        LIST
      end
      LIST = [1, 2].freeze
      once = made_once("once")
      2.times { Holder.new.held; of_code; rescued }
      graph = dump
      code = graph.objects.each_value.select { |object| object.type == "T_IMEMO(iseq)" }
      named = lambda do |method, name|
        code.select { |object| object.text&.start_with?("#{method} ") }.flat_map(&:edges).filter_map { |edge| edge.to if edge.name == name }
      end
      assert_equal [address(once)], named["made_once", "made once"]
      assert_equal [address(Holder)], named["held", "class variable cache"]
      rescue_code, = named["rescued", "code of a rescue or ensure"]
      caches = graph.objects.fetch(rescue_code).edges.filter_map { |edge| edge.to if edge.name == "constant cache" }
      assert_include caches.map { |cache| graph.objects.fetch(cache).named("value") }, address(LIST)
      assert_empty code.flat_map(&:edges).select { |edge| edge.name == "call info" && !edge.to.is_a?(Integer) }
      assert_empty code.flat_map(&:edges).select { |edge| edge.kind == :unlabelled }
    RUBY
  end

  # A thread has a VM stack of 1 MB. Nearly all of that is never touched.
  def test_the_stack_of_a_thread_counts_as_far_as_it_is_in_memory
    in_graph_child(<<~'RUBY')
      def deep(levels) = levels.zero? ? Thread.stop : deep(levels - 1)
      shallow, deep = Thread.new { Thread.stop }, Thread.new { deep(5000) }
      Thread.pass until [shallow, deep].all?(&:stop?)
      stack = RubyVM::DEFAULT_PARAMS[:thread_vm_stack_size]
      [true, false].each do |fork|
        graph = dump(fork: fork)
        sizes = [shallow, deep].map { |thread| graph.objects.fetch(address(thread)).bytes }
        assert_operator sizes[0], :<, 64 << 10
        assert_operator sizes[0], :>, ObjectSpace.memsize_of(shallow) - stack
        assert_operator sizes[1], :>, sizes[0] + 5000 * 8 * 7 # a control frame has at least seven words
        assert_operator sizes[1], :<=, ObjectSpace.memsize_of(deep)
      end
    RUBY
  end

  CANARIES = <<~'RUBY'
    ENV["CANARY_ENV"] = "canary-env"
    ARGV << "canary-argv"
    keep = ["canary-string-#{1}", { "canary-key-#{2}" => 1 }, :"canary-symbol-#{3}", /canary-regexp-#{4}/,
            Object.new.tap { |object| object.instance_variable_set(:@held, "canary-ivar-#{5}") }, 1234567890123, 1234.5678e210, 1.25]
    CONSTANT = "canary-constant-#{6}"
    $global = "canary-global-#{7}".freeze
    Pair = Struct.new(:left)
    keep << Pair.new("canary-member-#{8}")
    thread = Thread.new { local = "canary-local-#{9}"; Thread.stop; local }
    thread.name = "canary-thread-#{10}"
    Thread.pass until thread.stop?
    keep << Fiber.new { |given| Fiber.yield; given }.tap { |fiber| fiber.resume("canary-fiber-#{11}") }
    keep << RuntimeError.new("canary-error-#{12}") << "canary-match-#{13}".match(/m(a)/)
    keep << "canary-closure-#{14}".then { |caught| proc { caught } }
    keep << "x".dup.tap { |text| text.instance_variable_set(:@held, "canary-generic-#{15}") }
    keep << ObjectSpace::WeakMap.new.tap { |map| map[keep[0]] = "canary-weak-#{16}" }
    keep << { :"canary-dynamic-#{17}" => 1, 1234567890124 => 2, 1235.25 => 3 }
    keep << 1234567890125 ** 9 << Rational(1234567890126, 7) << Complex(1234.75, 1)
    keep << "canary-literal-18" << :"canary-interpolated-#{19}".to_proc
    keep << Fiber.new(&:"canary-interpolated-#{19}") << Thread.new(&:"canary-interpolated-#{19}").tap { |started| started.report_on_exception = false }
  RUBY

  # Nor are they anywhere in its bytes. Literals and their like stand in code, which has names alone.
  def test_a_file_without_values_has_none
    in_graph_child(CANARIES + <<~'RUBY')
      [false, true].each do |fork|
        graph = dump(fork: fork)
        assert_empty graph.contents.scan(/canary-[a-z]+|12345678901\d\d|123[45][.]\d+/)
        assert_equal [:hidden, 0], graph.objects.fetch(address(keep)).edges[5].to
        assert_equal [:hidden, 1], graph.objects.fetch(address(keep)).edges[7].to
      end
    RUBY
  end

  def test_values_are_there_if_asked_for
    in_graph_child(CANARIES + <<~'RUBY')
      graph = dump(values: :all)
      %w[env argv string-1 key-2 symbol-3 regexp-4 ivar-5 constant-6 global-7 member-8 local-9 thread-10 fiber-11 error-12 match-13 closure-14
         generic-15 weak-16 dynamic-17 literal-18 interpolated-19].each { |name| assert_include graph.strings, "canary-#{name}" }
      assert_equal [:integer, 1234567890123], graph.objects.fetch(address(keep)).edges[5].to
      assert_equal [:float, "1.25"], graph.objects.fetch(address(keep)).edges[7].to
      assert_equal "canar", dump(values: 5).objects.fetch(address(keep[0])).text
      assert_raise_with_message(ArgumentError, /values: 0 is not known/) { HeapGraph.dump("none", values: 0) }
    RUBY
  end

  def test_equal_strings_have_equal_hashes
    in_graph_child(<<~'RUBY')
      one, same, other = "text".dup, "text".dup, "Text".dup
      graph = dump
      hashes = [one, same, other].map { |text| graph.objects.fetch(address(text)).hash_of }
      assert_equal hashes[0], hashes[1]
      assert_not_equal hashes[0], hashes[2]
      assert_equal [4, 4, 4], [one, same, other].map { |text| graph.objects.fetch(address(text)).length }
    RUBY
  end

  def test_sizes_and_flags_are_those_of_objspace
    in_graph_child(<<~'RUBY')
      large, frozen, finalized = "x" * 10_000, Object.new.freeze, "f".dup
      ObjectSpace.define_finalizer(finalized, proc { })
      4.times { GC.start }
      graph = dump
      of = ->(object) { graph.objects.fetch(address(object)) }
      assert_equal ObjectSpace.memsize_of(large), of[large].bytes
      assert_equal [true, false], [frozen, large].map { |object| of[object].bits & (1 << 7) != 0 }
      assert_equal [true, false], [finalized, large].map { |object| of[object].bits & (1 << 9) != 0 }
      assert_equal 3, of[large].bits & 3
    RUBY
  end

  def test_samples_have_their_labels
    in_graph_child(<<~'RUBY')
      class Item; end
      HeapProfile.start(interval: 1)
      items = [HeapProfile.label(endpoint: "POST /ca\u00e9rt", tenant: "a\x1fb") { Item.new }, Item.new]
      graph = dump
      doing = items.map { |item| graph.objects.fetch(address(item)).doing }
      assert_equal [{ "endpoint" => "POST /ca\u00e9rt", "tenant" => "a b" }, nil], doing
    RUBY
  end

  def test_samples_have_their_stack
    in_graph_child(<<~'RUBY')
      class Item; end
      def make = Item.new
      HeapProfile.start(interval: 1)
      items = Array.new(3) { make }
      graph = dump
      objects = items.map { |item| graph.objects.fetch(address(item)) }
      assert_equal [1000] * 3, objects.map(&:weight)
      frame = objects[0].stack
      labels = []
      while frame
        labels << frame[1]
        frame = frame[0]
      end
      assert_include labels, "Object#make"
      assert_equal 1, objects.map(&:stack).uniq.size
    RUBY
  end

  def test_files_appear_whole_or_not_at_all
    in_directory do
      ran = run_ruby("-e", <<~'RUBY')
        ObjectSpace::HeapGraph.dump("heap.rbgraph")
        puts File.stat("heap.rbgraph").mode.to_s(8)
        begin
          ObjectSpace::HeapGraph.dump("missing/heap.rbgraph")
        rescue SystemCallError => error
          puts error.message
        end
        trap("XFSZ", "DEFAULT")
        Process.setrlimit(:FSIZE, 10_000)
        begin
          ObjectSpace::HeapGraph.dump("large.rbgraph")
        rescue SystemCallError => error
          puts error.message
        end
      RUBY
      assert_clean ran, out: "100600\nNo such file or directory - missing/heap.rbgraph\nFile too large - large.rbgraph\n"
      assert_equal ["heap.rbgraph"], Dir.children(".")
    end
  end

  # With so little it fails, with so much it is there; the file is whole or is not.
  def test_without_memory_there_is_no_file
    in_graph_child(<<~'RUBY')
      kept = Array.new(300_000) { |i| Object.new.tap { |object| object.instance_variable_set(:"@name_#{i % 50}", i.to_s) } }
      bytes = File.read("/proc/self/statm").to_i * 4096
      status = lambda do |directory, fork, more|
        child = Process.fork do
          path = File.join(directory, "heap.rbgraph")
          Process.setrlimit(:AS, bytes + more)
          HeapGraph.dump(path, fork: fork)
          exit!(0)
        rescue Errno::ENOMEM, NoMemoryError
          exit!(12)
        end
        Process.wait2(child)[1].exitstatus
      end
      Dir.mktmpdir do |here|
        directories = [true, false].to_h { |fork| [fork, File.join(here, fork.to_s).tap { |path| Dir.mkdir(path) }] }
        directories.each do |fork, directory|
          assert_equal [12, []], [status.(directory, fork, 1 << 20), Dir.children(directory)]
          assert_equal 0, status.(directory, fork, 256 << 20)
        end
        directories.each_value do |directory| # last, for it makes this process larger
          assert_equal ["heap.rbgraph"], Dir.children(directory)
          assert HeapGraphFile.read(File.join(directory, "heap.rbgraph")).footer
        end
      end
      assert_equal 300_000, kept.size
    RUBY
  end

  def test_an_io_takes_it_too
    in_graph_child(<<~'RUBY')
      require "tempfile"
      Tempfile.create do |file|
        file.write("before")
        bytes = HeapGraph.dump(file)
        assert_equal 6 + bytes, File.size(file.path)
        assert_operator HeapGraphFile.new(File.binread(file.path)[6..]).objects.size, :>, 1000
      end
      reader, writer = IO.pipe
      reader.close
      assert_raise(Errno::EPIPE) { HeapGraph.dump(writer) }
    RUBY
  end

  # ---- the child that writes ----

  # A dump into a pipe that nobody reads yet: the child waits, and can be looked at.
  HELD = <<~'RUBY'
    # Of all threads.
    def children = Dir["/proc/self/task/*/children"].flat_map { |path| File.read(path).split.map(&:to_i) }

    def held_dump
      reader, writer = IO.pipe
      $held = Array.new(50_000) { Object.new }
      dumping = Thread.new { HeapGraph.dump(writer) }
      dumping.report_on_exception = false
      Thread.pass until children.size == 1
      reader.wait_readable # it has prepared itself, and waits for us to read on
      yield reader, writer, dumping, children[0]
    end
  RUBY

  def test_the_program_goes_on_while_a_child_writes
    in_graph_child(HELD + <<~'RUBY')
      signalled = 0
      trap("CHLD") { signalled += 1 }
      held_dump do |reader, writer, dumping, child|
        assert_raise(Errno::ECHILD) { Process.wait(-1) }
        assert_predicate dumping, :alive?
        assert_equal 19, Process.getpriority(Process::PRIO_PROCESS, child)
        assert_equal "1000", File.read("/proc/#{child}/oom_score_adj").chomp
        assert_equal 1, Dir.children("/proc/#{child}/fd").size
        written = Thread.new { reader.read }
        bytes = dumping.value
        writer.close
        graph = HeapGraphFile.new(written.value.b)
        assert_equal bytes, written.value.bytesize
        assert_equal ["fork", Process.pid.to_s], graph.process.values_at("mode", "pid")
        assert_operator graph.footer["pause_ns"][0].to_i, :<, graph.footer["duration_ns"][0].to_i
        assert_operator graph.footer["pause_ns"][0].to_i, :>, 0
        assert_operator graph.footer["copied_bytes"][0].to_i, :>, 100_000
        now_kb = File.read("/proc/self/status")[/VmHWM:\s*(\d+)/, 1].to_i
        assert_include 8000 * 50..now_kb * 50, graph.footer["expected_pause_ns"][0].to_i
      end
      assert_equal 0, signalled
      assert_empty children
    RUBY
  end

  def test_in_place_there_is_no_child
    in_graph_child(<<~'RUBY')
      graph = dump(fork: false)
      assert_equal "in place", graph.process["mode"]
      assert_equal graph.footer["pause_ns"], graph.footer["duration_ns"]
      assert_nil graph.footer["expected_pause_ns"]
      assert_equal %w[1 2], [graph, dump].map { |one| one.process["dump"] }
    RUBY
  end

  def test_a_child_that_is_killed_is_an_error
    in_graph_child(HELD + <<~'RUBY')
      held_dump do |reader, writer, dumping, child|
        Process.kill(:KILL, child)
        assert_raise_with_message(RuntimeError, "the process that wrote the heap graph was killed by signal 9 (SIGKILL)") { dumping.value }
      end
    RUBY
  end

  def test_an_interrupt_ends_the_child
    in_graph_child(HELD + <<~'RUBY')
      held_dump do |reader, writer, dumping, child|
        dumping.raise("enough")
        assert_raise_with_message(RuntimeError, "enough") { dumping.value }
        assert_empty children
      end
    RUBY
  end

  # Nobody takes away what it has begun; it gives the file its name itself.
  def test_a_child_finishes_when_its_parent_has_died
    in_directory do
      ran = run_ruby("-e", <<~'RUBY', env: Held.copies)
        kept = Array.new(300_000) { Object.new }
        Thread.new { ObjectSpace::HeapGraph.dump("heap.rbgraph") }
        child = nil
        Thread.pass until (child = Dir["/proc/self/task/*/children"].map { |path| File.read(path)[/\d+/] }.compact.first)
        Thread.pass until File.read("/proc/#{child}/stat")[/\) (\w)/, 1] == "T" # before it writes
        $stdout.syswrite(child)
        Process.kill(:KILL, Process.pid)
      RUBY
      Process.kill(:CONT, ran.out.to_i)
      ends = Process.clock_gettime(Process::CLOCK_MONOTONIC) + TIMEOUT
      until File.exist?("heap.rbgraph")
        flunk "no file of the child" if Process.clock_gettime(Process::CLOCK_MONOTONIC) > ends
        sleep 0.01
      end
      assert_equal ["heap.rbgraph"], Dir.children(".")
      require_relative "lib/heap_graph"
      assert_operator HeapGraphFile.read("heap.rbgraph").objects.size, :>, 300_000
    end
  end

  # Functions of extensions that never come back, or crash, but only in the child.
  def test_hostile_extensions_are_skipped_and_named
    in_graph_child(<<~'RUBY')
      require "-test-/heapprof_hostile"
      held = "held by it".dup
      hostile = [:waits, :crashes, :waits_for_size].map { |how| HeapProfHostile.new(how, held) }
      tame = HeapProfHostile.new(:tame, held)
      graph = dump
      assert_equal %w[hostile_waits hostile_crashes hostile_waits_for_size].sort, graph.footer["skipped"].sort
      assert_equal [[]] * 2, hostile.first(2).map { |object| graph.objects.fetch(address(object)).to }
      assert_equal ["hostile_tame+0x8"], graph.objects.fetch(address(tame)).edges.map(&:name)
      assert_equal 4, hostile.push(tame).size
      root = graph.roots.find { |found| found.name == "hostile_cache in heapprof_hostile.so" }
      assert_equal [:c_global, "T_ARRAY"], [root.kind, graph.objects.fetch(root.address).type]
    RUBY
  end

  # ---- from dump to dump ----

  # Read by a child, so that this process has no more objects than it wants. Objects are known by what they hold, which no other
  # has: so the truth is there to compare with.
  SURVIVORS = <<~'RUBY'
    Seen = Struct.new(:told, :marks, :survivors, :moves)

    def seen(graph)
      marks = graph.objects.each_value.select { |object| object.class_name == "Mark" && object.type == "T_OBJECT" }
      survivors = graph.objects.each_value.select { |object| object.bits & (1 << 6) != 0 }
      Seen.new(graph.process["survivors"], marks.to_h { |object| [object.address, object.named("@number")[1]] },
               survivors.to_h { |object| [object.address, true] }, graph.moves.invert)
    end

    class Mark; def initialize(number) = @number = number; end

    def dump_seen
      Dir.mktmpdir do |directory|
        path = File.join(directory, "heap.rbgraph")
        HeapGraph.dump(path, gc: true, values: 1)
        reader, writer = IO.pipe(binmode: true)
        child = fork do
          writer.write(Marshal.dump(seen(HeapGraphFile.read(path))))
          exit!
        end
        writer.close
        Marshal.load(reader.read).tap { Process.wait(child) }
      end
    end
  RUBY

  def test_survivors_are_the_same_objects
    in_graph_child(SURVIVORS + <<~'RUBY')
      random = Random.new(7)
      kept = Array.new(20_000) { |i| Mark.new(i) }
      number, reused = kept.size, 0
      before = dump_seen
      assert_equal ["0", {}], [before.told, before.survivors]
      3.times do |round|
        20_000.times do |i|
          kept[random.rand(kept.size)] = Mark.new(number += 1)
          GC.start(full_mark: round.odd?) if i == 10_000
        end
        now = dump_seen
        both = now.marks.keys & before.marks.keys
        same, others = both.partition { |address| now.marks[address] == before.marks[address] }
        assert_equal "1", now.told
        assert_empty same.reject { |address| now.survivors[address] }
        assert_empty others.select { |address| now.survivors[address] }
        reused += others.size
        before = now
      end
      assert_operator reused, :>, 100
    RUBY
  end

  # From dump to dump many are born and die, and are moved, some more than once: also to pages that were not there. Each Mark is known
  # by its number.
  def test_what_compaction_moves_stays_the_same_object
    omit "no compaction here" unless GC.respond_to?(:compact)
    in_graph_child(SURVIVORS + <<~'RUBY')
      random = Random.new(11)
      kept = Array.new(20_000) { |i| Mark.new(i) }
      number, moved = kept.size, 0
      exchange = -> { 10_000.times { kept[random.rand(kept.size)] = Mark.new(number += 1) } }
      shrink = -> { kept = kept.sample(kept.size * 2 / 3, random:) }
      grow = -> { kept.concat(Array.new(20_000) { Mark.new(number += 1) }) }
      compact = -> { GC.compact }
      before = dump_seen
      [[compact], [shrink, compact], [exchange, compact, exchange, shrink, compact, GC.method(:start)], [grow, shrink, compact, exchange],
       [exchange, shrink, -> { GC.auto_compact = true; 2.times { GC.start } }, exchange, -> { GC.auto_compact = false }]].each do |steps|
        steps.each(&:call)
        now = dump_seen
        assert_equal "1", now.told
        addresses = before.marks.invert
        same, others = now.marks.partition { |_, mark| addresses[mark] }
        moved += same.count { |address, mark| addresses[mark] != address }
        assert_equal same.map { |address, mark| [address, addresses[mark]] },
                     same.map { |address,| [address, now.survivors[address] && (now.moves[address] || address)] }
        false_survivors = others.select { |address,| now.survivors[address] && before.marks[now.moves[address] || address] }
        assert_empty false_survivors
        before = now
      end
      assert_operator moved, :>, 5000
    RUBY
  end

  # Without any more memory there is none for the planes, which are small; with some there is none for all moves. Either is
  # too little, and the dump after that is none the worse for it.
  def test_moves_that_there_is_no_memory_to_follow_leave_no_false_survivor
    omit "no compaction here" unless GC.respond_to?(:compact)
    in_graph_child(SURVIVORS + <<~'RUBY')
      def with_memory(more)
        soft, hard = Process.getrlimit(:AS)
        Process.setrlimit(:AS, File.read("/proc/self/statm").to_i * 4096 + more, hard) if more
        yield
      ensure
        Process.setrlimit(:AS, soft, hard)
      end

      random = Random.new(13)
      number = 40_000
      kept = Array.new(number) { |i| Mark.new(i) }
      exchange = -> { kept = kept.sample(kept.size / 2, random:).concat(Array.new(20_000) { Mark.new(number += 1) }) }
      before = dump_seen
      [[nil, "1"], [0, "0"], [nil, "1"], [64 << 10, "0"], [nil, "1"]].each do |more, told|
        exchange.call
        GC.start
        with_memory(more) { GC.compact }
        exchange.call
        now = dump_seen
        same = now.marks.select { |address,| now.survivors[address] && before.marks[now.moves[address] || address] }
        false_survivors = same.reject { |address, mark| before.marks[now.moves[address] || address] == mark }
        assert_equal [told, {}], [now.told, false_survivors], "#{more.inspect} bytes more"
        assert_equal told == "1", same.any?
        assert_operator now.moves.size, told == "1" ? :> : :==, 0
        assert_empty kept.map { |mark| mark.instance_variable_get(:@number) } - now.marks.values
        before = now
      end
    RUBY
  end

  def test_a_child_of_fork_says_nothing_of_survivors
    in_graph_child(SURVIVORS + <<~'RUBY')
      assert_equal %w[0 1], Array.new(2) { dump_seen.told }
      reader, writer = IO.pipe
      Process.wait(fork { writer.write(dump_seen.told); exit! })
      writer.close
      assert_equal "0", reader.read
    RUBY
  end

  # ---- by a signal ----

  # Also where the processors are so busy that children that have written are still there.
  def test_a_signal_has_a_file_written
    busy = Array.new(4) { spawn("nice", "-n", "19", EnvUtil.rubybin, "--disable-gems", "-e", "loop { }") } # as the children are
    in_directory do
      ran = run_ruby("-e", <<~'RUBY', env: { "RUBY_HEAPGRAPH" => "signal=URG,out=heap-%n.rbgraph" })
        kept = Array.new(1000) { Object.new }
        30.times do |i| # as soon as one file is there the next may be asked for
          Process.kill(:URG, Process.pid)
          sleep 0.001 until File.exist?("heap-#{i + 1}.rbgraph")
        end
        puts kept.size, $stderr.sync
      RUBY
      assert_clean ran
      require_relative "lib/heap_graph"
      assert_equal Array.new(30) { |i| "heap-#{i + 1}.rbgraph" }.sort, Dir.children(".").sort
      graphs = [1, 30].map { |number| HeapGraphFile.read("heap-#{number}.rbgraph") }
      assert_equal [%w[fork 1], %w[fork 30]], graphs.map { |graph| graph.process.values_at("mode", "dump") }
    end
  ensure
    busy.each { |pid| Process.kill(:KILL, pid) && Process.wait(pid) }
  end

  # Nobody wakes them, and nothing is raised.
  def test_threads_that_sleep_and_ractors_need_not_answer
    in_directory do
      ran = run_ruby("-e", <<~'RUBY', env: { "RUBY_HEAPGRAPH" => "signal=URG,out=heap-%n.rbgraph" })
        asked = ->(number) do
          system("kill", "-URG", Process.pid.to_s)
          sleep 0.01 until File.exist?("heap-#{number}.rbgraph")
        end
        local = Thread.new { kept = "in a thread"; Thread.stop; kept }
        Thread.pass until local.stop?
        asked.(1)
        $VERBOSE = nil
        ractor = Ractor.new { Ractor.receive }
        asked.(2)
        ractor.send(1)
        busy = Thread.new { loop { } }
        asked.(3)
        asked.(4)
        busy.kill
        local.run.value
      RUBY
      assert_clean ran
      require_relative "lib/heap_graph"
      4.times do |i|
        graph = HeapGraphFile.read("heap-#{i + 1}.rbgraph")
        assert graph.footer
        locals = graph.objects.each_value.flat_map { |object| object.edges.filter_map { |edge| edge.name if edge.kind == :local } }
        assert_equal 1, locals.grep(/\Akept in block in <main> at /).size
      end
    end
  end

  def test_profiles_and_dumps_have_a_signal_each
    in_directory do
      ran = run_ruby("-e", <<~'RUBY', heapprof: "signal=URG,out=profile-%n", env: { "RUBY_HEAPGRAPH" => "signal=USR1,out=graph-%n" })
        { URG: "profile", USR1: "graph" }.cycle(2) do |signal, name|
          before = Dir["#{name}-*"].size
          Process.kill(signal, Process.pid)
          sleep 0.01 until Dir["#{name}-*"].size > before
        end
      RUBY
      assert_clean ran
      assert_equal %w[graph-1 graph-2 profile-1 profile-2 profile-3], Dir["{graph,profile}-*"].sort
    end
    in_directory do
      ran = run_ruby("-e", "puts 1", heapprof: "signal=URG,out=profile-%n", env: { "RUBY_HEAPGRAPH" => "signal=URG" })
      assert_one_line(/RUBY_HEAPGRAPH: the signal has another handler already, so it writes no dump$/, ran.err)
    end
  end

  def test_a_dump_that_takes_too_long_is_refused
    in_directory do
      ran = run_ruby("-e", "#{NEXT_LINE} { Process.kill(:URG, $$) }", env: { "RUBY_HEAPGRAPH" => "signal=URG,max_pause=0.000001" })
      assert_one_line(/no dump: the program would wait for about 0\.\d+ s, and max_pause is 1e-06$/, ran.err)
      assert_empty Dir.children(".")
      ran = run_ruby("-e", "#{NEXT_LINE} { Process.kill(:URG, $$) }", env: { "RUBY_HEAPGRAPH" => "signal=URG,out=missing/heap" })
      assert_one_line(%r{cannot write .*/missing/heap: No such file or directory$}, ran.err)
    end
  end

  def test_settings_that_are_wrong_are_one_line
    { "signal=KILL" => /signal=KILL: expected USR1, USR2/, "out=%q,signal=URG" => /out=%q: expected a file name/,
      "max_pause=x" => /max_pause=x: expected seconds/, "what=1" => /what=1: expected signal, out or max_pause/,
      "out=x" => /out=x: expected signal=/ }.each do |settings, message|
      ran = run_ruby("-e", "puts 1", env: { "RUBY_HEAPGRAPH" => settings })
      assert_equal "1\n", ran.out
      assert_one_line(message, ran.err)
    end
  end

  # ---- from C ----

  def test_c_extensions_dump_it_as_well
    in_graph_child(<<~'RUBY')
      require "-test-/heapprof_capi"
      Dir.mktmpdir do |directory|
        path = File.join(directory, "heap.rbgraph")
        written, error, size = HeapProfCAPI.dump_graph(path, nil, 0)
        assert_equal [File.size(path), 0], [written, error]
        assert_equal "fork", HeapGraphFile.read(path).process["mode"]
        assert_equal 0, HeapProfCAPI.dump_graph(path, size + 8, 0)[1]
        assert_equal [-1, Errno::EINVAL::Errno], HeapProfCAPI.dump_graph(path, size + 8, 1).first(2)
        assert_equal [-1, Errno::EINVAL::Errno], HeapProfCAPI.dump_graph(path, 8, 0).first(2)
        assert_equal [-1, Errno::ENOENT::Errno], HeapProfCAPI.dump_graph(File.join(directory, "none/heap"), nil, 0).first(2)
      end
    RUBY
  end

  # ---- whatever the collector is about ----

  # Objects whose references are known, half of them old, and what the file has of them.
  KNOWN = <<~'RUBY'
    class Known; def initialize(number) = (@number, @list = number, [number.to_s]); end

    def known = @known ||= Array.new(8_000) { |i| GC.start if i == 4_000; Known.new(i) }

    def assert_known(graph)
      assert graph.footer
      assert_equal known.size, graph.objects.each_value.count { |object| object.class_name == "Known" && object.type == "T_OBJECT" }
      known.each_with_index do |object, i|
        next unless (i % 97).zero?
        found = graph.objects.fetch(address(object))
        assert_equal [[:integer, i], address(object.instance_variable_get(:@list))], [found.named("@number"), found.named("@list")]
      end
      reached = graph.reachable
      assert_empty reached.keys.reject { |at| graph.objects[at] }
      assert reached[address(known.last)]
    end
  RUBY

  # A dump is made where the collector is, and changes nothing of that. The first allocation after GC.start finds no slot at
  # hand, and may end what was begun; so it is made before.
  def test_while_the_collector_marks_or_sweeps
    in_graph_child(KNOWN + <<~'RUBY')
      def bring_collector_to(state, settings)
        10.times do
          GC.start(**settings)
          "first".dup
          return if GC.latest_gc_info(:state) == state
        end
        flunk "the collector is not #{state}"
      end

      # So many that marking takes many steps: a step comes with some allocations, and the dump makes a few.
      many = Array.new(50_000) { [] }
      GC.start
      known
      Dir.mktmpdir do |directory|
        path = File.join(directory, "heap.rbgraph")
        { marking: { immediate_mark: false, immediate_sweep: false }, sweeping: { immediate_sweep: false } }.each do |state, settings|
          [true, false].each do |fork|
            many.replace(Array.new(many.size) { [] }) if state == :sweeping # garbage, for many steps
            bring_collector_to(state, settings)
            HeapGraph.dump(path, fork: fork)
            assert_equal state, GC.latest_gc_info(:state)
            assert_known(HeapGraphFile.read(path))
          end
        end
      end
    RUBY
  end

  def test_while_each_allocation_collects
    in_graph_child(KNOWN + <<~'RUBY')
      known
      Dir.mktmpdir do |directory|
        path = File.join(directory, "heap.rbgraph")
        [[true, false], [false, true]].each do |fork, gc|
          GC.stress = true
          HeapGraph.dump(path, fork: fork, gc: gc)
          GC.stress = false
          assert_known(HeapGraphFile.read(path))
        end
      end
    RUBY
  end

  def test_gc_true_is_a_full_gc_with_its_finalizers
    in_graph_child(<<~'RUBY')
      class Gone; end
      finalized = 0
      make = -> { Thread.new { 100.times { ObjectSpace.define_finalizer(Gone.new, proc { finalized += 1 }) } }.join }
      count = ->(graph) { graph.objects.each_value.count { |object| object.class_name == "Gone" } }
      GC.disable
      make.call
      assert_equal [100, 0], [count[dump], finalized]
      GC.enable
      left = count[dump(gc: true)]
      assert_operator left, :<, 10 # a word on a stack
      assert_equal 100 - left, finalized
    RUBY
  end

  def test_compiled_code_refers_to_what_marking_finds
    omit "this ruby was built without YJIT" unless defined?(RubyVM::YJIT)
    in_child(PRELUDE + SAME + <<~'RUBY', "-r#{READER}", "-robjspace", "--yjit", "--yjit-call-threshold=2")
      class Shape; def initialize(i) = (@a, @b = i, [i]); def sum = @a + @b.sum; end
      keep = Array.new(5000) { |i| Shape.new(i) }
      10.times { keep.each(&:sum).map { |one| one.sum.to_s }.sort_by(&:size) }
      Dir.mktmpdir do |directory| # what both calls is compiled then
        3.times do
          HeapGraph.dump(File.join(directory, "heap.rbgraph"))
          all_objects(directory)
        end
      end
      assert_operator RubyVM::YJIT.runtime_stats[:compiled_iseq_count], :>, 20
      assert_same_references
      graph = dump(gc: true)
      assert_empty graph.reachable.keys.reject { |at| graph.objects[at] }
    RUBY
  end

  # The child takes no lock of malloc's, which others have while it is made.
  SETUP = "require #{READER.dump}\nrequire 'objspace'\n" + PRELUDE + KNOWN

  under_each_allocator "dumps_while_threads_allocate", <<~'RUBY'
    known
    busy = Array.new(3) { Thread.new { loop { Array.new(100) { |i| "x" * (1000 + i) } } } }
    Dir.mktmpdir do |directory|
      paths = Array.new(5) { |i| File.join(directory, i.to_s) }
      paths.each { |path| HeapGraph.dump(path) }
      busy.each(&:kill).each(&:join)
      paths.values_at(0, -1).each { |path| assert_known(HeapGraphFile.read(path)) }
    end
  RUBY

  # ---- heaps of all kinds ----

  HEAPS = {
    fibers: "keep = Array.new(1000) { |i| Fiber.new { |a| b = [a, i]; Fiber.yield; b }.tap { |fiber| fiber.resume(i.to_s) } }",
    threads: "keep = Array.new(20) { |i| Thread.new { a = [i]; Thread.stop; a } }; Thread.pass until keep.all?(&:stop?)",
    ractors: "Warning[:experimental] = false
      keep = Array.new(3) { Ractor.new { main = Thread.current; Thread.new { Thread.pass until main.stop?; Ractor.main << 1 }; Ractor.receive } }
      3.times { Ractor.receive }",
    "too complex": 'class K; end; keep = Array.new(3000) { |i| K.new.tap { |k| k.instance_variable_set("@v#{i}", [i]) } }',
    "weak maps": "k = Array.new(100) { [1] }; keep = ObjectSpace::WeakMap.new; k.each { |e| keep[e] = e.dup }",
    compaction: "GC.auto_compact = true; keep = Array.new(10_000) { [1.to_s] }; GC.compact",
    libraries: "keep = %w[rdoc json optparse socket date].each { |library| require library }",
    stress: "keep = []; GC.stress = true; 20.times { |i| keep << [i.to_s] }; GC.stress = false",
  }.freeze

  # What all that is known to be alive refers to is in the file, and is reached.
  HEAPS.each do |name, script|
    define_method("test_heap_of_#{name.to_s.tr(" ", "_")}") do
      in_graph_child(SAME + script + "\n" + <<~'RUBY')
        assert_same_references
        graph = dump(gc: true)
        reached = graph.reachable
        assert_empty reached.keys.reject { |at| graph.objects[at] }
        assert_equal true, reached[address(keep)]
      RUBY
    end
  end
end
