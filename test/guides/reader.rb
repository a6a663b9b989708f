# frozen_string_literal: true

# reader.rb - who reads a guide and does what it says, in a copy of an example, or in an empty directory.

require "fileutils"
require "open3"
require "socket"

class Reader
  PATIENCE = 60 # seconds until something has to be there; not what is tested

  # As in ../programs/rails/config/puma.rb: IO#close waits for ever in MRI 3.4 when a signal handler writes to the
  # same IO.
  SIGNALS = <<~RUBY

    require "puma/server"
    Puma::Server.prepend(Module.new do
      private def notify_safely(message) = Thread.new { super(message) }
    end)
  RUBY

  # What the last command has printed; the workers of the server.
  attr_reader :printed, :workers, :directory

  def initialize(directory, example, log)
    @directory = directory
    @log = log
    @environment = { "PORT" => free_port.to_s, "RUBY_HEAPPROF" => nil, "RUBYOPT" => nil, "BUNDLE_GEMFILE" => nil,
                     "LC_ALL" => "C.UTF-8", "COLUMNS" => nil, "PATH" => "#{File.dirname(RbConfig.ruby)}:#{ENV['PATH']}" }
    FileUtils.rm_rf(directory)
    example ? FileUtils.cp_r(File.expand_path("../../examples/#{example}", __dir__), directory) : FileUtils.mkdir_p(directory)
  end

  # What the shop needs before its reader comes.
  def prepare_shop
    add("config/puma.rb", SIGNALS)
    finish("cd ext && ruby extconf.rb && make")
    finish("bundle lock --local") # the versions that are there, not the newest
  end

  # Line by line; a server goes on. PID is a worker's, ADDRESS the first one that the last command has printed.
  def commands(text)
    text.each_line(chomp: true) do |command|
      command = command.sub(/\bPID\b/) { @workers.first.to_s }.sub(/\bADDRESS\b/) { @printed[/\b0x\h+/] }
      @log.puts "$ #{command}"
      case command
      when /\Acd (\S+)\z/ then @directory = File.join(@directory, $1)
      when /\bpuma\z/ then start(command)
      else finish(command)
      end
    end
  end

  def change(text)
    out, status = Open3.capture2e("patch", "-p1", stdin_data: text, chdir: @directory)
    raise "the change cannot be made: #{out}" unless status.success?
  end

  def add(file, text)
    File.write(File.join(@directory, file), text, mode: "a")
  end

  # As Ctrl-C does.
  def stop
    return unless @server
    Process.kill(:INT, @server)
    _, status = Process.wait2(@server)
    @server = nil
    @log.puts said
    raise "the server has ended by #{status}: #{said}" unless status.exitstatus&.zero? || status.termsig == Signal.list["INT"]
  end

  # Until the block says something.
  def wait(what)
    ends = Process.clock_gettime(Process::CLOCK_MONOTONIC) + PATIENCE
    until (found = yield)
      raise "#{what}: not after #{PATIENCE} s\n#{said}" if Process.clock_gettime(Process::CLOCK_MONOTONIC) > ends
      sleep 0.1
    end
    found
  end

  private

  def free_port = TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] }

  def said = File.read("#{@directory}/server.log")

  def finish(command)
    @printed, status = Open3.capture2e(@environment, command, chdir: @directory)
    @printed.gsub!("#{@directory}/", "") # guides show paths from there on, and those of gems from where these are
    @printed.gsub!("#{ENV['GEM_HOME']}/", "") if ENV["GEM_HOME"]
    @log.puts @printed
    raise "#{command}: #{status}\n#{@printed}" unless status.success?
  end

  def start(command)
    stop
    @server = spawn(@environment, "exec env #{command}", chdir: @directory, in: File::NULL,
                    [:out, :err] => "#{@directory}/server.log")
    @workers = wait("the server") do
      if Process.wait(@server, Process::WNOHANG)
        @server = nil
        raise "the server has ended: #{said}"
      end
      pids = said.scan(/Worker \d \(PID: (\d+)\) booted/).flatten.map(&:to_i)
      pids if pids.size == 2
    end
  end
end
