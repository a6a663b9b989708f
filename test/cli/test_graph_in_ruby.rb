# frozen_string_literal: true
#
# test_graph_in_ruby.rb - HeapGraph.load (lib/heapprof/graph.rb): the objects that it answers with are what heapprof graph says of
# the same dumps, they are frozen, and what goes wrong is an exception with the program's line.

require_relative "lib/heapprof_command"

class TestHeapprofGraphInRuby < Test::Unit::TestCase
  include HeapprofCommand

  # What the scripts below begin with: two dumps of one process, and how a node, a frame or any other answer looks as JSON.
  PRELUDE = <<~'RUBY'
    require "json"
    require "heapprof/program"
    HeapGraph = ObjectSpace::HeapGraph
    class Cart
      def initialize = (@items = Array.new(10) { "item" * 100 })
    end
    def dump(name)
      HeapGraph.dump(name, gc: true)
      HeapGraph.load(name)
    end
    def plain(answer)
      case answer
      when ObjectSpace::HeapProfile::Frame then { "file" => answer.path, "line" => answer.lineno, "method" => answer.label }
      when Data then answer.to_h.to_h { |key, value| [key.name, plain(value)] }
      when Array then answer.map { |value| plain(value) }
      else answer
      end
    end
  RUBY

  def in_ruby(script)
    in_directory do
      File.write("script.rb", "#{PRELUDE}Heapprof::Program.path = #{PROGRAM.dump}\n#{script}")
      env = { "RUBY_HEAPPROF" => nil, "RUBYOPT" => nil }
      out, err, status = Open3.capture3(env, EnvUtil.rubybin, "--disable-gems", "-W0", "script.rb")
      assert status.success?, err
      assert_empty err
      yield out if block_given?
    end
  end

  TWO_DUMPS = <<~'RUBY'
    ObjectSpace::HeapProfile.start(interval: 1)
    $carts = Array.new(10) { Cart.new }
    before = dump("before.rbgraph")
    $carts.concat(Array.new(3000) { Cart.new })
    after = dump("after.rbgraph")
  RUBY

  # A question in Ruby, and the words of the command.
  QUESTIONS = {
    "before.top" => %w[top before.rbgraph],
    "before.top(group: :stack, retained: true, limit: 3)" => %w[top before.rbgraph --group=stack --retained --count=3],
    "before.top(group: :file, limit: 0)" => %w[top before.rbgraph --group=file --count=0],
    "before.why(Cart)" => %w[why before.rbgraph Cart],
    "before.why('Cart', limit: 1)" => %w[why before.rbgraph Cart --count=1],
    "after.report(least: 1, limit: 3)" => %w[report after.rbgraph --least=1 --count=3],
    "before.query" => %w[query before.rbgraph],
    "before.query('String with bytes > 100', sort: :bytes, limit: 2)" =>
      ["query", "before.rbgraph", "String with bytes > 100", "--sort=bytes", "--count=2"],
    "before.diff('after.rbgraph', limit: 0)" => %w[diff before.rbgraph after.rbgraph],
    "before.diff(after, group: :class, limit: 0)" => %w[diff before.rbgraph after.rbgraph --group=class]
  }.freeze

  # Ruby's names of fields, where they are not the JSON's.
  def ruby_names(json)
    return json.map { |value| ruby_names(value) } if json.is_a?(Array)
    return json unless json.is_a?(Hash)
    json = json.to_h { |key, value| [key, ruby_names(value)] }
    json["class_name"] = json.delete("class") if json.key?("class")
    %w[new freed].each do |key|
      amount = json.delete(key) or next
      json["#{key}_objects"] = amount.is_a?(Hash) ? amount["objects"] : amount
      json["#{key}_bytes"] = amount["bytes"] if amount.is_a?(Hash)
    end
    json["rows"] = json.delete("classes") if json.key?("classes")
    json
  end

  # Whether an answer has each value of the JSON, and is nil where the JSON says nothing.
  def assert_answer(expected, answer, question)
    case expected
    when Array
      assert_equal expected.size, answer.size, question
      expected.zip(answer) { |one, other| assert_answer(one, other, question) }
    when Hash
      assert_empty expected.keys - answer.keys, question
      answer.each { |key, value| expected.key?(key) ? assert_answer(expected[key], value, question) : assert_nil(value, "#{question}: #{key}") }
    else
      assert_equal expected, answer, question
    end
  end

  def test_answers_are_those_of_the_commands
    in_ruby("#{TWO_DUMPS}puts [#{QUESTIONS.keys.join(", ")}].map { |answer| JSON.generate(plain(answer)) }") do |out|
      out.lines.zip(QUESTIONS) do |line, (question, command)|
        json = JSON.parse(heapprof!("graph", *command, "--json").out)
        assert_answer ruby_names(json), JSON.parse(line), question
      end
    end
  end

  def test_an_object_has_the_ways_that_lead_to_it
    in_ruby(TWO_DUMPS + <<~'RUBY') do |out|
      cart = before.query("Cart", limit: 1).rows.first
      way, = before.why(cart.address)
      same, = before.why(cart.address.to_i(16))
      p way == same, way.objects, way.bytes == cart.bytes, way.example.address == cart.address, way.way
    RUBY
      assert_equal "true\n1\ntrue\ntrue\n\"global $carts -> [9]\"\n", out.sub(/\[\d\]/, "[9]")
    end
  end

  def test_the_dump_knows_what_info_says
    in_ruby("#{TWO_DUMPS}puts JSON.generate(plain(before))") do |out|
      info, dump = JSON.parse(heapprof!("graph", "info", "before.rbgraph", "--json").out), JSON.parse(out)
      assert_equal info.slice(*%w[objects bytes references roots sampled_objects complete]), dump.slice(*%w[objects bytes references roots sampled_objects complete])
      assert_equal [File.realpath("before.rbgraph"), info["process"].to_h], [dump["path"], dump["process"]]
    end
  end

  def test_answers_are_frozen_and_have_a_text
    in_ruby(TWO_DUMPS + <<~RUBY) do |out|
      answers = [before, #{QUESTIONS.keys.join(", ")}]
      answers.each { |answer| Ractor.shareable?(answer) or abort(answer.inspect) }
      puts before, before.diff(after, limit: 1), before.diff(after, group: :class, limit: 1), before.why(Cart, limit: 1), before.query("Cart", limit: 1)
      puts before.top(limit: 1), after.report(limit: 1)
    RUBY
      lines = out.lines(chomp: true)
      assert_match(/\A#<ObjectSpace::HeapGraph::Dump before\.rbgraph: \d+ objects, \d+ bytes>\z/, lines.shift)
      assert_match(/\A\d+ bytes alive at first, \d+ at last: \+\d+\z/, lines.shift)
      assert_match(/\A\+\d+  .*Cart/, lines.shift)
      assert_equal "by class", lines.shift
      assert_match(/\A\+\d+ bytes  \S+: \d+, then \d+ objects\z/, lines.shift)
      assert_match(/\A10 objects, \d+ bytes: global \$carts -> /, lines.shift)
      assert_match(/\A10 objects, \d+ bytes, \d+ retained\z/, lines.shift)
      assert_match(/\ACart 0x\h+, which retains \d+ bytes: global \$carts -> /, lines.shift)
      assert_match(/\A\S+: \d+ objects?, \d+ bytes?, \d+ retained\z/, lines.shift)
      assert_match(/\A\d+ objects alive, \d+ bytes; 1 suspect\z/, lines.shift)
      assert_match(/\A1\. .*carts/, lines.shift)
      assert_empty lines
    end
  end

  # A name of anybody's is no option, and is shown with its control characters escaped.
  def test_a_class_may_be_called_like_an_option
    in_ruby(TWO_DUMPS + <<~'RUBY') do |out|
      begin
        before.why("--output=x")
      rescue ArgumentError => error
        puts error.message
      end
      odd = Class.new.tap { |klass| klass.set_temporary_name("odd\e[31m") }
      $odd = odd.new
      p dump("odd.rbgraph").query("text != 1", limit: 0).rows.none? { |row| row.to_s.include?("\e") }
    RUBY
      first, second = out.lines(chomp: true)
      assert_match(/no live object has the address or class --output=x; .*\z/, first)
      assert_equal "true", second
    end
  end

  def test_what_is_wrong_is_an_exception_with_the_programs_line
    in_ruby(<<~'RUBY') do |out|
      dump = dump("heap.rbgraph")
      File.write("text", "no dump")
      File.binwrite("cut", File.binread("heap.rbgraph")[0, File.size("heap.rbgraph") / 2])
      def refused
        yield
        puts "nothing raised"
      rescue StandardError => error
        puts "#{error.class}: #{error.message}"
      end
      refused { HeapGraph.load("none") }
      refused { HeapGraph.load("text") }
      p HeapGraph.load("cut").complete
      refused { dump.why("Nope") }
      refused { dump.why(Class.new) }
      refused { dump.query("foo bar") }
      refused { dump.top(group: :colour) }
      refused { dump.diff }
      refused { dump.top(limit: "x") }
      Heapprof::Program.path = "/nowhere/heapprof"
      refused { dump.top }
      puts Heapprof::Program.path, (Heapprof::Program.path = nil).inspect
    RUBY
      lines = out.lines(chomp: true)
      assert_match(/\AErrno::ENOENT: .*none\z/, lines.shift)
      assert_match(%r{\AArgumentError: heapprof graph info: .*/text: }, lines.shift)
      assert_equal "false", lines.shift
      assert_match(/\AArgumentError: heapprof graph why: .*: no live object has the address or class Nope; .*\z/, lines.shift)
      assert_match(/\AArgumentError: #<Class:.*> has no name: give an address\z/, lines.shift)
      assert_match(/\AArgumentError: heapprof graph query: column 1: /, lines.shift)
      assert_match(/\AArgumentError: heapprof graph top: --group=colour: /, lines.shift)
      assert_match(/\AArgumentError: a later dump is needed/, lines.shift)
      assert_match(/\AArgumentError: invalid value for Integer/, lines.shift)
      assert_match(%r{\ARuntimeError: cannot run the program heapprof: .*/nowhere/heapprof.*in PATH}, lines.shift)
      assert_equal ["/nowhere/heapprof", "nil"], lines
    end
  end

  # A program that does not end by itself, and writes its pid first.
  def test_a_program_is_ended_with_the_thread_that_waits_for_it
    in_ruby(<<~'RUBY') { |out| assert_equal "true\ntrue\nended: true\n", out }
      File.write("slow", "#!/bin/sh\necho $$ >pid.new\nmv pid.new pid\nexec sleep 600\n")
      File.chmod(0o755, "slow")
      Heapprof::Program.path = File.expand_path("slow")
      File.write("file", "")
      thread = Thread.new { HeapGraph.load("file") }
      sleep 0.01 until File.exist?("pid")
      pid = Integer(File.read("pid"))
      p Process.kill(0, pid) == 1
      thread.kill.join
      p((Process.kill(0, pid) rescue true))
      File.write("slow", "#!/bin/sh\nkill -9 $$\n")
      puts "ended: #{(HeapGraph.load("file") rescue $!.message.include?("was ended: pid"))}"
    RUBY
  end

  def test_other_code_may_wait_for_all_children
    in_ruby(<<~'RUBY') { |out| assert_equal "true\nArgumentError\n", out }
      trap("CHLD") { Process.wait(-1, Process::WNOHANG) rescue nil }
      waiter = Thread.new { loop { Process.wait(-1) rescue sleep(0.001) } }
      dump = dump("heap.rbgraph")
      p dump.objects.positive?
      p((dump.why("Nope") rescue $!.class))
    RUBY
  end
end
