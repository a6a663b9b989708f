# Stock MRI 3.4.5: "[BUG] system stack overflow during GC" in 3 of 12 runs, or an endless loop:
#   for i in $(seq 12); do timeout -s KILL 60 ruby --disable-gems overflow-in-c-hangs.rb >/dev/null 2>&1; echo $?; done
# C code that recurses without stack_check and allocates (here Marshal.load) overflows the machine stack: SIGSEGV,
# and the handler longjmps out as SystemStackError. If the deepest call is in the allocator's slow path (1 allocation in
# some 400), it is inside gc_continue and so on: the [BUG]; or it holds rb_gc_cr_lock: lock_rec is 1 although there is
# one ractor (rb_vm_lock_enter_body_cr always locks), rb_ec_tag_state then calls rb_ec_vm_lock_rec_release, whose loop
# never ends, because rb_vm_lock_leave does nothing while rb_multi_ractor_p() is false. Seen with this repository's build,
# the profiler off, 4 of 10 runs: rb_ec_vm_lock_rec_release <- rb_ec_vm_lock_rec_check <- rb_ec_tag_state <- rb_vm_exec.
s = "\x04\b".b + "[\x06".b * 1_000_000 + "0"
200.times do
  rand(2000).times { [] } # another depth at which the page is used up
  Marshal.load(s)
rescue SystemStackError => e
  puts e.message
end
