# Stock MRI 3.4.5: [BUG] try to mark T_NONE object, or a segmentation fault in gc_mark_children, 10 of 10:
#   ruby --disable-gems ractor-move-large-slots.rb
# Ractor#send(move: true) copies 40 bytes of an object (move_leave in ractor.c: v1, v2, v3) into a new one that
# rb_obj_alloc made without knowing the size: whatever is embedded in a larger slot (an array of 4 to 78 elements, any Hash,
# an object with more than 3 variables, a string of 24 to 640 bytes) is lost, and what its flags promise is read from
# the neighbouring slots.
Warning[:experimental] = false
2000.times do |i|
  ractor = Ractor.new { Ractor.receive }
  ractor.send(Array.new(i % 70) { |k| k.to_s }, move: true)
  ractor.take
  GC.start if i % 10 == 0
end
puts :ok
