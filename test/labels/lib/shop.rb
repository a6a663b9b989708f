# frozen_string_literal: true

# shop.rb - the application of ../server at work: Puma with two workers, and Solid Queue, in the current directory.

require "fileutils"
require "json"
require "net/http"
require "open3"
require "rbconfig"

class Shop
  SERVER = File.expand_path("../server", __dir__)
  LIBRARY = File.expand_path("../../../lib", __dir__)
  HEAPPROF = File.join(File.dirname(RbConfig.ruby), "heapprof")
  RUBY = [RbConfig.ruby, "-I", LIBRARY, "-r", File.join(__dir__, "activate.rb")].freeze
  ENVIRONMENT = { "RAILS_ENV" => "production", "DATABASE_URL" => "sqlite3:queue.sqlite3?timeout=60000&default_transaction_mode=immediate",
                  "RUBY_HEAPPROF" => "interval=8192,out=" }.freeze
  PATHS = %w[/carts/1 /prices /orders].freeze
  MANY_PRICES = "/prices?count=5000000"

  # What a command prints, which has to succeed.
  def self.output(*command, env: {})
    out, err, status = Open3.capture3(env, *command.map(&:to_s))
    status.success? or raise "#{command.join(' ')}: #{err}#{out}"
    out
  end

  def self.heapprof(*words) = output(HEAPPROF, *words)

  # With RUBY_HEAPPROF, if it is not to be profiled as ENVIRONMENT says.
  def initialize(environment = {})
    @environment = ENVIRONMENT.merge(environment)
  end

  # Yields itself when all of it runs.
  def run
    Shop.output(*RUBY, File.join(SERVER, "schema.rb"), env: @environment)
    @puma = start(File.join(Gem.dir, "bin/puma"), "-C", File.join(SERVER, "puma.rb"), File.join(SERVER, "config.ru"))
    @port = lines_of(@puma, /Listening on .*:(\d+)$/).first
    lines_of(@puma, /(Worker \d+).* booted/, 2)
    @queue = start(File.join(SERVER, "jobs.rb"), "start", "--config_file", File.join(SERVER, "queue.yml"))
    yield self
  ensure
    [@queue, @puma].compact.each { |server| stop(server) }
  end

  # Each page so many times, and the jobs until they have run.
  def load(times)
    visit(times)
    @worker = lines_of(@queue, /\Adone (\d+)$/, 2 * times).last
  end

  # [of Puma's workers, of Solid Queue's] profiles, whose names begin so.
  def profiles(name)
    [workers, [@worker]].map do |pids|
      pids.map { |pid| "#{name}-#{pid}.pb.gz".tap { |file| Shop.heapprof("snapshot", pid, "-o", file) } }
    end
  end

  # What `heapprof leak` says of Puma, and of Solid Queue's worker, while all of it is at work.
  def leaks
    over = false
    asking = Thread.new { load(20) until over }
    [@puma.pid, @worker].map { |pid| Shop.heapprof("leak", "--seconds=20", "--quiet", pid) }
  ensure
    over = true
    asking.join
  end

  # The table of the processor's time of Puma's workers, looked at from outside while pages are asked for.
  def record
    over = false
    asking = Thread.new { visit(1, PATHS + [MANY_PRICES] * 2) until over }
    Shop.heapprof("record", *workers, "--mode=cpu", "--duration=5", "--group=label:endpoint")
  ensure
    over = true
    asking.join
  end

  private

  Server = Struct.new(:pid, :out, :log)

  def start(program, *arguments)
    out, write = IO.pipe
    log = "#{File.basename(program)}.log"
    pid = spawn(@environment, *RUBY, program, *arguments, in: File::NULL, out: write, err: log)
    write.close
    Server.new(pid, out, log)
  end

  # Reads until so many lines match, and returns what the pattern has captured of each.
  def lines_of(server, pattern, count = 1)
    found = []
    while found.size < count
      line = server.out.gets or raise "#{server.log}: #{File.read(server.log)}"
      found << $1 if line =~ pattern
    end
    found
  end

  # What it still has to say may not stop it.
  def stop(server)
    Process.kill(:TERM, server.pid)
    server.out.read
    Process.wait(server.pid)
  end

  def workers = File.read("/proc/#{@puma.pid}/task/#{@puma.pid}/children").split

  # A visitor for each page.
  def visit(times, paths = PATHS)
    paths.map do |path|
      Thread.new do
        Net::HTTP.start("127.0.0.1", @port, read_timeout: 300) do |http|
          times.times do
            answer = http.get(path)
            raise "#{path}: #{answer.code} #{answer.body}" unless answer.is_a?(Net::HTTPSuccess)
          end
        end
      end
    end.each(&:join)
  end
end
