# frozen_string_literal: true

# ruby-prof 2.0.5 on any Ruby that compacts, from 2.7 on:
#   ruby ruby-prof-allocations.rb
#   [BUG] try to mark T_NONE object
# An allocation marks its class and the name of that as references that may move. What updates them after a move is the compact function
# of RubyProf::Allocation, which runs only where Ruby has asked for that object. A profile that nobody has looked at yet marks the
# allocations as well, and does not update them. ruby-prof-allocations.patch pins both. Found by heapprof barriers (moved-reference).

require "ruby-prof"

others = Array.new(200) { Class.new }
classes = Array.new(200) { Class.new }
profile = RubyProf::Profile.new(track_allocations: true)
profile.start
classes.each(&:new)
result = profile.stop
others = nil
GC.start
GC.compact
GC.start
found = result.threads.flat_map { |thread| thread.methods.flat_map(&:allocations) }.map(&:klass_name)
puts found.grep(/\A#<Class:/).size == 200 ? "ok" : "wrong names: #{found.first(3)}"
