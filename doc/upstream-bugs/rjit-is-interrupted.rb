# Stock MRI 3.4.5: ruby --disable-gems --rjit rjit-is-interrupted.rb
# RJIT's compiler is Ruby code that runs in whatever thread calls a hot method; Thread#raise and Thread#kill reach into it.
# The exception is printed from inside ruby_vm/rjit and the process exits with 1; or code half made is run: segmentation fault.
class Planned < StandardError; end
Thread.report_on_exception = false
200.times do |i|
  type = Class.new do
    40.times { |k| class_eval("def m#{k}(n) = n < 1 ? [n] : m#{k}(n - 1).map { |x| x + #{k} }") }
  end
  thread = Thread.new { object = type.new; 100.times { |n| 40.times { |k| object.send("m#{k}", n % 5) } } }
  sleep 0.001 * (i % 20)
  thread.raise(Planned)
  begin
    thread.join
  rescue Planned
    nil
  end
end
puts :ok
