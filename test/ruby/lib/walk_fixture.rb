# frozen_string_literal: true

# walk_fixture.rb - code that makes frames, code and environments in every way there is, for a run
# that samples each object and each malloc: so the stack is walked at each allocation in between.
# Arguments: a directory of our own, and what to do (the names of the methods of Walk).

module Walk
  SOURCE = <<~'RUBY'
    class Loaded%<number>d
      def plain(a, b = a, *c, d: b, **e, &f) = [a, b, c, d, e, f]
      def blocks = [1].each { |x| [x].map { |y| [y].each_with_object(x) { |z, w| [w, z] } } }
      def rescued
        raise "x"
      rescue => e
        [e, -> { e.message }]
      ensure
        @ensured = [1].sum { |x| x + 1 }
      end
      def hash(key) = case key when :a then 1 when "b" then 2 when 3 then "#{key}" else /x#{key}/o end
      define_method(:defined) { |x = 1| [x, binding.local_variables] }
      class << self
        def of_class = new.blocks
      end
      INSTANCE = new.tap { |it| it.plain(1, d: 2) { }; it.rescued; it.hash("b"); it.defined; of_class }
    end
  RUBY

  class << self
    def sources = Array.new(5) { |number| format(SOURCE, number: number) }

    # Code from binaries, half of which runs.
    def binaries
      made = sources.map { |source| RubyVM::InstructionSequence.compile(source, "binary.rb", "/binary.rb", 1).to_binary }
      library = [__FILE__, *$LOADED_FEATURES.grep(/\.rb\z/).select { |path| File.exist?(path) }.first(3)]
      made += library.map { |path| RubyVM::InstructionSequence.compile_file(path).to_binary }
      iseqs = made.map { |binary| load(binary) }
      iseqs.first(5).each(&:eval)
      RubyVM::InstructionSequence.load_from_binary_extra_data(made[0])
    end

    def load(binary) = RubyVM::InstructionSequence.load_from_binary(binary)

    # In the manner of programs that keep compiled code: a Ruby method is asked for each file.
    def hooked
      RubyVM::InstructionSequence.singleton_class.define_method(:load_iseq) do |path|
        Walk.load(RubyVM::InstructionSequence.compile_file(path).to_binary)
      rescue SyntaxError
        nil
      end
      required
    ensure
      RubyVM::InstructionSequence.singleton_class.remove_method(:load_iseq)
    end

    def required
      sources.each_with_index { |source, i| File.write("file#{i}.rb", source) }
      File.write("wrong.rb", "def x(\n")
      File.write("moves.rb", "outer = 1\n[1].each { |x| [proc { x + outer }, binding] }\n") # YJIT hears of it
      10.times { Kernel.load("./moves.rb") }
      5.times { |i| Kernel.load("./file#{i}.rb", i.odd?) }
      begin
        Kernel.load("./wrong.rb")
      rescue SyntaxError
        nil
      end
    end

    def compiled
      sources.each { |source| eval(source, TOPLEVEL_BINDING.dup, "eval.rb", -3) }
      RubyVM::InstructionSequence.compile_parsey(sources[0])
      RubyVM::InstructionSequence.compile_prism(sources[0])
      begin
        eval("def x(")
      rescue SyntaxError
        nil
      end
    end

    # Environments that move to the heap from within others, with and without a block given.
    def environments(&given)
      x = 1
      inner = [1].flat_map { |y| [2].map { |z| [-> { x + y + z }, binding, given, proc { given }] } }
      inner.flatten.grep(Proc).each { |made| made.arity.zero? ? made.call : made }
      10.times { |i| environments_of(i) { |j| -> { [x, i, j] } } }
      environments { nil } unless given
    end

    def environments_of(i, &block)
      define_singleton_method(:"made#{i}") { |n = i| [n, block.call(n).call] }
      [send(:"made#{i}"), method(:"made#{i}").to_proc.call, :to_s.to_proc.call(i), block.curry]
      begin
        plain_arguments(1, 2)
      rescue ArgumentError => error
        error.backtrace_locations
      end
    end

    def plain_arguments(a) = a

    def fibers
      enumerator = Enumerator.new { |y| 3.times { |i| [i].each { |x| y << x } } }
      5.times { [enumerator.next, enumerator.peek, enumerator.rewind] }
      made = Array.new(3) { |i| Fiber.new { |x| [Fiber.yield(-> { [x, i] }), i] } }
      made.each { |fiber| [fiber.resume(1), fiber.resume(2), fiber.alive?] }
      left = Fiber.new { Fiber.yield }.tap(&:resume)
      catch(:out) { [1].each { throw :out, left } }
    end

    def threads
      threads = Array.new(3) { |i| Thread.new(i) { |n| [fibers, environments { n }, Thread.current.backtrace_locations] } }
      threads.each(&:value)
      killed = Thread.new { [1].each { sleep } }
      Thread.pass until killed.stop?
      killed.kill.join
    end

    def ractors
      made = Array.new(2) { |i| Ractor.new(i) { |n| [1].map { |x| eval("[#{n}].map { |y| y + #{x} }") } } }
      made.each(&:take)
    end

    # The same amid collections.
    def stressed
      GC.stress = 1 # minor ones
      [:environments, :fibers].each { |name| public_send(name) }
      load(RubyVM::InstructionSequence.compile(sources[0]).to_binary).eval
    ensure
      GC.stress = false
    end
  end
end

Warning[:experimental] = false
$VERBOSE = nil
Dir.chdir(ARGV.shift)
ARGV.each { |name| Walk.public_send(name) }
puts ARGV.size
