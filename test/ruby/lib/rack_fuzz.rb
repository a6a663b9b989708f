# frozen_string_literal: true

# rack_fuzz.rb - environments drawn at random, of the parts that requests are made of and of bytes. Behind RackRequest::SOURCE,
# with SECONDS (0: two thousand of one seed) and PROXIES. What holds of each:
#
# * The answer is one of those that are documented, in the form that Rack wants, and nothing is raised.
# * Without a token in the request, an application that has one answers 403.
# * Without the connection, or with a proxy's header, one that has none answers 403.

TOKEN = "s3cret"
WORDS = ["/", "/heap", "/allocs", "/cmdline", "/debug/pprof", "/debug/pprof/heap", "heap", "..", "%2e", "%", "%f", "%ff", "?", "&", "=", "token=", "token=#{TOKEN}",
         "Bearer ", "Bearer #{TOKEN}", "seconds=", "seconds=0", "seconds=3601", "gc=1", "debug=1", "debug=9", "rss=0", "owners=0", "localhost", "127.0.0.1", "[::1]:80",
         "::1", "none", "same-origin", "cross-site", "Mozilla/5.0", "curl/8", "GET", "HEAD", "POST", "\0", "\r\n", "\xff", "\xc3\x28", "\u00e9", "\u{1f600}", " ", ",", "9" * 40].freeze
NAMES = %w[PATH_INFO SCRIPT_NAME QUERY_STRING REQUEST_METHOD REMOTE_ADDR SERVER_NAME HTTP_HOST HTTP_AUTHORIZATION HTTP_USER_AGENT HTTP_ACCEPT
           HTTP_COOKIE HTTP_REFERER HTTP_SEC_FETCH_SITE HTTP_SEC_CH_UA HTTP_X HTTP_ HTTP_CONNECTION].freeze
ENCODINGS = [Encoding::UTF_8, Encoding::BINARY, Encoding::US_ASCII, Encoding::UTF_16LE, Encoding::Shift_JIS].freeze
STATUSES = [200, 301, 400, 403, 404, 405, 429].freeze

def text(random)
  words = Array.new(random.rand(1..3)) { random.rand(8).zero? ? random.bytes(random.rand(12)) : WORDS.sample(random: random).b }
  words.join.force_encoding(ENCODINGS.sample(random: random))
end

def environment(random)
  env = LOCAL.merge("PATH_INFO" => "/")
  random.rand(6).times do
    name = random.rand(6).zero? ? "HTTP_#{PROXIES.sample(random: random)}" : NAMES.sample(random: random)
    env[name] = text(random)
  end
  env["PATH_INFO"] = "/#{%w[heap allocs cmdline x].sample(random: random)}" if random.rand(3).zero?
  env.delete(env.keys.sample(random: random)) if random.rand(4).zero?
  env["puma.socket"] = [nil, 1, "x", $stdin, Object.new].sample(random: random) if random.rand(8).zero?
  # What is not asked here: waiting.
  env["QUERY_STRING"] = "" if env["QUERY_STRING"].to_s.b.match?(/seconds=[1-9]/)
  env.merge("rack.url_scheme" => "http", "x.bytes" => "\xff")
end

def lint(env, answer)
  status, headers, body = answer
  assert_includes STATUSES, status, env.inspect
  assert(headers.all? { |name, value| name.match?(/\A[a-z-]+\z/) && value.is_a?(String) && !value.match?(/[\r\n\0]/n) }, headers.inspect)
  assert_equal headers["content-length"].to_i, body.sum(&:bytesize) unless env["REQUEST_METHOD"] == "HEAD"
  assert_match(/\A[^\n]+\n\z/n, body.join) if status >= 400 && env["REQUEST_METHOD"] != "HEAD"
end

def seen?(env) = env.any? { |name, value| name.match?(/\A[A-Z]/) && value.to_s.b.include?(TOKEN) }

def proxied?(env) = PROXIES.any? { |name| env.key?("HTTP_#{name}") }

def try(env, open, closed)
  closed_answer = closed.call(env.dup)
  lint(env, closed_answer)
  assert_equal 403, closed_answer[0], env.inspect unless seen?(env)
  open_answer = open.call(env.dup)
  lint(env, open_answer)
  assert_equal 403, open_answer[0], env.inspect if proxied?(env) || !env["puma.socket"].equal?(SOCKET)
  [closed_answer[0], open_answer[0]]
end

HeapProfile.start
front = Heapprof::Rack.new(->(env) { [200, { "content-length" => "0" }, []] }, path: "/p\u00e9")
open, closed = Heapprof::Rack.new, Heapprof::Rack.new(token: TOKEN)
ends = SECONDS.positive? && Process.clock_gettime(Process::CLOCK_MONOTONIC) + SECONDS
count = 0
tally = Hash.new(0)
seed = SECONDS.positive? ? Random.new_seed : 1
random = Random.new(seed)
begin
  while ends ? Process.clock_gettime(Process::CLOCK_MONOTONIC) < ends : count < 2_000
    env = environment(random)
    try(env, open, closed).each { |status| tally[status] += 1 }
    front.call(env.dup)
    count += 1
  end
rescue Exception
  $stderr.puts "seed #{seed}, environment #{count}: #{env.inspect}"
  raise
end
assert_operator tally.keys.size, :>=, 5, tally.inspect # it has come to most of them
File.write(ENV["RACK_FUZZ_LOG"], "#{count} environments, seed #{seed}: #{tally}\n") if ENV["RACK_FUZZ_LOG"]
