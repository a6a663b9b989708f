# Stock MRI 3.4.5 crashes (malloc(): unaligned fastbin chunk detected, SEGV, rb_gc_mark(): unknown data type) in 1 of 30
# runs (9 of 40 with messages sent in between): classes are made, and die, in several Ractors at once. Without Class.new: 0 of 120.
#   for i in $(seq 40); do ruby --disable-gems class-new-in-ractors.rb >/dev/null 2>&1; echo $?; done | sort | uniq -c
# Diagnosis (from reading): a superclass's list of subclasses (rb_class_subclass_add and
# rb_class_remove_from_super_subclasses in class.c) is changed without a lock.
Warning[:experimental] = false
ractors = Array.new(8) { Ractor.new { 3000.times { Class.new }; GC.start } }
30.times { GC.start }
ractors.each(&:take)
