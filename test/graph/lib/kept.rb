# frozen_string_literal: true

# kept.rb - the oracle: what is alive in a dump, and what would be free without some objects, by following references and by nothing
# else. It has no dominators, so it shares no idea with what it is held against.

require_relative "../../ruby/lib/heap_graph"

class Kept
  STACKS = %r{\AT_DATA\((?:VM/)?(?:thread|fiber)\)}
  CACHES = /\A(?:cached method|call cache|constant cache)\z/
  SURVIVOR = 1 << 6

  attr_reader :graph, :alive, :bytes

  def self.read(path) = new(HeapGraphFile.read(path))

  def initialize(graph)
    @graph = graph
    @next = graph.objects.transform_values { |object| targets(object, object.edges.reject { |edge| edge.kind == :weak }) }
    @alive = reach(graph.roots, @next)
    @bytes = sum(@alive)
  end

  def sum(addresses) = addresses.sum { |address, _| @graph.objects[address].bytes }

  # What would be free without all of these: its bytes; and the same without the stacks of threads and fibers, of which a person
  # may or may not think. Words on a stack and caches of methods and constants keep nothing here: the first are there by accident,
  # and gone with the next call; the second have nothing that its owner has not.
  def holds(addresses)
    with = reach(firm_roots, firm_next)
    freed = with.keys - reach(firm_roots, firm_next, addresses).keys
    [sum(freed.reject { |address| @graph.objects[address].type.match?(STACKS) }), sum(freed)]
  end

  def class_of(address) = @graph.objects[address].then { |object| object.class_name || object.type }
  def of_class(name) = @alive.keys.select { |address| class_of(address) == name }
  def of_type(type) = @alive.keys.select { |address| type.match?(@graph.objects[address].type) }

  # The object that a chain of labels leads to: %w[$list @head], %w[Cart CACHE @items]. It begins at a root, at a class, or at a
  # constant of Object.
  def at(first, *labels)
    address = root(first) || module_named(first) || @graph.objects[module_named("Object")].named(first)
    labels.inject(address) { |object, label| @graph.objects[object]&.named(label) } or raise "nothing is at #{[first, *labels].join(' -> ')}"
  end

  def root(name) = @graph.roots.find { |root| root.name == name }&.address

  def module_named(name)
    @graph.objects.each_value.find { |object| object.text == name && object.type.match?(/\AT_(CLASS|MODULE)/) }&.address
  end

  # { name => [objects, bytes] } of what is alive.
  def histogram
    @alive.each_key.with_object(Hash.new { |sums, name| sums[name] = [0, 0] }) do |address, sums|
      sum = sums[class_of(address)]
      sum[0] += 1
      sum[1] += @graph.objects[address].bytes
    end
  end

  # { address now => address in the dump before } of what is alive in both.
  def survivors(before)
    came = @graph.moves.invert
    @alive.each_key.with_object({}) do |address, same|
      next if @graph.objects[address].bits & SURVIVOR == 0
      earlier = came.fetch(address, address)
      same[address] = earlier if before.alive[earlier]
    end
  end

  private

  def targets(object, edges) = edges.filter_map { |edge| edge.to if edge.to.is_a?(Integer) } + [*object.layout.class_address]
  def firm_roots = @graph.roots.reject { |root| root.kind == :stack }
  def firm_next = @firm_next ||= @graph.objects.transform_values { |object| targets(object, object.edges.select { |edge| firm?(edge) }) }

  def firm?(edge)
    case edge.kind
    when :weak then false
    when :stack then @graph.objects[edge.to]&.type&.match?(STACKS)
    when :field then !CACHES.match?(edge.name.to_s)
    else true
    end
  end

  # { address => true } of what these roots lead to, not through the objects without.
  def reach(roots, to, without = [])
    seen = without.to_h { |address| [address, false] }
    left = roots.map(&:address)
    while (address = left.pop)
      next if seen.key?(address) || !to.key?(address)
      seen[address] = true
      left.concat(to[address])
    end
    seen.select { |_, reached| reached }
  end
end
