# Stock MRI 3.4.5: segmentation fault (in <internal:trace_point>, or when YJIT marks its blocks), 5 of 6:
#   ruby --disable-gems --yjit targeted-trace-in-ractors-yjit.rb
# TracePoint#enable(target:) in one Ractor while others compile and run code: YJIT's code is invalidated under them. Without
# YJIT it was not seen.
Warning[:experimental] = false
type = Class.new { def work = [Object.new] }
ractors = Array.new(3) do
  Ractor.new do
    3000.times { |i| eval("[#{i}].map { |x| [x, 'a' * #{i % 9}] }"); GC.start(full_mark: false) if i % 50 == 0 }
  end
end
Thread.new do
  loop do
    TracePoint.new(:call, :return) { |point| point.event }.enable(target: type.instance_method(:work)) { 10.times { type.new.work } }
  end
end
ractors.each(&:take)
puts :ok
exit!
