# frozen_string_literal: true

# test_documentation.rb - the manual of ruby names the variable; the examples of vm/api/heapprof.rb's documentation and
# heapprof/memprof's, and the Ruby of README.md and doc/ run, each in a process of its own, and what "# =>" says comes out.

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
  SETUP = <<~'RUBY'
    require "stringio"
    def is(expected, value, place)
      value.inspect == expected or abort("#{place}: #{value.inspect}, not #{expected}")
    end
    def serve_requests = ($served ||= []).concat(Array.new(1000) { |i| ["request #{i}", Object.new] })
    def build_index = $index = Array.new(1000) { |i| { i => i.to_s } }
    def use(*, **) = nil
    def before_worker_boot = nil
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
    stop = example.lines.any? { |line| line.match?(/HeapProfile\.(start|profile|native_leaks)\b|\bMemprof\b/) } ? "ObjectSpace::HeapProfile.stop\n" : ""
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

  # MRI's --help names no variable of the environment; its manual has a section for them.
  def test_the_manual_of_ruby_names_the_variable
    manual, = Dir.glob("#{TOP}/build/src/ruby-*/man/ruby.1")
    variables = File.read(manual)[/^\.Sh ENVIRONMENT\n.*?(?=^\.Sh )/m]
    assert_match(/^\.It Ev RUBY_HEAPPROF\nProfiles the live heap: /, variables)
  end
end
