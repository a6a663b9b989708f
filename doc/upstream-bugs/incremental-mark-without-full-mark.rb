# Stock MRI 3.4.5: live objects are freed; [BUG] try to mark T_NONE object (or another crash), 10 of 10:
#   ruby --disable-gems incremental-mark-without-full-mark.rb
# GC.config(rgengc_allow_full_mark: false), then GC.start(immediate_mark: false). rb_gc_impl_start sets
# gc_config.full_mark to true for the call and back to false at its end, but the incremental marking it began goes on
# after that; from then on gc_aging returns at once, so the old objects it marks do not get their uncollectible bit back, which
# gc_marks_start had cleared. The next minor GC takes their mark bits from there and frees what only they refer to.
# Fix: let gc_aging ask whether this marking is a full one, or finish marking (gc_rest) before the setting is put back.
Node = Struct.new(:value, :rest)
list = nil
100_000.times { |i| list = Node.new("value #{i}", list) }
4.times { GC.start }                  # all old
GC.config(rgengc_allow_full_mark: false)
10.times do
  GC.start(immediate_mark: false, immediate_sweep: false)
  1000.times { Object.new }           # marking goes on
  GC.start(full_mark: false)
  10_000.times { |i| "other #{i}" }   # in the freed slots
end
node = list
99_999.downto(0) { |i| raise "lost #{i}: #{node.value.inspect}" if node.value != "value #{i}"; node = node.rest }
puts :ok
