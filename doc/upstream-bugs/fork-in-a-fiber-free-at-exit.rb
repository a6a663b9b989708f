# frozen_string_literal: true

# Stock MRI 3.4.5, debug build (cppflags='-DRGENGC_CHECK_MODE=2 -DRUBY_DEBUG=1'), profiler off; each run:
#   RUBY_FREE_AT_EXIT=1 ruby --disable-gems fork-in-a-fiber-free-at-exit.rb      # a child ends by SIGABRT or SIGSEGV
# At exit rb_free_shared_fiber_pool frees the fibers' machine stacks. The child of a fork in a fiber runs on one of them.

Fiber.new do
  pid = fork { [1].map(&:to_s) }
  p Process.wait2(pid)[1]
end.resume
