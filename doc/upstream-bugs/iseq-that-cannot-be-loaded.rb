# Stock MRI 3.4.5: miniruby --disable-gems iseq-that-cannot-be-loaded.rb (Linux)
#
# Always: where RubyVM::InstructionSequence.load_from_binary raises because of an instruction, the code that has been read is lost:
# ibf_load_code (compile.c) has it in a local variable until it is whole. Here it calls a builtin function, which is none that
# anybody may load.
BINARY = RubyVM::InstructionSequence.of(1.method(:abs)).to_binary

def resident_kilobytes = File.read("/proc/self/status")[/^VmRSS:\s+(\d+)/, 1].to_i

def load_often
  100_000.times do
    RubyVM::InstructionSequence.load_from_binary(BINARY)
  rescue ArgumentError
    nil
  end
  GC.start
end

load_often
before = resident_kilobytes
10.times { load_often }
puts "#{resident_kilobytes - before} kB more after a million failures"
