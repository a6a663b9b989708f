# frozen_string_literal: true

# code.rb - leaks of code: methods, classes, modules, procs, bindings.

class Leaks
  leak "define_method on a module", <<~RUBY, holder: /\bRoutes\b/, path: /\bRoutes\b/, holds: %w[Routes]
    module Routes; end
    def leak(n) = n.times { one = Leaked.new; Routes.define_method("path_\#{$count = $count.to_i + 1}") { one } } # here
  RUBY

  leak "method_missing that defines", <<~RUBY, holder: /\bFinders\b/, path: /\bFinders\b/, holds: %w[Finders]
    class Finders
      def method_missing(name, *)
        found = Leaked.new # here
        self.class.define_method(name) { found }
        found
      end
    end
    def leak(n) = n.times { Finders.new.send("find_by_\#{$count = $count.to_i + 1}") }
  RUBY

  leak "templates that are compiled", <<~RUBY, holder: /\bViews\b/, path: /\bViews\b/, holds: %w[Views], of: :holder, count: 700
    module Views; end
    def leak(n) = n.times { Views.module_eval("def show_\#{$count = $count.to_i + 1} = [\#{'1,' * 200}]") }
  RUBY

  leak "Class.new per request", <<~RUBY, holder: /\bHANDLERS\b/, path: /\bHANDLERS\b/, holds: %w[HANDLERS], of: :holder, count: 2000
    HANDLERS = []
    def leak(n) = n.times { HANDLERS << Class.new { def call = 1 } } # here
  RUBY

  leak "named classes per request", <<~RUBY, holder: /\bGenerated\b/, path: /\bGenerated\b/, holds: %w[Generated], of: :holder, count: 1500
    module Generated; end
    def leak(n) = n.times { Generated.const_set("Type\#{Generated.constants.size}", Class.new { attr_accessor :name }) } # here
  RUBY

  leak "extend per object", <<~RUBY, holder: /\bSESSIONS\b/, path: /\bSESSIONS\b/, holds: %w[SESSIONS], of: "Session", count: 3000
    module Admin; def admin? = true; end
    class Session; end
    SESSIONS = []
    def leak(n) = n.times { SESSIONS << Session.new.extend(Admin) } # here
  RUBY

  leak "include in a loop", <<~RUBY, holder: /\bHelpers\b/, path: /\bHelpers\b/, holds: %w[Helpers], of: :holder, count: 1200
    class Helpers; end
    def leak(n) = n.times { Helpers.include(Module.new { define_method(:help) { } }) } # here
  RUBY

  leak "prepend in a loop", <<~RUBY, holder: /\bHandler\b/, path: /\bHandler\b/, holds: %w[Handler], of: :holder, count: 1200
    class Handler; def call = 1; end
    def leak(n) = n.times { Handler.prepend(Module.new { def call = super }) } # here
  RUBY

  leak "refinements", <<~RUBY, holder: /@all of Patches|Patches.*@all/, path: /@all/, holds: %w[Patches @all], of: :holder, count: 600
    module Patches; @all = []; def self.add(one) = @all << one; end
    def leak(n) = n.times { Patches.add(Module.new { refine(Patches) { def self.x = 1 } }) } # here
  RUBY

  leak "subscribers: procs with self", <<~RUBY, holder: /@subscribers of Bus|Bus.*@subscribers/, path: /@subscribers.*self/, holds: %w[Bus @subscribers]
    class Bus; @subscribers = []; def self.on(&block) = @subscribers << block; end
    class Leaked; def listen = Bus.on { @body }; end
    def leak(n) = n.times { Leaked.new.listen } # here
  RUBY

  leak "observers", <<~RUBY, holder: /\bSUBJECT\b/, path: /\bSUBJECT\b.*@peers/, holds: %w[SUBJECT @peers]
    class Subject; def initialize = @peers = {}; def add_observer(one, by = :update) = @peers[one] = by; end
    SUBJECT = Subject.new
    def leak(n) = n.times { SUBJECT.add_observer(Leaked.new) } # here
  RUBY

  leak "promise chain", <<~RUBY, holder: /\$promise\b/, path: /\$promise\b/, holds: %w[$promise], of: "Promise"
    class Promise
      def initialize(&block) = (@block = block; @text = "p" * 400)
      def then(&block) = Promise.new { block.call(self) } # here
    end
    $promise = Promise.new { 1 }
    def leak(n) = n.times { $promise = $promise.then { 2 } }
  RUBY

  leak "Proc composed in a chain", <<~RUBY, holder: /\$pipeline\b/, path: /\$pipeline\b/, holds: %w[$pipeline], of: "Proc", count: 3000
    $pipeline = proc { |x| x }
    def stage = proc { |x| x + 1 }
    def leak(n) = n.times { $pipeline = $pipeline >> stage } # here
  RUBY

  leak "Method objects", <<~RUBY, holder: /\bCALLBACKS\b/, path: /\bCALLBACKS\b/, holds: %w[CALLBACKS]
    class Leaked; def done = 1; end
    CALLBACKS = []
    def leak(n) = n.times { CALLBACKS << Leaked.new.method(:done) } # here
  RUBY

  leak "Bindings", <<~RUBY, holder: /\bBINDINGS\b/, path: /\bBINDINGS\b/, holds: %w[BINDINGS]
    BINDINGS = []
    def debug(one) = BINDINGS << binding
    def leak(n) = n.times { debug(Leaked.new) } # here
  RUBY

  leak "exceptions with backtraces", <<~RUBY, holder: /\bERRORS\b/, path: /\bERRORS\b/, holds: %w[ERRORS], of: "StandardError", count: 10_000
    ERRORS = []
    def deep(depth) = depth > 0 ? deep(depth - 1) : raise(StandardError, "at the bottom")
    def leak(n) = n.times { deep(20) rescue ERRORS << $! }
  RUBY

  leak "exceptions with their request", <<~RUBY, holder: /\bFAILURES\b/, path: /\bFAILURES\b/, holds: %w[FAILURES]
    FAILURES = []
    def leak(n) = n.times { Leaked.new.no_such_method rescue FAILURES << $! } # here
  RUBY

  # The figure is of the table in which the names gather; a fifth of it again is in the module's own table of constants.
  leak "autoload", <<~RUBY, holder: /\bPlugins\b/, path: /\bPlugins\b/, holds: %w[Plugins __autoload__], of: :holder, count: 6000
    module Plugins; end
    def leak(n) = n.times { Plugins.autoload("P\#{$count = $count.to_i + 1}", "/nowhere/plugin_\#{$count}") }
  RUBY

  leak "singleton methods of an object", <<~RUBY, holder: /\bAPI\b/, path: /\bAPI\b/, holds: %w[API]
    class Api; end
    API = Api.new
    def leak(n) = n.times { one = Leaked.new; API.define_singleton_method("call_\#{$count = $count.to_i + 1}") { one } } # here
  RUBY
end
