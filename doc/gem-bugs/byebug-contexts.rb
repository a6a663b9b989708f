# frozen_string_literal: true

# byebug 13.0.0 on any Ruby:
#   heapprof memcheck -- ruby byebug-contexts.rb
#   definitely lost: byebug_context_create (byebug.so)
# What the debugger knows of each thread is never freed: 56 bytes and more for each thread that has run while it was started. The data
# type says RUBY_NEVER_FREE; byebug-contexts.patch says RUBY_DEFAULT_FREE.

require "set"
require "byebug/byebug"

Byebug.start
100.times { Thread.new { 1.to_s }.join }
Byebug.stop
