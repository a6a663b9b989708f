# frozen_string_literal: true

# Evaluation: code that comes and dies, without a class of its own.

module Torture
  class Evaluation < Actor
    def self.in_ractor? = true

    def evaluated
      rand(1..20).times do |i|
        source = "#{"\n" * rand(0..500)}Array.new(#{rand(1..30)}) { |i| [i, 'x' * i, { i => yield(i) }] }"
        keep(eval("->(&block) { made = proc { #{source.sub('yield', 'block.call')} }; made.call }",
                  binding, "torture_#{i}.rb", rand(1..9000)).call { mark(_1) })
      end
    end

    def compiled
      rand(1..15).times do |i|
        iseq = RubyVM::InstructionSequence.compile("x = [1, 'a' * #{i}]; x.map { |e| [e, Object.new] }", "c#{i}.rb")
        iseq = RubyVM::InstructionSequence.load_from_binary(iseq.to_binary) if one_in(3)
        keep(iseq.eval)
        keep(iseq) if one_in(4)
      end
    end

    def bound
      rand(1..20).times do |i|
        here = binding
        here.local_variable_set("local_#{i}", mark(i))
        keep(here.eval("[local_#{i}, proc { [local_#{i}] }, -> { Object.new }.call]", "bound.rb", i + 1))
      end
    end
  end
end
