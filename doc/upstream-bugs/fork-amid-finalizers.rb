# frozen_string_literal: true

# Stock MRI 3.4.5: in a child forked while another thread runs a finalizer no finalizer ever runs again, and with
# RUBY_FREE_AT_EXIT=1 it crashes at exit:
#   ruby --disable-gems fork-amid-finalizers.rb                        # the child's finalizer did not run
#   RUBY_FREE_AT_EXIT=1 ruby --disable-gems fork-amid-finalizers.rb    # ... SIGSEGV in st_delete
# Each run. `finalizing' (gc/default/default.c) is 1 while finalizers run; the child inherits it, and nobody is left there
# to put it back.

running = Queue.new
over = Queue.new
ObjectSpace.define_finalizer(Object.new, ->(_id) { running << true; over.pop })
Thread.new { 1000.times { Object.new }; GC.start; 1000.times { Object.new } }
running.pop
child = fork do
  ObjectSpace.define_finalizer(Object.new, ->(_id) { $stderr.write("the child's finalizer ran\n") })
end
p Process.wait2(child)[1]
over << true
