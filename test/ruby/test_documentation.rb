# frozen_string_literal: true

# test_documentation.rb - the manual of ruby names the variable; the examples of vm/api/heapprof.rb's documentation and
# heapprof/memprof's, and the Ruby of README.md and doc/ run, each in a process of its own, and what "# =>" says comes out.
# The methods that there are, the pages of ri, and those that README.md and doc/ speak of are the same.

require "json"
require_relative "lib/heapprof_test"

class TestHeapProfDocumentation < Test::Unit::TestCase
  include HeapProfTest

  TOP = File.expand_path("../..", __dir__)

  # An example, and where it stands.
  Example = Struct.new(:file, :line, :lines) do
    def name = "#{file}:#{line}"

    # With each "expression # => value" checked.
    def script
      lines.each_with_index.map { |text, i|
        expression, value = text.match(/\A(.*?)\s+# => (.*)\z/)&.captures
        value ? "is(#{value.dump}, (#{expression}), #{"#{file}:#{line + i}".dump})" : text
      }.join("\n")
    end
  end

  # Of a comment the indented paragraphs, but for those of call-seq.
  def self.comment_examples(file)
    examples = []
    lines = File.readlines(File.join(TOP, file), chomp: true).each.with_index(1).map { |text, number| [text[/\A\s*#( ?.*)\z/, 1], number] }
    lines.chunk_while { |(one, _), (other, _)| one && other && !one.strip.empty? && !other.strip.empty? }.each do |paragraph|
      texts = paragraph.map(&:first)
      next unless texts.all? { |text| text&.start_with?("   ") }
      examples << Example.new(file, paragraph.first.last, texts.map { |text| text.delete_prefix("   ") })
    end
    examples
  end

  def self.fenced_examples(file)
    examples = []
    File.readlines(File.join(TOP, file), chomp: true).each.with_index(1) do |text, number|
      if text == "```ruby" then examples << Example.new(file, number + 1, [])
      elsif text == "```" then examples.last&.freeze
      elsif examples.last && !examples.last.frozen? then examples.last.lines << text
      end
    end
    examples
  end

  # What the examples take for granted: a program, profiles of it, and files. What configures a server does nothing here.
  SETUP = <<~'RUBY'.sub("PROGRAM", File.join(TOP, "build/bin/heapprof").dump)
    require "stringio"
    require "heapprof/program"
    Heapprof::Program.path = PROGRAM
    ENV["TMPDIR"] = Dir.pwd # where a page goes that gets no name
    def is(expected, value, place)
      value.inspect == expected or abort("#{place}: #{value.inspect}, not #{expected}")
    end
    def serve_requests = ($served ||= []).concat(Array.new(1000) { |i| ["request #{i}", Object.new] })
    def build_index = $index = Array.new(1000) { |i| { i => i.to_s } }
    def use(*, **) = nil
    def before_worker_boot = nil
    def request = nil
    def serve(request) = request
    ObjectSpace::HeapProfile.start(interval: 1)
    before = ObjectSpace::HeapProfile.snapshot
    serve_requests
    profile = after = ObjectSpace::HeapProfile.snapshot
    before.write("before.pb.gz")
    before.write("yesterday.pb.gz")
    after.write("heap.pb.gz")
    after.write("today.pb.gz")
  RUBY

  MEMPROF = Dir.glob("lib/heapprof/memprof{.rb,/*.rb}", base: TOP)

  EXAMPLES = ["vm/api/heapprof.rb", *MEMPROF].flat_map { |file| comment_examples(file) } +
             ["README.md", *Dir.glob("doc/**/*.md", base: TOP)].flat_map { |file| fenced_examples(file) }

  def run_example(example)
    omit "shows a fault at which a debug build of MRI ends" if MRI_CHECKS_ITSELF && example.file == "doc/barriers.md"
    stop = example.lines.any? { |line| line.match?(/HeapProfile\.(start|profile|native_leaks|native_growth)\b|\bMemprof\b/) } ? "ObjectSpace::HeapProfile.stop\n" : ""
    in_directory do
      needed = MEMPROF.include?(example.file) ? "require 'heapprof/memprof'\n" : ""
      write_file("example.rb", "#{SETUP}#{stop}#{needed}#{example.script}")
      ran = run_ruby("--disable-gems", "-I", File.join(TOP, "lib"), "example.rb")
      assert ran.status.success?, "#{example.name}: #{ran.err}"
      assert_empty ran.err, example.name
    end
  end

  EXAMPLES.each { |example| define_method("test_#{example.name.tr('/', '_')}") { run_example(example) } }

  # That examples are found at all: in each document, and with what is to come out.
  def test_there_are_examples
    assert_operator EXAMPLES.count { |example| example.file == "vm/api/heapprof.rb" }, :>=, 15
    assert_operator EXAMPLES.count { |example| example.file == "README.md" }, :>=, 1
    assert_operator EXAMPLES.count { |example| example.file == "doc/ruby-api.md" }, :>=, 3
    assert_operator EXAMPLES.count { |example| MEMPROF.include?(example.file) }, :>=, 5
    assert_operator EXAMPLES.sum { |example| example.lines.grep(/# => /).size }, :>=, 10
  end

  def test_an_example_that_is_wrong_fails
    wrong = Example.new("x", 1, ["1 + 1   # => 3"])
    error = assert_raise(Test::Unit::AssertionFailedError) { run_example(wrong) }
    assert_match(/x:1: 2, not 3/, error.message)
  end

  # Each method that is documented says how it is called.
  def test_each_public_method_has_a_call_seq
    text = File.read(File.join(TOP, "vm/api/heapprof.rb")).split(/^    private$/).first
    private_names = text.scan(/^    private_class_method :(\w+)/).flatten
    methods = text.scan(/((?:^ *#.*\n)*)^    def (self\.)?(\S+?)(?:\(|$| )/)
    missing = methods.reject { |comment, _, name| comment.include?("call-seq:") || name == "default" || private_names.include?(name) }.map(&:last)
    assert_empty missing
  end

  # ---- what ri shows ----

  # By class or module: those whose methods are documented for users.
  DOCUMENTED = %w[ObjectSpace::HeapProfile ObjectSpace::HeapProfile::NativeLeak ObjectSpace::HeapProfile::NativeGrowth ObjectSpace::HeapProfile::Label
                  ObjectSpace::HeapGraph ObjectSpace::HeapGraph::Dump].freeze

  # Prints for each of them, as JSON: the methods that there are, with their parameters, and the pages, with what they say.
  METHODS = <<~'RUBY'
    ENV["RDOC_USE_PRISM_PARSER"] = "1"
    require "json"
    require "rdoc"
    require "heapprof/graph"
    store = RDoc::Store.new(RDoc::Options.new, path: ARGV.shift).tap(&:load_cache)
    made = ARGV.to_h do |name|
      object = Object.const_get(name)
      own = object.singleton_methods(false).map { |m| [".#{m}", object.method(m)] }
      own += object.public_instance_methods(false).map { |m| ["##{m}", object.instance_method(m)] }
      pages = store.class_methods.fetch(name, []).map { |m| ".#{m}" } + store.instance_methods.fetch(name, []).map { |m| "##{m}" }
      texts = pages.to_h { |m| [m, store.load_method(name, m.sub(".", "::")).then { |page| [page.call_seq, page.is_alias_for&.name] }] }
      [name, { "own" => own.to_h { |m, method| [m, [method.parameters, method.source_location]] }, "pages" => texts }]
    end
    puts JSON.generate(made)
  RUBY

  def methods_and_pages
    in_directory do |directory|
      assert_clean run_ruby("--disable-gems", File.join(TOP, "scripts/document-ruby"), "#{directory}/ri")
      ran = run_ruby("--disable-gems", "-", "#{directory}/ri", *DOCUMENTED, stdin: METHODS)
      assert ran.status.success?, ran.err
      JSON.parse(ran.out)
    end
  end

  # What is not for users has no page: it is marked with :nodoc:.
  def nodoc?(file, number)
    file = File.join(TOP, "vm/api/heapprof.rb") if file.start_with?("<internal:")
    File.readlines(file)[number - 1].end_with?("# :nodoc:\n")
  end

  def test_what_there_is_has_a_page_for_ri_and_no_page_is_of_what_there_is_not
    methods_and_pages.each do |name, said|
      own = said["own"].reject { |_, (_, place)| place && nodoc?(*place) }
      assert_equal own.keys.sort, said["pages"].keys.sort, name
    end
  end

  def test_a_page_has_each_keyword
    methods_and_pages.each do |name, said|
      said["pages"].each do |m, (call_seq, other_name)|
        parameters, = said["own"][m]
        next if other_name || parameters.empty?
        keywords = parameters.filter_map { |kind, key| key if kind.start_with?("key") && kind != "keyrest" }
        assert_equal keywords.sort, call_seq.to_s.scan(/(\w+): /).flatten.uniq.sort, "#{name}#{m}"
      end
    end
  end

  SPOKEN_OF = /\b(?:ObjectSpace::)?(HeapProfile|HeapGraph)([.#])([a-z_]\w*[?!=]?)/

  def test_readme_and_doc_speak_of_methods_that_there_are
    all = methods_and_pages.to_h { |name, said| [name.delete_prefix("ObjectSpace::"), said["own"].keys] }
    spoken = ["README.md", *Dir.glob("doc/**/*.md", base: TOP)].flat_map do |file|
      File.read(File.join(TOP, file)).scan(SPOKEN_OF).map { |name, kind, m| [file, name, "#{kind}#{m}"] }
    end
    assert_operator spoken.size, :>, 20
    assert_empty spoken.uniq.reject { |_, name, m| all.fetch(name).include?(m) || m == ".pb" }
  end

  # The table of doc/ruby-api.md has each of them.
  def test_the_table_of_methods_is_whole
    table = File.read(File.join(TOP, "doc/ruby-api.md"))[/^## Every method\n.*?(?=^## |\z)/m]
    methods_and_pages.each do |name, said|
      row = table[/^\| `#{name.delete_prefix("ObjectSpace::")}` \| (.*) \|$/, 1]
      assert row, name
      assert_equal said["pages"].keys.sort, row.scan(/`([^`]+)`/).flatten.sort, name
    end
  end

  # MRI's --help names no variable of the environment; its manual has a section for them.
  def test_the_manual_of_ruby_names_the_variable
    manual, = Dir.glob("#{TOP}/build/src/ruby-*/man/ruby.1")
    variables = File.read(manual)[/^\.Sh ENVIRONMENT\n.*?(?=^\.Sh )/m]
    assert_match(/^\.It Ev RUBY_HEAPPROF\nProfiles the live heap: /, variables)
  end
end
