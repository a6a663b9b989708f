# frozen_string_literal: true
#
# test_dead_objects.rb - heapprof memcheck --objects: an object that nothing marks is found where it is used, with the Ruby lines that
# allocated it and that collected it; and its good twin is not.
#
# Both engines find the same. A run under Valgrind takes seconds, so all bad ways are in one process, and all good ways in another.

require_relative "../cli/lib/heapprof_command"

module HeapprofDeadObjects
  include HeapprofCommand

  RUBY = [EnvUtil.rubybin, "--disable-gems", "-W0"].freeze

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
    "a mark function that marks too late" => ["late = D.late", "GC.start", "D.set_marks(late, true); GC.start; D.set_marks(late, false)", "mark_late"],
    "one that jumps to the collector" => ["jumping = D.late_jumping", "GC.start", "D.set_marks(jumping, true); GC.start; D.set_marks(jumping, false)", nil],
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
    "a mark function that always marks" => ["late = D.never_late", "GC.start", "GC.start"],
    "a guard" => ["", "", "D.use_guarded"],
    "compaction" => ["#{FILLER}; moved = D.good_pair; a = nil", MOVE, "D.use_movable(moved)"],
    "walks over all objects" => ["ObjectSpace.each_object(String) { |s| s.size }", "GC.compact", "ObjectSpace.count_objects"],
    "what is reachable, with a word on the stack" => ["require 'objspace'; D.keep_static", "GC.start", "D.with_word { ObjectSpace.reachable_objects_from_root.size }"],
    "finalizers" => ["10.times { ObjectSpace.define_finalizer(+'x', proc {}) }", "GC.start", "GC.start"],
    "a weak map" => ["w = ObjectSpace::WeakMap.new; w[+'k'] = +'v'", "GC.start", "w.keys"],
    "object ids" => ["Array.new(10) { Object.new.object_id }", "GC.start", "Object.new.object_id"],
    "code that is compiled" => ["10.times { +'c' }", "GC.start", "eval('1 + 1')"], # MRI frees there what it asked xmalloc for
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
      assert_match(/\AInvalid (read|write)#{self.class::SIZE}: (String|Array|Hash|A), #{way =~ /compaction/ ? "moved" : "freed"} by GC \d+ \((full|minor)\)\z/, found[0]["what"])
      assert_equal line(i, 2), line_of(found[0]["frames"]), way unless way == self.class::WITHOUT_STACK
      assert_equal line(i, keep.empty? ? 2 : 0), line_of(found[0]["asked"]), way
      assert_not_empty found[0]["collected"], way
      assert_equal line(i, keep.empty? ? 2 : 1), line_of(found[0]["collected"]), way unless way == self.class::WITHOUT_STACK
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
    assert_match(/use of a dead object: Invalid read#{self.class::SIZE}: String, freed by GC 1 \(full\)\n    use_static \(heapprof_dead\.so\)\n/, text)
    assert_match(/the object was allocated by:\n +\S+script\.rb:4:in 'HeapProfDead.keep_static'/, text)
    assert_match(/the GC that found it dead began in:\n +\S+script\.rb:5:in 'GC.start'/, text)
    sarif = JSON.parse(memcheck(ways, format: ["--sarif"]).out)["runs"][0]["results"].fetch(0)
    assert_equal "dead_object", sarif["ruleId"]
    assert_equal ["the object was allocated by", "the GC that found it dead began in"], sarif["stacks"].last(2).map { |stack| stack["message"]["text"] }
    assert_match(/type="dead_object"/, memcheck(ways, format: ["--junit"]).out)
  end

  # A minor GC does not look at the old object again, so the child dies; and the next full one marks it.
  def test_a_store_without_a_write_barrier_is_a_use
    ran = memcheck({ "one" => ["require '-test-/heapprof_missed'; old = HeapProfMissed.new; 5.times { GC.start }; Thread.new { old.store('child'.dup) }.join",
                               "GC.start(full_mark: false)", "GC.start; old.write(nil)"] })
    record, *others = uses(ran)
    assert_empty others
    assert_equal [line(0, 0), line(0, 1), line(0, 2)], [record["asked"], record["collected"], record["frames"]].map { |frames| line_of(frames) }
    assert_match(/: String, freed by GC \d+ \(minor\)\z/, record["what"])
    assert_match(self.class::MARKS, record["function"])
  end

  # It searches for the object whose struct is given to the wrong allocator.
  def test_a_search_of_the_heap_looks_at_no_dead_object
    ran = memcheck({ "one" => ["D.keep_static; require '-test-/heapprof_memcheck'", "GC.start; HeapProfMemcheck.dfree_of_made; GC.start", "D.use_static"] })
    assert_equal [["dead_object", "use_static"], ["mismatched_free", "jump_to_free"]],
                 ran.json["processes"].flat_map { |process| process["records"] }.map { |record| record.values_at("kind", "function") }.sort
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

  def memcheck(ways, *options, objects: "--objects", format: ["--json"], before: [])
    lines = ways.values.flat_map { |way| way.first(3) }.map { |text| text.empty? ? "" : "begin; #{text}; rescue StandardError; end" }
    script = ["require '-test-/heapprof_dead'", "D = HeapProfDead", "class A; def initialize = @a = 1; end", *lines].join("\n")
    in_directory do |directory|
      File.write("script.rb", script)
      ran = heapprof("memcheck", self.class::ENGINE, objects, *format, "-o", "report", *options, "--", *before, *RUBY, "script.rb", env: { "TMPDIR" => directory })
      ran.out = File.read("report")
      ran
    end
  end
end

class TestHeapprofDeadObjectsUnderValgrind < Test::Unit::TestCase
  include HeapprofDeadObjects

  ENGINE = "--engine=valgrind"
  SIZE = / of size \d+/
  WITHOUT_STACK = "a ractor"
  MARKS = /\Agc_mark/ # the mark function has jumped to the collector, and Valgrind does not say from where

  def setup
    omit "no valgrind" unless system("valgrind", "--version", out: File::NULL, err: File::NULL)
  end
end

class TestHeapprofDeadObjects < Test::Unit::TestCase
  include HeapprofDeadObjects

  ENGINE = "--engine=vm"
  SIZE = //
  WITHOUT_STACK = nil
  MARKS = /\Apair_mark\z/

  def test_the_same_use_is_one_error_that_counts
    ran = memcheck({ "one" => ["D.keep_static", "GC.start", "5.times { D.use_static; GC.start }"] })
    assert_equal [["use_static", 5]], uses(ran).map { |record| record.values_at("function", "times") }
  end

  def test_an_access_beside_a_dead_object_has_its_line
    ran = memcheck({ "one" => ["D.keep_static", "GC.start", "D.use_before"] })
    assert_equal [["use_before", "Invalid read: memory between objects", 6]], uses(ran).map { |record| [record["function"], record["what"], line_of(record["frames"])] }
  end

  # The thread cannot say which Ruby code it runs for.
  def test_a_use_without_the_gvl_has_no_ruby_line
    ran = memcheck({ "one" => ["D.keep_static", "GC.start", "D.use_without_gvl"] })
    found = uses(ran)
    assert_equal [["length_without_gvl", 4, 5, nil]], found.map { |record| [record["function"], *%w[asked collected frames].map { |key| line_of(record[key]) }] }
  end

  def test_a_process_that_crashes_has_its_uses
    ran = memcheck({ "one" => ["D.keep_static", "GC.start", "D.use_static; Process.kill(:SEGV, Process.pid); sleep"] })
    assert_equal [42, false, ["use_static"]], [ran.status, ran.json["processes"].fetch(0)["decided"], uses(ran).map { |record| record["function"] }]
  end

  # As glibc does that finds its lists broken, and C++ with an exception that nobody catches.
  def test_a_process_that_aborts_has_its_uses
    ran = memcheck({ "one" => ["D.keep_static", "GC.start", "D.use_static; Process.kill(:ABRT, Process.pid); sleep"] })
    assert_equal [42, false, ["use_static"]], [ran.status, ran.json["processes"].fetch(0)["decided"], uses(ran).map { |record| record["function"] }]
  end

  # What is no dead object is for MRI's handler, as without.
  def test_a_stack_overflow_is_an_error_of_ruby_as_ever
    ran = memcheck({ "one" => ["def deep = deep", "begin; deep; rescue SystemStackError; D.keep_static; end", "GC.start; D.use_static"] })
    assert_equal ["use_static"], uses(ran).map { |record| record["function"] }
  end

  ALIVE = "a = Array.new(70_000) { Object.new }; b = a.each_slice(2).map(&:first); a = nil"

  # A dead object between two that live is a mapping of its own, and needs two; half of them are used.
  def test_with_too_few_mappings_the_rest_is_counted
    omit "this system allows more mappings" if File.read("/proc/sys/vm/max_map_count").to_i > 65_530
    counts = memcheck({ "one" => [ALIVE, "GC.start", "b.size"] }).json["processes"].fetch(0)["dead_objects"]
    assert_operator counts["without_mapping"], :>, 35_000 - 65_530 / 4 - 1000
    assert_equal 0, counts["among_others"]
  end

  # A quarter of 1.5 GB is given to objects that are alone: less than 4 KB for each of 200,000.
  def test_with_too_little_memory_the_rest_is_counted
    ran = memcheck({ "one" => [ALIVE.sub("70_000", "200_000"), "GC.start", "b.size"] }, before: ["prlimit", "--as=#{1500 << 20}", "--"])
    process = ran.json["processes"].fetch(0)
    assert_equal [0, 0], [ran.status, process["errors"]]
    assert_operator process["dead_objects"]["among_others"], :>, 10_000
  end
end
