# frozen_string_literal: true

# load.rb - puma with two workers and clients that load it: for test/programs/server/run, which looks at the profiles,
# and bench/latency, which looks at the time that requests take.
#
# Runs on the installed ruby, in build/programs: gems/, as programs/run; server/, the profiles.

require "fileutils"
require "json"
require "net/http"
require_relative "../lib/gems"

module Load
  CLIENTS = 4
  BUILD = File.expand_path("../../../build/programs", __dir__)
  RUBY = ENV.fetch("RUBY", RbConfig.ruby)
  GEMS = Gems.new(File.expand_path("../gems", __dir__), File.join(BUILD, "gems"))

  Run = Struct.new(:times, :sent, :fetched, :pids)

  module_function

  def fresh(*path)
    File.join(BUILD, *path).tap { |directory| FileUtils.rm_rf(directory) && FileUtils.mkdir_p(directory) }
  end

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

  # Yields its port and its processes.
  def with_puma(settings, stderr)
    out, server = IO.pipe
    pid = spawn({ "RUBY_HEAPPROF" => settings }, RUBY, File.join(Gem.dir, "bin", "puma"), "-C", "puma.rb", "config.ru",
                chdir: __dir__, in: File::NULL, out: server, err: stderr)
    server.close
    port, workers = nil, []
    out.each_line do |line|
      port = $1.to_i if line =~ /Listening on .*:(\d+)$/
      workers << $1.to_i if line =~ /Worker \d \(PID: (\d+)\) booted/
      break if port && workers.size == 2
    end
    raise "puma did not start: see #{stderr}" unless workers.size == 2
    drain = Thread.new { out.read }
    yield port, [pid, *workers]
  ensure
    Process.kill(:TERM, pid)
    Process.wait(pid)
    drain&.join
  end

  # Seconds that each request took; what was wrong.
  def client(port, number, until_time, faults)
    times = []
    Net::HTTP.start("127.0.0.1", port) do |http|
      while now < until_time
        order = number * 1_000_000 + times.size
        before = now
        answer = http.get("/orders/#{order}")
        times << now - before
        faults << "order #{order}: #{answer.code} #{answer.body[0, 100]}" if JSON.parse(answer.body) != Array.new(20) { |i| "#{order}: line #{i}" }
      end
    end
    times
  end

  def signals(pids, every, until_time)
    sent = 0
    while now < until_time
      pids.each { |pid| Process.kill(:URG, pid) }
      sent += 1
      sleep every
    end
    sent
  end

  # One query after the other; each answer is a file.
  def fetches(port, queries, every, directory, until_time, faults)
    (0..).each do |i|
      return i if now >= until_time
      address = URI("http://localhost:#{port}/debug/pprof/#{queries[i % queries.size]}")
      answer = Net::HTTP.get_response(address, "Authorization" => "Bearer load")
      if answer.code == "200" then File.binwrite(File.join(directory, "http-#{i}.pb.gz"), answer.body)
      else faults << "HTTP: #{answer.code} #{answer.body}"
      end
      sleep every
    end
  end

  # Loads a server with these settings for so many seconds. The block is given port, processes and the time at which to
  # stop, and returns threads that ask for profiles meanwhile: by signal, over HTTP.
  def run(settings, directory, seconds, faults)
    with_puma(settings, File.join(directory, "stderr")) do |port, pids|
      until_time = now + seconds
      others = block_given? ? yield(port, pids, until_time) : []
      clients = Array.new(CLIENTS) { |number| Thread.new { client(port, number, until_time, faults) } }
      times = clients.flat_map(&:value).sort
      return Run.new(times, *others.map(&:value).values_at(0, 1), pids)
    end
  end

  # Of sorted times; in milliseconds.
  def quantile(times, share) = 1000 * times[[(times.size * share).to_i, times.size - 1].min]
end
