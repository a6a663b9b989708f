# Leak 7: a job that compiles a template each time, as a method with a name of its own.
class LetterJob < ApplicationJob
  def perform(number)
    lines = Array.new(200) { |i| "out << 'line #{i} of letter #{number}'" }
    self.class.class_eval("def letter_#{number}\n out = +''\n #{lines.join("\n ")}\nend", __FILE__, __LINE__)
  end
end
