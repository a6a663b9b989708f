# frozen_string_literal: true

# Stock MRI 3.4.5, debug build (cppflags='-DRGENGC_CHECK_MODE=2 -DRUBY_DEBUG=1'), profiler off; each run:
#   RUBY_FREE_AT_EXIT=1 ruby --disable-gems fork-in-a-fiber-free-at-exit.rb      # the child crashes at exit
# rb_objspace_free_objects frees every object left, the running fiber among them, and so the machine stack the child of a
# fork in a fiber runs on; it is zeroes then, and a function returns to 0.

Fiber.new do
  pid = fork { [1].map(&:to_s) }
  p Process.wait2(pid)[1]
end.resume
