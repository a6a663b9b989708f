# load.rb - three shoppers. They search for anything, and look at products and their pictures.
#
#   ruby load.rb [SECONDS]

require "net/http"

SECONDS = Float(ARGV.fetch(0, 30))
PORT = ENV.fetch("PORT", 9292)

def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

# Each visit opens a connection, so that all workers get visits.
def visit(random)
  Net::HTTP.start("127.0.0.1", PORT) do |shop|
    id = random.rand(500)
    ["/products?q=#{random.rand(1_000_000)}+#{id % 10}", "/products/#{id}", "/products/#{id}/picture"].each do |path|
      shop.get(path).value
    end
  end
end

ends = now + SECONDS
shoppers = Array.new(3) do |number|
  Thread.new(Random.new(number)) do |random|
    visits = 0
    visits += 1 while now < ends && visit(random)
    visits
  end
end
puts "#{3 * shoppers.sum(&:value)} requests"
