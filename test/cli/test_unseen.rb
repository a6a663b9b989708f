# frozen_string_literal: true
#
# test_unseen.rb - whatever names a profile, a dump or a command line has: what a terminal obeys, and what is not seen, comes out of no
# command. Of processes that run this is ../attach/test_unseen.rb, of the program itself ../ruby/test_unseen.rb.

require_relative "lib/graph_bytes"
require_relative "lib/heapprof_command"
require_relative "lib/unseen"

class TestHeapprofUnseen < Test::Unit::TestCase
  include HeapprofCommand
  include Unseen

  # All that a profile may say.
  def hostile(number = 0)
    profile = ProfileBytes.new
    profile.type("alloc_space", "bytes").type("inuse_space", "bytes").type("inuse_objects", "count").type(NAME, NAME)
    profile.comment("interval: 512 bytes").comment("pid: 7").comment("host: #{NAME}").comment("directory: /srv/#{NAME}")
    profile.comment("program: #{NAME}").comment("#{NAME}: #{NAME}").comment(NAME)
    3.times do |i|
      frames = ["/srv/#{PATH}/#{i}.rb:12 #{PATH}", "/g/gems/#{PATH}-1.0/lib/x.rb:7 #{PATH}#x", "/srv/app.rb:3 <main>"]
      grown = 1000 * (1 + number) * (i + 1)
      profile.sample(frames, [2 * grown, grown, 10, grown], class: NAME, owner: NAME, caller: "f (#{NAME})", NAME => NAME, gc_age: 2)
    end
    profile.sample([":0 [VM] #{PATH}"], [0, 0, 0, 5])
    profile.add(3, ProfileBytes.number(1, 1) + ProfileBytes.number(5, profile.string(NAME))) # a mapping
    profile.add(11, ProfileBytes.number(1, profile.string(NAME)) + ProfileBytes.number(2, profile.string(NAME))) # what a period is of
    profile.add_number(12, 7)
    profile.add_number(9, 5_000 + number)
    profile
  end

  def assert_all_seen(*arguments, status: nil, **options)
    ran = heapprof(*arguments, **options)
    assert_equal status, ran.status, "#{arguments.inspect}: #{ran.err}" if status
    assert_seen ran.out, arguments.inspect, lines: arguments.include?("csv") ? "\r\n" : "\n"
    assert_seen ran.err, arguments.inspect
    ran
  end

  def test_profiles
    in_directory do
      files = Array.new(3) { |i| write("#{i}.pb.gz", hostile(i)) }
      groups = ["site", "function", "class", "file", "gem", "app", "label:caller", "label:#{NAME}"]
      ["inuse_space", NAME].each do |by|
        groups.each do |group|
          [[], ["--json"]].each do |json|
            assert_all_seen("top", files[0], "--group", group, "--by", by, *json, status: 0)
            assert_all_seen("diff", *files, "--group", group, "--by", by, *json, status: 0)
          end
        end
        assert_all_seen("top", files[0], "--by", by, status: 0)
        assert_all_seen("diff", *files.first(2), "--by", by, status: 0)
        %w[collapsed speedscope json csv svg callgrind firefox].each do |format|
          ran = assert_all_seen("convert", files[0], "--to", format, "--by", by, status: 0)
          assert_include ran.json.to_s, "\u{200b}" if %w[speedscope json firefox].include?(format) # the same text
        end
      end
      assert_all_seen("info", files[0], status: 0)
      assert_equal NAME, assert_all_seen("info", files[0], "--json", status: 0).json["comments"].last
      ran = heapprof("view", files[0], "-o", "-")
      assert_seen ran.out[/^.*"strings".*$/], "view"
      assert_all_seen("merge", files[0], write("cpu.pb", ProfileBytes.new.type("cpu", NAME).raw), status: 1)
      assert_all_seen("top", files[0], "--by=nothing", status: 1)
    end
  end

  def graph(values: {})
    graph = GraphBytes.new
    %i[time pid].each { |key| graph.fact(key.to_s, "1") }
    graph.fact(NAME, NAME)
    graph.fact(NAME, NAME, :footer)
    stack = graph.stack("/srv/#{PATH}.rb:12 #{PATH}", "/srv/app.rb:3 <main>")
    strings = Array.new(3) { graph.object("String", 1000, type: "T_STRING", text: NAME, stack: stack, hash: 4711, length: 900) }
    cart = graph.object(NAME, 80, labels: { [:IVAR, "@#{NAME}"] => strings[0], [:CONSTANT, NAME] => strings[1] }, stack: stack)
    named = graph.object("Class", 400, type: "T_CLASS", text: NAME, labels: { [:CONSTANT, NAME] => cart })
    hash = graph.object("Hash", 900, type: "T_HASH", tail: [[graph.symbol(NAME), strings[2]], [graph.symbol("a"), named]], stack: stack, length: 2)
    graph.root(:GLOBAL, "$#{NAME}", hash, category: NAME)
    graph.root(:C_GLOBAL, NAME, cart)
    [graph.bytes, hash, cart, named]
  end

  def test_object_graphs
    in_directory do
      bytes, *objects = graph
      2.times { |i| File.binwrite("#{i}.graph", bytes) }
      [[], ["--json"]].each do |json|
        %w[info report tree dups pages].each { |command| assert_all_seen("graph", command, "0.graph", *json, status: 0) }
        %w[class file line age].each do |by|
          assert_all_seen("graph", "top", "0.graph", "--by", by, *json)
          assert_all_seen("graph", "top", "0.graph", "--by", by, "--retained", *json)
        end
        [NAME, "String", *objects.map { |object| format("%#x", object) }].each do |what|
          assert_all_seen("graph", "why", "0.graph", what, *json)
          assert_all_seen("graph", "show", "0.graph", what, *json)
        end
        assert_all_seen("graph", "diff", "0.graph", "1.graph", *json, status: 0)
      end
      %w[dot jsonl heapsnapshot].each { |format| assert_all_seen("graph", "convert", "0.graph", "--to", format, status: 0) }
      [%w[0.graph], %w[0.graph 1.graph]].each do |files|
        ran = heapprof("graph", "view", *files, "-o", "-")
        assert_seen ran.out[/^.*"kind":"graph".*$/], "graph view"
      end
    end
  end

  # A thread that waits in code of that name, for an object of a class of that name.
  def test_stuck_threads
    in_directory do
      graph = GraphBytes.new
      queue, code = graph.object(NAME, 80, type: "T_DATA(queue)"), graph.object(NAME, 80, type: "T_IMEMO(iseq)")
      thread = graph.object(NAME, 400, type: "T_DATA(VM/thread)", text: "/srv/#{PATH}.rb:1 (#{NAME}), sleeps for ever",
                                       labels: { [:FIELD, "waits for"] => queue, [:FIELD, "code in #{PATH}#x at /srv/#{PATH}.rb:1"] => code })
      graph.root(:ROOT, "ractor", graph.object("Ractor", 80, type: "T_DATA(ractor)", labels: { [:FIELD, "thread"] => thread }))
      graph.fact("skipped", NAME, :footer)
      File.binwrite("0.graph", graph.bytes)
      assert_match(/\A1 thread is stuck/, assert_all_seen("graph", "stuck", "0.graph", status: 0).out)
      assert_equal 1, assert_all_seen("graph", "stuck", "0.graph", "--json", status: 0).json["threads"]
    end
  end

  COMMANDS = `#{PROGRAM} help`.scan(/^  (\S+(?: \S+)?)  +/).flatten.freeze

  # What is wrong with a name is said with the name.
  def test_messages
    in_directory do
      assert_operator COMMANDS.size, :>, 20
      weird = FILE
      File.write(weird, "no profile")
      (COMMANDS - ["serve"]).each do |command|
        words = command.split
        [[weird], [weird, weird], ["--#{weird}"], ["--#{weird}=x"], ["--core=#{weird}"], ["none#{weird}"], ["none#{weird}", "x"],
         ["--group=#{weird}", "x"], ["--by=#{weird}", "x"], ["--to=#{weird}", "x"], ["--count=#{weird}", "x"], ["--focus=(#{weird}", "x"],
         ["--output=#{weird}/x", "x"], ["--keep=#{weird}", "1"], ["--every=#{weird}", "1"], ["--memory=#{weird}", "x"], ["--", "./none#{weird}"]].each do |arguments|
          assert_all_seen(*words, *arguments)
        end
      end
      assert_all_seen(weird, status: 2)
      assert_all_seen("graph", weird, status: 2)
      assert_all_seen("serve", "--listen=#{weird}/x", status: 1)
    end
  end
end
