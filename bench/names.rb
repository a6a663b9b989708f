# frozen_string_literal: true

# names.rb - new names, for bench/names: ruby names.rb class|constant|instance|method|call COUNT

what, count = ARGV[0], Integer(ARGV[1])
kept = []
case what
when "class" then count.times { kept << Class.new }
when "constant" then count.times { |i| Object.const_set(:"C#{i}", Class.new) }
when "instance" then count.times { kept << Class.new.new }
when "method" then count.times { |i| eval("def m#{i} = nil") }
when "call" then count.times { |i| eval("def m#{i} = Object.new; m#{i}") }
end
