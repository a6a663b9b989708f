# frozen_string_literal: true

# Stock MRI 3.4.5, profiler off:
#   ruby --disable-gems json-write-barriers.rb
#   [BUG] try to mark T_NONE object
# Each run, also with "copy" as argument; json-write-barriers.patch mends both. JSON::State#configure and
# #initialize_copy store strings in the struct, and do not tell the collector. Found by RUBY_WBCHECK and by heapprof barriers.

require "json"

states = Array.new(100) { JSON::State.allocate }
4.times { GC.start }
states.each_with_index do |state, i|
  if ARGV == ["copy"]
    state.send(:initialize_copy, JSON::State.new(indent: "#{i} #{'-' * 50}"))
  else
    state.configure(indent: "#{i} #{'-' * 50}")
  end
end
GC.start(full_mark: false)
GC.start
