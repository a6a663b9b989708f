# Stock MRI 3.4.5: GC.config(rgengc_allow_full_mark: false) is lost when two Ractors call GC.start at once, 4 of 4. rb_gc_impl_start
# saves the setting, sets it to true and puts it back, all outside the lock: the second saves what the first has set. Put back in
# the middle of another's incremental marking, it frees live objects (incremental-mark-without-full-mark.rb); seen in the stress driver.
Warning[:experimental] = false
GC.config(rgengc_allow_full_mark: false)
Array.new(3) { Ractor.new { 300.times { GC.start; Array.new(2000) { |i| "other #{i}" } } } }.each(&:take)
puts GC.config[:rgengc_allow_full_mark] ? "lost" : "ok"
