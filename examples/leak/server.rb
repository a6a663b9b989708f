# server.rb - a small shop that leaks: every page it renders stays in its cache for good.
#
#   RUBY_HEAPPROF=interval=16k ruby server.rb
#
# Prints its address. /item?id=N is a page of the shop. /debug/pprof/heap is the heap
# profile of this moment, so `go tool pprof ADDRESS/debug/pprof/heap` opens it directly.

require "stringio"
require "webrick"

class Shop
  def initialize
    @pages = {}
  end

  def page(id)
    @pages[id] ||= "<h1>Item #{id}</h1><p>#{"Only #{id.sum} left. " * 20}</p>" # the leak
  end

  # Makes objects that a request needs. They are garbage once it is answered.
  def recommendations(id)
    Array.new(50) { |i| { id: (id.sum * 7919 + i) % 10_000, title: "Item #{i}" } }
         .sort_by { |item| item[:id] }.first(3).map { |item| item[:title] }.join(", ")
  end

  def answer(request, response)
    id = request.query.fetch("id", "0")
    response.body = "#{page(id)}<p>See also #{recommendations(id)}</p>"
  end
end

def profile(_request, response)
  response.content_type = "application/octet-stream"
  response.body = +""
  ObjectSpace::HeapProfile.snapshot(gc: true).write(StringIO.new(response.body))
end

log = WEBrick::Log.new(nil, WEBrick::Log::WARN)
server = WEBrick::HTTPServer.new(BindAddress: "127.0.0.1", Port: 0, Logger: log, AccessLog: [])
shop = Shop.new
server.mount_proc("/item") { |request, response| shop.answer(request, response) }
server.mount_proc("/debug/pprof/heap") { |request, response| profile(request, response) }

trap(:TERM) { server.shutdown }
puts "http://127.0.0.1:#{server.config[:Port]}"
$stdout.flush
server.start
