# frozen_string_literal: true

# Code: methods and classes that come, change, and die while their objects or their stacks are known
# to the profiler. In one Ractor at a time: README.md, "What is kept apart".

module Torture
  class Code < Actor
    def redefined
      target = Class.new
      rand(2..30).times do |i|
        target.class_eval("def work(n) = Array.new(n) { |i| '#{i}' + i.to_s }", "redefined.rb", i)
        keep(target.new.work(rand(1..30)))
        target.send(one_in(2) ? :undef_method : :remove_method, :work) if one_in(3)
      end
    end

    def anonymous
      rand(1..30).times do
        parent = Class.new { def initialize(value) = @value = [value, value.to_s] }
        child = Class.new(parent) { def twice = [self.class.new(1), self.class.new(2)] }
        object = child.new(mark)
        one_in(4) ? keep([object.twice, child]) : object.twice
      end
    end

    def modules
      rand(1..20).times do
        first = Module.new { def made = super << Object.new }
        second = Module.new { def made = [Object.new, mark] }
        type = Class.new(Allocation::Point) { include second; prepend first; extend second }
        keep(type.new(1, 2)) unless one_in(3)
        type.instance_method(:made).source_location
      end
    end

    def singletons
      rand(1..50).times do |i|
        object = mark(i)
        object.singleton_class.class_eval("def own = [Object.new, #{i}]")
        object.own
        keep(object) if one_in(3)
      end
    end

    # A class that gets its name late, and loses it.
    def named
      name = "Named#{next_seed}"
      type = Class.new { def self.make = new }
      keep(Array.new(rand(1..20)) { type.make })
      Torture.const_set(name, type)
      keep(Array.new(rand(1..20)) { type.make })
      type.const_set(:Inner, Class.new(type))::Inner.make
      Torture.send(:remove_const, name)
    end

    def renamed
      type = Class.new
      type.set_temporary_name("fake_#{rand(100)}")
      keep(type.new)
      type.class_eval("class self::Part; def part = Object.new; end")
      keep(type::Part.new.part)
    end

    def aliases
      type = Class.new { def one = [Object.new] }
      rand(1..30).times do |i|
        type.alias_method("one_#{i}", :one)
        type.class_eval("private :one_#{i}; public :one_#{i}; protected :one") if one_in(2)
        keep(type.new.send("one_#{i}"))
      end
    end

    def missing
      type = Class.new(BasicObject) do
        def method_missing(name, *values, **keys) = [name.to_s, values, keys, ::Object.new]
        def respond_to_missing?(*) = true
      end
      rand(1..40).times { |i| keep(type.new.__send__("missing_#{rand(50)}", i, key: [i])) }
    end

    def refined
      mod = Module.new { refine(String) { def torn = chars.map { |c| c * 3 } } }
      keep(mod.refinements.first.instance_method(:torn).bind_call("torn"))
    end
  end
end
