# frozen_string_literal: true

# program.rb - one program at work, in one setting: what it is, and how its processes are run.
#
# A subclass answers `work` by running processes and noting in `result`
# whatever must be the same with the profiler as without: what a process printed, how it ended,
# answers, files. What differs from run to run anyway (times, ports, process ids) stays out.

require "fileutils"
require "open3"

class Program
  # Where the programs' own files are: test/programs.
  SOURCE = File.expand_path("..", __dir__)

  # The library of the Ruby archive that the ruby was built from: something to work on.
  ARCHIVE = File.expand_path("../../build/src/ruby-#{RUBY_VERSION}", SOURCE)

  class << self
    attr_reader :title, :gems, :holds, :processes, :compacts

    # title: what the table calls it. gems: those to name in it. holds: matches labels of functions of
    # its own, some of which must hold memory. processes: how many end, and so write a profile.
    # compacts: whether it does so by itself.
    def describe(title, gems:, holds:, processes: 1, compacts: false)
      @title, @gems, @holds, @processes, @compacts = title, gems, holds, processes, compacts
    end
  end

  attr_reader :result, :directory

  def initialize(directory, env)
    @directory = directory
    @env = env
    @result = +""
  end

  # The text that is compared.
  def run
    work
    @result
  end

  private

  def note(title, text)
    @result << "== #{title}\n#{text}\n"
  end

  # Runs a process to its end and notes what it printed and how it ended.
  def ruby(*args, chdir: @directory)
    out, err, status = Open3.capture3(@env, RbConfig.ruby, *args, stdin_data: "", chdir: chdir)
    out = yield out if block_given?
    note "#{File.basename(args.first)} #{ending(status)}", out
    note "stderr", err
  end

  def ending(status)
    status.exited? ? "exit #{status.exitstatus}" : "signal #{Signal.signame(status.termsig)}"
  end

  # What a gem calls its command.
  def command(name)
    File.join(Gem.dir, "bin", name)
  end

  def gem_directory(name)
    Gem::Specification.find_by_name(name).full_gem_path
  end

  def local(path)
    File.join(@directory, path)
  end
end
