# frozen_string_literal: true
#
# test_ways.rb - the ways to store a reference without a barrier. Each is found in the source, and each by the collector while it
# runs; the same with a right barrier is found by neither. The sources are in ../ext/ways.

require_relative "lib/barriers_command"

class TestBarriersWays < Test::Unit::TestCase
  include BarriersCommand

  # What a way is called in the sources, and what it is.
  WAYS = {
    # an assignment
    field: "p->a = v",
    chain: "p->a = c ? Qnil : (p->b = v)",
    element: "p->list[i] = v",
    row: "p->rows[1].key = v",
    union: "p->either.object = v",
    macro: "SET(p, b, v)",
    # through pointers
    slot: "VALUE *slot = &p->b; *slot = v",
    choice: "*(c ? &p->a : &p->b) = v",
    integer: "*(VALUE *)((uintptr_t)p + offset) = v",
    bytes: "*(VALUE *)((char *)p + offset) = v",
    push: "*p->top++ = v",
    many: "*(p->many + n) = v",
    grown: "REALLOC_N(p->many, VALUE, n + 1); p->many[n] = v",
    replaced: "more[n] = v; p->many = more",
    node: "n = p->head; n->value = v",
    tail: "while (n->next) n = n->next; n->value = v",
    linked: "n = ALLOC(struct node); n->value = v; p->head = n",
    reserved: "reserve(p)[0] = v, of a function that allocates p->many and returns it",
    made: "make_node(p)->value = v, of a function that puts a new node into p->head",
    last: "p->last->value = v, where the list is marked from p->head on",
    appended: "free_node(p)->value = v, of a function that returns p->last, the node behind it, or a new one",
    table: "st_insert(p->table, k, v)",
    # what the source does not call a VALUE, or does not say where it is
    slots: "VALUE *slots[] = {&p->a, &p->b}; *slots[i] = v",
    grid: "p->grid[i][j] = v",
    line: "line = ALLOC_N(VALUE, 4); line[0] = v; p->grid[i] = line",
    words: "((uintptr_t *)p)[1] = (uintptr_t)v",
    untyped: "p->pointer = (void *)v, of a field that is marked as a VALUE",
    walked: "st_insert(p->walked, k, v), of a table that st_foreach marks",
    update: "st_update(p->walked, k, update_i, v)",
    atomic: "__atomic_store_n(&p->a, v, __ATOMIC_SEQ_CST)",
    exchange: "RUBY_ATOMIC_VALUE_EXCHANGE(p->b, v)",
    block: "memcpy(p->many, values, sizeof(values)), with a pointer",
    # copies
    copy: "p->part = part",
    literal: "p->part = (struct part){ .two = v }",
    memcpy: "memcpy(p->list, values, sizeof(values))",
    data: "DATA_PTR(self) = copy",
    # by other functions
    callee: "set(p, v)",
    address: "set(&p->b, v)",
    scan: "rb_scan_args(argc, argv, \"01\", &p->a)",
    each: "rb_hash_foreach(hash, store_i, (VALUE)p)",
    protect: "rb_protect(store, (VALUE)&call, NULL)",
    arguments: "p->a = va_arg(arguments, VALUE)",
    pointer: "set = function; set(p, v)",
    # barriers that are wrong
    late: "p->a = v; rb_gc_start(); RB_OBJ_WRITTEN(self, Qundef, v)",
    early: "RB_OBJ_WRITTEN(self, Qundef, v); rb_gc_start(); p->a = v",
    parent: "RB_OBJ_WRITE(v, &p->b, v)",
    value: "p->a = v; RB_OBJ_WRITTEN(self, Qundef, other)",
    path: "p->a = v; if (c) RB_OBJ_WRITTEN(self, Qundef, v)",
    # of C++
    reference: "VALUE &slot = p->a; slot = v",
    swap: "std::swap(p->b, v)",
    vector: "p->vector.push_back(v)",
    map: "p->map[k] = v",
    indexed: "p->vector[i] = v",
    iterator: "auto it = p->map.find(k); it->second = v",
    range: "for (auto &each : p->vector) each = v",
    fill: "std::fill(p->vector.begin(), p->vector.end(), v)",
    whole: "p->vector = std::move(values)",
    optional: "p->optional = v",
    binding: "auto &[first, second] = p->pair; first = v",
    lambda: "auto store = [&](VALUE given) { p->b = given; }; store(v)",
    method: "p->set(v)",
    returned: "p->slot(c) = v, of a method that returns a reference",
    constructor: "p->node.reset(new Node(v))",
  }.freeze

  # Those that the class HeapProfWays does not have.
  CLASSES = {
    HeapProfContainers: %i[reference swap vector map indexed iterator range fill whole optional binding lambda method returned constructor],
    HeapProfHidden: %i[slots grid line words untyped walked update atomic exchange block],
  }.freeze
  SUBJECT = "#{BUILD}/ext/-test-/heapprof_ways"

  def test_the_table_has_each_way_of_the_sources
    defined = Dir["#{TOP}/test/ext/ways/*.{c,cc}"].flat_map { |path| File.read(path).scan(/^ +DEFINE\(klass, (\w+)\);/).flatten }
    assert_equal(WAYS.keys.map(&:to_s).sort, defined.sort)
  end

  def test_each_is_found_in_the_source_and_none_that_is_right
    findings = JSON.parse(barriers("--json", SUBJECT).out)["extensions"][0]["findings"].select { |each| each["missing"] }
    functions = findings.map { |each| each["function"] }.uniq
    assert_empty(functions.grep_v(/\Abad_/))
    assert_empty(WAYS.keys.reject { |way| functions.any? { |function| function.start_with?("bad_#{way}") } })
  end

  # Each has an object of its own, which several GCs have seen, and a value that the script holds.
  def test_each_is_found_by_the_collector_and_none_that_is_right
    out, err, status = Open3.capture3(EnvUtil.rubybin, "--disable-gems", "-", stdin_data: <<~RUBY)
      require "-test-/heapprof_ways"
      calls = #{WAYS.keys.inspect}.flat_map do |way|
        klass = Object.const_get(#{CLASSES.inspect}.find { |_, ways| ways.include?(way) }&.first || :HeapProfWays)
        %w[bad good].map { |kind| [klass.new, "\#{kind}_\#{way}", Object.new] }
      end
      4.times { GC.start }
      puts calls.filter_map { |object, name, value| name unless GC.wbcheck { object.public_send(name, value) }.empty? }
    RUBY
    assert_equal(["", true], [err, status.success?])
    assert_equal(WAYS.keys.map { |way| "bad_#{way}" }.sort, out.lines(chomp: true).sort)
  end
end
