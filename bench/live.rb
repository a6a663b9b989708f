# frozen_string_literal: true

# live.rb - LIVE live objects, and ROUNDS of what bench/live counts:
#   ruby live.rb minor|major|sample LIVE ROUNDS
#
#     minor, major   a GC with a fifth as many objects that have died since the last, of which none is a sample
#     sample         6000 objects, samples, that take the place of the oldest

what, live, rounds = ARGV[0], Integer(ARGV[1]), Integer(ARGV[2])

kept = Array.new(live) { Object.new }
4.times { GC.start }
GC.disable
if what == "sample"
  (rounds * 6000).times { |i| kept[i % live] = Object.new }
else
  ObjectSpace::HeapProfile.interval = 1 << 40 if ObjectSpace::HeapProfile.running?
  majors = GC.stat(:major_gc_count)
  rounds.times do
    (live / 5).times { Object.new }
    GC.start(full_mark: what == "major")
  end
  raise "not #{what}" unless GC.stat(:major_gc_count) - majors == (what == "major" ? rounds : 0)
end
