# Stock MRI 3.4.5, debug build (cppflags='-DRGENGC_CHECK_MODE=2 -DRUBY_DEBUG=1'), profiler off:
#   ruby --disable-gems --rjit rjit-write-barrier.rb
#   verify_internal_consistency_reachable_i: WB miss (O->Y) <iseq> times@<internal:numeric>:250 -> (Hash)[S]
#   [BUG] gc_verify_internal_consistency: found internal inconsistency.
# RJIT stores its Hash of blocks in an old iseq without a write barrier. Each run. So test_rjit is omitted in the debug build.
200.times { |i| eval("def m#{i}(n) = n < 1 ? [n] : m#{i}(n - 1).map { |x| x + #{i} }"); 50.times { |n| send("m#{i}", n % 5) }; GC.start if i % 20 == 0 }
