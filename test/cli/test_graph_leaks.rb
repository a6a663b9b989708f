# frozen_string_literal: true
#
# test_graph_leaks.rb - leaks of the kinds people have, planted in a program that dumps itself: heapprof graph names each by its
# place, with the way to it and where it was allocated.

require_relative "lib/heapprof_command"

class TestHeapprofGraphLeaks < Test::Unit::TestCase
  include HeapprofCommand

  # Runs the program; each call of dump writes 1.graph, 2.graph ...
  def dumps(program, *options)
    in_directory do
      write("program.rb", <<~RUBY)
        DUMPS = []
        def dump
          GC.start
          ObjectSpace::HeapGraph.dump("\#{DUMPS.size + 1}.graph", gc: true)
          DUMPS << nil
        end
        #{program}
      RUBY
      _, err, status = EnvUtil.invoke_ruby(["--disable-gems", *options, "program.rb"], "", true, true, timeout: 120)
      assert_equal ["", true], [err, status.success?]
      yield
    end
  end

  def suspects = heapprof!("graph", "report", "1.graph", "--json").json["suspects"].map { |suspect| suspect["text"] }

  # The first suspect's words.
  def assert_named(words, program)
    dumps(program) { assert_match words, suspects[0] }
  end

  def test_a_global_variable
    assert_named(/\A`\$leak` keeps [\d.]+ MB \(\d+\.\d%\), gathered in one Array of 40,000 String; alive by global \$leak\z/, <<~RUBY)
      $leak = Array.new(40_000) { |i| "item \#{i} " * 5 }
      dump
    RUBY
  end

  def test_a_constant_and_what_hangs_on_it
    assert_named(/\A`Cart::CACHE` keeps .* gathered in one Hash of 30,000 Order; alive by constant Cart::CACHE -> @items\z/, <<~RUBY)
      class Order; def initialize(i) = @name = "order \#{i} " * 5; end
      class Cart
        CACHE = new
        def items = @items ||= {}
      end
      30_000.times { |i| Cart::CACHE.items[i] = Order.new(i) }
      dump
    RUBY
  end

  def test_a_class_variable
    assert_named(/\A`Cart.@@all` keeps .* gathered in one Array of 40,000 String; alive by @@all of Cart\z/, <<~RUBY)
      class Cart
        @@all = []
        def self.add(text) = @@all << text
      end
      40_000.times { |i| Cart.add("item \#{i} " * 5) }
      dump
    RUBY
  end

  def test_a_local_that_a_closure_has_caught
    assert_named(/\A`Bus.@subscribers` keeps .* gathered in one Array of 40,000 String; alive by @subscribers of Bus -> \[0\] -> .*local big\z/, <<~RUBY)
      class Bus
        @subscribers = []
        def self.on(&block) = @subscribers << block
      end
      def subscribe
        big = Array.new(40_000) { |i| "item \#{i} " * 5 }
        Bus.on { big.size }
      end
      subscribe
      dump
    RUBY
  end

  # A few of them may lie on the machine stack, too.
  def test_many_subscribers
    assert_named(/\A`Bus.@subscribers` keeps .* gathered in one Array of (?:3,000|2,9\d\d) Proc; alive by @subscribers of Bus\z/, <<~RUBY)
      class Bus
        @subscribers = []
        def self.on(&block) = @subscribers << block
      end
      def subscribe(i)
        name = "subscriber \#{i} " * 50
        Bus.on { name }
      end
      3000.times { |i| subscribe(i) }
      dump
    RUBY
  end

  def test_a_thread_local
    assert_named(/keeps .* gathered in one Array of 40,000 String; alive by .*Thread.* log\z/, <<~RUBY)
      Thread.current[:log] = Array.new(40_000) { |i| "item \#{i} " * 5 }
      dump
    RUBY
  end

  def test_a_list
    assert_named(/\A`\$head` keeps .* gathered in a list of 20,000 Node; alive by global \$head\z/, <<~RUBY)
      class Node
        def initialize(rest)
          @text = "node " * 20
          @rest = rest
        end
      end
      20_000.times { $head = Node.new($head) }
      dump
    RUBY
  end

  def test_where_it_was_allocated
    dumps(<<~RUBY) do
      ObjectSpace::HeapProfile.start(interval: 512)
      $leak = Array.new(20_000) { |i| "item \#{i} " * 5 }
      dump
    RUBY
      line = File.readlines("program.rb").index { |text| text.start_with?("$leak") } + 1
      assert_match(/alive by global \$leak; allocated at .*program\.rb:#{line} /, suspects[0])
      assert_match(/program\.rb:#{line} /, heapprof!("graph", "top", "1.graph", "--group", "stack").out.lines[2])
    end
  end
end
