# run.rb - finds the leak of server.rb from the outside, as one would in production.
#
#   ruby examples/leak/run.rb [DIRECTORY]
#
# Starts the server under the profiler. Clients ask for pages before the first profile, and for
# more pages before the second. pprof subtracts the first profile from the second: what is left
# has grown. The profiles stay in DIRECTORY (default: build/leak). Needs Go's pprof.

require "fileutils"
require "net/http"

RUBY = ENV["RUBY"] || RbConfig.ruby
DIRECTORY = ARGV.fetch(0, "build/leak")
CLIENTS, PAGES_EACH = 4, 500

# WEBrick is a gem; Debian's own ruby brings one along.
DEBIANS_WEBRICK = Dir["/usr/share/rubygems-integration/all/gems/webrick-*/lib"].max

def with_server
  command = [RUBY, *(["-I", DEBIANS_WEBRICK] if DEBIANS_WEBRICK), "#{__dir__}/server.rb"]
  environment = { "RUBY_HEAPPROF" => "interval=16k,seed=1,out=#{DIRECTORY}/at_exit.pb.gz" }
  IO.popen([environment, *command]) do |server|
    address = server.gets or abort "#{$0}: the server did not start: is WEBrick installed as a gem?"
    begin
      yield URI(address.chomp)
    ensure
      Process.kill(:TERM, server.pid)
    end
  end
end

def get(uri, path)
  response = Net::HTTP.get_response(uri + path)
  response.value # raises unless it is a success
  response.body
end

# Each client asks for pages that no client has asked for before.
def put_under_load(uri, first_id)
  clients = Array.new(CLIENTS) do |client|
    Thread.new do
      PAGES_EACH.times { |page| get(uri, "/item?id=#{first_id + page * CLIENTS + client}") }
    end
  end
  clients.each(&:join)
end

FileUtils.mkdir_p(DIRECTORY)
before, after = "#{DIRECTORY}/before.pb.gz", "#{DIRECTORY}/after.pb.gz"
with_server do |uri|
  put_under_load(uri, 0)
  File.binwrite(before, get(uri, "/debug/pprof/heap"))
  put_under_load(uri, CLIENTS * PAGES_EACH)
  File.binwrite(after, get(uri, "/debug/pprof/heap"))
end

report = %W[go tool pprof -top -lines -nodecount=5 -diff_base=#{before} #{after}]
puts report.join(" ")
$stdout.flush
exec(*report)
