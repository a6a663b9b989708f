# frozen_string_literal: true

# running.rb - an object that a thread, a fiber, a ractor or an exception keeps.

class Kinds
  kind "local of a frame", "Thread.new { in_frame = THING; Thread.stop }", /thread.*local in_frame/i
  kind "parameter of a frame", "def parameter(given) = Thread.stop; Thread.new { parameter(THING) }", /thread.*local given/i
  kind "local of a block's frame", "Thread.new { THING.then { |in_block| Thread.stop } }", /thread.*local in_block/i
  kind "self of a frame", "class CLASS; def wait = Thread.stop; end; Thread.new { THING.wait }", /thread.*self/i
  kind "optional parameter", "def optional(one = THING) = Thread.stop; Thread.new { optional }", /thread.*local one/i
  kind "rest parameter", "def rest(*all) = Thread.stop; Thread.new { rest(1, THING) }", /thread.*local all.*\[1\]/i
  kind "keyword parameter", "def keyword(word:) = Thread.stop; Thread.new { keyword(word: THING) }", /thread.*local word/i
  kind "receiver that C iterates", "Thread.new { [THING].each { Thread.stop } }", /thread/i
  kind "exception that is being rescued", "Thread.new { begin; raise THING; rescue CLASS; Thread.stop; end }", /thread/i, base: "StandardError"
  kind "tag of catch", "Thread.new { catch(THING) { Thread.stop } }", /thread/i
  kind "thread-local of a frame's fiber", "Thread.new { Thread.current[:local_of_thread] = THING; Thread.stop }", /thread.*local_of_thread/i
  kind "thread-local of the main thread", "Thread.main[:of_main] = THING", /of_main/
  kind "thread variable", "Thread.main.thread_variable_set(:variable_of_main, THING)", /variable_of_main/
  kind "argument of a thread", "Thread.new(THING) { |argument| Thread.stop }", /thread.*argument/i
  kind "local of a thread's closure", "THING.then { |around| Thread.new { around; Thread.stop } }", /thread.*local around/i
  kind "value of a thread", "ENDED = Thread.new { THING }.tap(&:join)", /ENDED -> value/
  kind "exception of a thread", "FAILED = Thread.new { raise THING }.tap { _1.join rescue 1 }", /FAILED/, base: "StandardError"
  kind "exception that waits for a thread", <<~RUBY, /thread.*(pending|interrupt)/i, base: "StandardError"
    waits = Thread.new { Thread.handle_interrupt(CLASS => :never) { Queue.new.pop } }
    sleep 0.01 until waits.stop?
    waits.raise(THING)
  RUBY
  kind "local of a fiber", "FIBER = Fiber.new { in_fiber = THING; Fiber.yield }.tap(&:resume)", /FIBER.*local in_fiber/
  kind "fiber that has not begun", "NEW_FIBER = THING.then { |caught| Fiber.new { caught } }", /NEW_FIBER.*local caught/
  kind "local of a fiber's own", "LOCAL_FIBER = Fiber.new { Thread.current[:fiber_own] = THING; Fiber.yield }.tap(&:resume)", /LOCAL_FIBER.*fiber_own/
  kind "storage of a fiber", "STORED = Fiber.new(storage: { stored: THING }) { Fiber.yield }.tap(&:resume)", /STORED.*stored/
  kind "storage of a thread's fiber", "Thread.new { Fiber[:in_storage] = THING; Thread.stop }", /thread.*in_storage/i
  kind "Enumerator that has begun", "BEGUN = Enumerator.new { |out| in_enum = THING; loop { out << 1 } }.tap(&:next)", /BEGUN.*local in_enum/
  kind "next value of an Enumerator", "PEEKED = Enumerator.new { |out| out << THING; out << 1 }.tap(&:peek)", /PEEKED/
  kind "fiber inside a thread", "Thread.new { Fiber.new { inner = THING; Thread.stop }.resume }", /thread.*local inner/i
  kind "local of a Ractor", "RACTOR = Ractor.new { in_ractor = THING; Ractor.yield 1; Ractor.receive }.tap(&:take)", /local in_ractor/
  kind "local of a Ractor by name", "RACTOR_LOCAL = Ractor.new { Ractor.current[:ractor_local] = THING; Ractor.yield 1; Ractor.receive }.tap(&:take)", /ractor_local/
  kind "local of the main Ractor", "Ractor.main[:main_local] = THING rescue Ractor.current[:main_local] = THING", /main_local/
  kind "message to a Ractor", "class CLASS; def initialize = @sent = 1; end; SENT_TO = Ractor.new { sleep }; SENT_TO.send(Ractor.make_shareable(THING))", /ractor|SENT_TO/i
  kind "cause of an exception", "CAUSED = begin; begin; raise THING; rescue CLASS; raise 'other'; end; rescue => other; other; end", /CAUSED -> cause/, base: "StandardError"
  kind "ivar of an exception", "IVAR_OF_ERROR = RuntimeError.new.tap { _1.instance_variable_set(:@kept, THING) }", /IVAR_OF_ERROR -> @kept/
  kind "receiver of a NameError", "NAME_ERROR = begin; THING.no_such; rescue NameError => error; error; end", /NAME_ERROR -> receiver/
  kind "receiver of a FrozenError", "FROZEN_ERROR = begin; THING.freeze.instance_variable_set(:@a, 1); rescue => error; error; end", /FROZEN_ERROR -> receiver/
  kind "key of a KeyError", "KEY_ERROR = begin; {}.fetch(THING); rescue KeyError => error; error; end", /KEY_ERROR.*key/
  kind "result of a StopIteration", "STOPPED = begin; enum = Enumerator.new { THING }; enum.next; rescue StopIteration => stop; stop; end", /STOPPED.*result/
  kind "tag of an UncaughtThrowError", "UNCAUGHT = begin; throw THING; rescue UncaughtThrowError => error; error; end", /UNCAUGHT.*tag/
end
