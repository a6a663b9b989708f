# frozen_string_literal: true

# things.rb - leaks through what the VM calls later, and through objects of C.

class Leaks
  leak "finalizers that keep their object", <<~RUBY, holder: /finalizer/i, path: /finalizer/i, holds: LEAKED_BY_PROCS
    class Leaked; def guard = ObjectSpace.define_finalizer(self, proc { close }); end
    def leak(n) = n.times { Leaked.new.guard } # here
  RUBY

  leak "at_exit blocks", <<~RUBY, holder: /at_exit|end.?proc|at exit/i, path: /at_exit|end.?proc|at exit/i, holds: LEAKED_BY_PROCS
    def cleanup(one) = at_exit { one }
    def leak(n) = n.times { cleanup(Leaked.new) } # here
  RUBY

  leak "trap handler", <<~RUBY, holder: /trap|USR1|signal/i, path: /(?:trap|USR1|signal).*local seen/i, holds: LEAKED
    def handle(signal, seen = []) = trap(signal) { seen.size }
    handle("USR1")
    def leak(n)
      trap("USR1", handler = trap("USR1", "DEFAULT"))
      seen = handler.binding.local_variable_get(:seen)
      n.times { seen << Leaked.new } # here
    end
  RUBY

  leak "TracePoint never disabled", <<~RUBY, holder: /trace/i, path: /trace/i, holds: LEAKED_BY_PROCS, count: 500
    class Leaked; def initialize = @body = "b" * 2000; end
    def watch(one) = TracePoint.new(:class) { one }.enable # here
    def leak(n) = n.times { watch(Leaked.new) }
  RUBY

  leak "files not closed", <<~RUBY, holder: /\bOPEN\b/, path: /\bOPEN\b/, holds: %w[OPEN], of: "File", count: 150
    OPEN = []
    def leak(n) = n.times { OPEN << File.open(__FILE__).tap(&:getc) } # here
  RUBY

  leak "Delegators", <<~RUBY, holder: /\bDECORATED\b/, path: /\bDECORATED\b/, holds: %w[DECORATED]
    require "delegate"
    DECORATED = []
    def leak(n) = n.times { DECORATED << SimpleDelegator.new(Leaked.new) } # here
  RUBY

  leak "variable of an extension", <<~RUBY, holder: /hostile_cache/, path: /hostile_cache/, holds: LEAKED
    require "-test-/heapprof_hostile"
    def leak(n) = n.times { HeapProfHostile.keep(Leaked.new) } # here
  RUBY

  leak "StringScanners", <<~RUBY, holder: /\bSCANNERS\b/, path: /\bSCANNERS\b/, holds: %w[SCANNERS], of: "StringScanner"
    require "strscan"
    SCANNERS = {}
    def leak(n) = n.times { SCANNERS[SCANNERS.size] = StringScanner.new("s" * 500) } # here
  RUBY

  leak "Procs of trace_var", <<~RUBY, holder: /\$watched/, path: /\$watched/, holds: LEAKED_BY_PROCS
    $watched = 1
    def watch(one) = trace_var(:$watched, proc { one })
    def leak(n) = n.times { watch(Leaked.new) } # here
  RUBY
end
