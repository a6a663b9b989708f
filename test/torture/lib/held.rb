# frozen_string_literal: true

# held.rb - keeps every thread there was, so that no GC frees one that is just ending. MRI takes a
# thread off its Ractor's list before it takes it off the scheduler's, and between the two another
# Ractor's GC may free it: README.md, "What is kept apart".

module Torture
  module Held
    THREADS = []

    def new(...) = super.tap { |thread| THREADS << thread }
  end
end

Thread.singleton_class.prepend(Torture::Held)
