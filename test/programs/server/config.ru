# frozen_string_literal: true

# Answers with what a page of a shop might be, and keeps a little of each: there is always something new.

require "json"
require "heapprof/rack"

use Heapprof::Rack, token: "load" # for gc=1 in a loop

class Order
  def initialize(number) = @lines = Array.new(20) { |i| "#{number}: line #{i}" }
  def to_json(...) = @lines.to_json(...)
end

ORDERS = []
LOCK = Mutex.new

run(lambda do |env|
  number = env["PATH_INFO"][/\d+/].to_i
  order = Order.new(number)
  LOCK.synchronize { ORDERS.shift if ORDERS.push(order).size > 1000 }
  [200, { "content-type" => "application/json" }, [order.to_json]]
end)
