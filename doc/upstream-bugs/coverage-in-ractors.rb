# frozen_string_literal: true

# Stock MRI 3.4.5: segmentation fault at 4 in iseq_set_sequence (compile.c):
#   ruby --disable-gems coverage-in-ractors.rb
# A Ractor that compiles asks twice whether its iseq has coverage, and Coverage.setup or .result in another Ractor changes
# the answer between: the second time it is nil, which is read as an Array.

require "coverage"
Warning[:experimental] = false
ractors = Array.new(3) { Ractor.new { 20_000.times { |i| eval("[#{i}].map { |x|\n x\n }") } } }
Thread.new do
  loop do
    Coverage.setup(oneshot_lines: true)
    Coverage.resume
    Coverage.result
  end
end
ractors.each(&:take)
puts "ok"
