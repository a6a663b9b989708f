# frozen_string_literal: true
#
# test_dead_objects.rb - heapprof memcheck --objects: an object that nothing marks is found where it is used, with the Ruby lines that
# allocated it and that collected it; and its good twin is not.
#
# A run under Valgrind takes seconds, so all bad ways are in one process, and all good ways in another.

require_relative "../cli/lib/heapprof_command"

class TestHeapprofDeadObjects < Test::Unit::TestCase
  include HeapprofCommand

  RUBY = [EnvUtil.rubybin, "--disable-gems", "-W0"].freeze

  def setup
    omit "no valgrind" unless system("valgrind", "--version", out: File::NULL, err: File::NULL)
  end

  FILLER = "a = Array.new(20_000) { +'x' }"
  MOVE = "GC.verify_compaction_references(toward: :empty, expand_heap: true)"

  # The lines of a way, keep, collect and use; and the C function that uses the object.
  BAD = {
    "a static variable" => ["D.keep_static", "GC.start", "D.use_static", "use_static"],
    "a static variable that is written through" => ["D.keep_static", "GC.start", "D.write_static", "write_static"],
    "a static variable that Ruby code gets" => ["D.keep_static", "GC.start", "D.give_static.size", nil],
    "memory of malloc" => ["D.keep_malloc", "GC.start", "D.use_malloc", "use_malloc"],
    "a child that dmark forgets" => ["pair = D.bad_pair", "GC.start", "D.use_forgotten(pair)", "use_forgotten"],
    "an embedded string without a guard" => ["", "", "D.use_unguarded", "use_unguarded"],
    "an address from before compaction" => ["#{FILLER}; moved = D.bad_pair; a = nil", MOVE, "D.use_movable(moved)", "use_movable"],
    "a hash" => ["Thread.new { D.keep({ 1 => 2 }); nil }.join", "GC.start", "D.use_hash", "use_hash"],
    "an object of a class" => ["Thread.new { D.keep(A.new); nil }.join", "GC.start", "D.use_object", "use_object"],
    "a fiber" => ["Fiber.new { D.keep_static }.resume", "GC.start", "Fiber.new { D.use_in_fiber }.resume", "use_in_fiber"],
    "a thread" => ["Thread.new { D.keep_static }.join", "GC.start", "Thread.new { D.use_in_thread }.join", "use_in_thread"],
    "a ractor" => ["Ractor.new { HeapProfDead.keep_static }.take", "GC.start", "Ractor.new { HeapProfDead.use_in_ractor }.take", "use_in_ractor"],
  }.freeze

  GOOD = {
    "a static variable" => ["D.keep_static_good", "GC.start", "D.use_static_good"],
    "memory of malloc" => ["D.keep_malloc_good", "GC.start", "D.use_malloc_good"],
    "all children are marked" => ["pair = D.good_pair", "GC.start", "D.use_forgotten(pair)"],
    "a guard" => ["", "", "D.use_guarded"],
    "compaction" => ["#{FILLER}; moved = D.good_pair; a = nil", MOVE, "D.use_movable(moved)"],
    "walks over all objects" => ["ObjectSpace.each_object(String) { |s| s.size }", "GC.compact", "ObjectSpace.count_objects"],
    "finalizers" => ["10.times { ObjectSpace.define_finalizer(+'x', proc {}) }", "GC.start", "GC.start"],
    "a weak map" => ["w = ObjectSpace::WeakMap.new; w[+'k'] = +'v'", "GC.start", "w.keys"],
    "object ids" => ["Array.new(10) { Object.new.object_id }", "GC.start", "Object.new.object_id"],
    "instance variables of strings" => ["10.times { (+'i').instance_variable_set(:@a, 1) }", "GC.start", "GC.start"],
  }.freeze

  def test_each_way_to_forget_an_object_is_found_at_its_line
    ran = memcheck(BAD)
    assert_equal 42, ran.status, ran.err
    records = uses(ran)
    BAD.each_with_index do |(way, (keep, _, _, function)), i|
      # A use by Ruby code itself has no C function. Another ractor has no Ruby stack.
      found = records.select { |record| function ? record["function"] == function : line_of(record["frames"]) == line(i, 2) }
      assert_equal [function ? 1 : found.size, false], [found.size, found.empty?], way
      assert_match(/\AInvalid (read|write) of size \d+: (String|Array|Hash|A), #{way =~ /compaction/ ? "moved" : "freed"} by GC \d+ \((full|minor)\)\z/, found[0]["what"])
      assert_equal line(i, 2), line_of(found[0]["frames"]), way unless way == "a ractor"
      assert_equal line(i, keep.empty? ? 2 : 0), line_of(found[0]["asked"]), way
      assert_not_empty found[0]["collected"], way
      assert_equal line(i, keep.empty? ? 2 : 1), line_of(found[0]["collected"]), way unless way == "a ractor"
    end
  end

  # An object that dies at the next GC may be used before: with --gc-stress that comes soon.
  def test_with_gc_stress_no_line_of_the_program_has_to_collect
    ways = { "none" => ["D.keep_static", "Array.new(200) { +'y' }", "D.use_static"] }
    assert_equal [0, 1], [memcheck(ways), memcheck(ways, "--gc-stress=50")].map { |ran| uses(ran).size }
  end

  # 64k hold some of the 20,000 strings, and not all objects since then.
  def test_what_is_held_back_has_a_limit
    ways = { "none" => ["D.keep_static", "GC.start; Array.new(20_000) { +'z' }; GC.start; Array.new(20_000) { +'z' }; GC.start; GC.start", "D.use_forgotten(D.good_pair)"] }
    assert_empty uses(memcheck(ways, objects: "--objects=64k"))
  end

  def test_the_other_formats_have_both_stacks
    ways = { "one" => BAD["a static variable"] }
    text = memcheck(ways, format: []).out
    assert_match(/use of a dead object: Invalid read of size 8: String, freed by GC 1 \(full\)\n    use_static \(heapprof_dead\.so\)\n/, text)
    assert_match(/the object was allocated by:\n +\S+script\.rb:4:in 'HeapProfDead.keep_static'/, text)
    assert_match(/the GC that found it dead began in:\n +\S+script\.rb:5:in 'GC.start'/, text)
    sarif = JSON.parse(memcheck(ways, format: ["--sarif"]).out)["runs"][0]["results"].fetch(0)
    assert_equal "dead_object", sarif["ruleId"]
    assert_equal ["the object was allocated by", "the GC that found it dead began in"], sarif["stacks"].last(2).map { |stack| stack["message"]["text"] }
    assert_match(/type="dead_object"/, memcheck(ways, format: ["--junit"]).out)
  end

  def test_what_is_marked_is_no_error
    ran = memcheck(GOOD)
    assert_equal [0, ""], [ran.status, ran.err]
    assert_equal [0, 0], ran.json["processes"].fetch(0).values_at("leaks", "errors")
    assert_empty uses(ran)
  end

  # --- helpers ---

  def line(way, part) = 4 + 3 * way + part
  def line_of(frames) = frames.find { |frame| frame["file"].to_s.end_with?("script.rb") }&.fetch("line")
  def uses(ran) = ran.json["processes"].flat_map { |process| process["records"] }.select { |record| record["kind"] == "dead_object" }

  def memcheck(ways, *options, objects: "--objects", format: ["--json"])
    lines = ways.values.flat_map { |way| way.first(3) }.map { |text| text.empty? ? "" : "begin; #{text}; rescue StandardError; end" }
    script = ["require '-test-/heapprof_dead'", "D = HeapProfDead", "class A; def initialize = @a = 1; end", *lines].join("\n")
    in_directory do |directory|
      File.write("script.rb", script)
      ran = heapprof("memcheck", "--engine=valgrind", objects, *format, "-o", "report", *options, *RUBY, "script.rb", env: { "TMPDIR" => directory })
      ran.out = File.read("report")
      ran
    end
  end
end
