# frozen_string_literal: true

# Stock MRI 3.4.5: `[BUG] FL_FINALIZE flag is set, but finalizers are not found', or a crash in st.c:
#   ruby --disable-gems finalizers-in-ractors.rb                                 # 2 of 3
# The table of finalizers has no lock: one Ractor takes entries out, running finalizers, while another enters some.

Warning[:experimental] = false
ractors = Array.new(2) { Ractor.new { 200_000.times { |i| [i]; GC.start(full_mark: false) if i % 500 == 0 } } }
finalizer = proc { }
300_000.times { ObjectSpace.define_finalizer(Object.new, finalizer) }
ractors.each(&:take)
puts "ok"
