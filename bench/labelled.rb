# frozen_string_literal: true

# The loops of bench/labels: ruby labelled.rb LOOP COUNT

HP = ObjectSpace::HeapProfile
CART = HP::Label.new(endpoint: "POST /cart")

class Kept; end

# What label is without labels: a method with a block that has an ensure.
module Plain
  def self.label(labels)
    yield
  ensure
    labels
  end
end

def made(labels, count)
  i = 0
  i += 1 while i < count && (labels.label(CART) { true })
end

def keys(labels, count)
  i = 0
  i += 1 while i < count && (labels.label(endpoint: "POST /cart") { true })
end

def two_keys(labels, count)
  i = 0
  i += 1 while i < count && (labels.label(endpoint: "POST /cart", tenant: "b2b") { true })
end

def late(labels, count)
  i = 0
  i += 1 while i < count && (labels.label(late: :endpoint) { true })
end

def keep(count)
  kept = Array.new(count)
  i = 0
  while i < count
    kept[i] = Kept.new
    i += 1
  end
end

loop_name, count = ARGV[0], Integer(ARGV[1])
case loop_name
when /\Aplain_/ then send($', Plain, count)
when "keep" then keep(count)
when "keep_labelled" then HP.label(CART) { keep(count) }
when /\Anested_/ then HP.label(service: "web") { send($', HP, count) }
else send(loop_name, HP, count)
end
