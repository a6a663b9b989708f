# frozen_string_literal: true

# rails.rb - a Rails application in production mode: migrations, then puma and four keepers of shops
# who ask for 1,000 pages over HTTP at once, and SIGTERM. Compared are every answer, the schema, and what
# is in the database at the end. Once in one process of four threads, once in two forked ones.

require "sqlite3"
require_relative "lib/browser"

class RailsProgram < Program
  KEEPERS = ["Ada's", "Bücher", "Corner & Sons", "Delta"]
  REQUESTS = 1000

  private

  def serve(workers:)
    FileUtils.cp_r(File.join(SOURCE, "rails/."), @directory)
    FileUtils.mkdir_p([local("log"), local("tmp")])
    ruby("bin/rails", "db:migrate") { |out| out.gsub(/\d+\.\d+s/, "") }
    puma(workers) { |port| keepers(port) }
    note "schema", File.read(local("db/schema.rb"))
    note "database", dump.join("\n")
  end

  # What puma prints is about its processes and ports. It ends by the signal, as Ruby programs do.
  def puma(workers)
    env = @env.merge("PUMA_WORKERS" => workers.to_s)
    out, server = IO.pipe
    pid = spawn(env, RbConfig.ruby, command("puma"), "-C", "config/puma.rb", chdir: @directory,
                in: File::NULL, out: server, err: local("stderr"))
    server.close
    port = out.each_line.find { |line| break $1.to_i if line =~ /Listening on .*:(\d+)$/ }
    raise "puma did not start: see #{local('stderr')}" unless port
    drain = Thread.new { out.read }
    yield port
  ensure
    Process.kill(:TERM, pid)
    Process.wait(pid)
    note "puma #{ending($?)}", drain ? drain.value.scan(/error.*/i).join("\n") : "did not start"
    note "stderr", File.read(local("stderr"))
  end

  def keepers(port)
    browsers = KEEPERS.map { |name| Browser.new(port, name) }
    browsers.map { |browser| Thread.new { browser.visit(REQUESTS / KEEPERS.size) } }.each(&:join)
    browsers.zip(KEEPERS) { |browser, name| note name, browser.log.join("\n\n") }
  end

  # Rows as text, without times and numbers that depend on who came first, in the order of what remains.
  def dump
    database = SQLite3::Database.new(local("db/production.sqlite3"), readonly: true)
    tables = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name"
    database.execute(tables).flat_map do |name,|
      columns = database.table_info(name).map { |column| column["name"] }.grep_v(/(\A|_)id\z|_at\z/)
      [name] + database.execute("SELECT #{columns.join(', ')} FROM #{name}").map(&:to_s).sort
    end
  ensure
    database&.close
  end
end

class RailsThreads < RailsProgram
  describe "Rails: migrations, then 1,000 requests to puma, 4 threads", gems: %w[railties activerecord sqlite3 puma],
           holds: /ActiveRecord|ActionView|ActionDispatch/, processes: 2

  def work
    serve(workers: 0)
  end
end

class RailsCluster < RailsProgram
  describe "Rails: the same to puma, 2 forked workers of 4 threads", gems: %w[railties puma],
           holds: /ActiveRecord|ActionView|ActionDispatch/, processes: 4

  def work
    serve(workers: 2)
  end
end
