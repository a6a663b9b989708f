# frozen_string_literal: true

# heapprof_test.rb - what the tests here share: child processes, and `go tool pprof` to read files.
#
# Every test runs its subject in a child. in_child is for the Ruby class: a script with assertions
# and lib/child.rb. run_ruby is for whole processes: environment, output, exit status, files.

require "test/unit"
require "fileutils"
require "open3"
require "tmpdir"
require "zlib"
require_relative "estimator"
require_relative "raw_profile"
require_relative "rubybin"

# nohup has SIGHUP ignored, and a shell SIGINT and SIGQUIT of what it runs in the background. What tests start would inherit that.
%w[HUP INT QUIT].each do |signal|
  before = trap(signal, "DEFAULT")
  trap(signal, before) unless before == "IGNORE"
end

module HeapProfTest
  CHILD = File.join(__dir__, "child.rb")
  DEBUG_BUILD = RbConfig::CONFIG["cppflags"].include?("HEAPPROF_CHECK")
  MRI_CHECKS_ITSELF = RbConfig::CONFIG["cppflags"].include?("RGENGC_CHECK_MODE") # after each GC
  EMULATED = ENV.key?("HEAPPROF_RUBY") # for another machine: ten to twenty times as slow
  TIMEOUT = DEBUG_BUILD || EMULATED ? 600 : 120

  # For a script: runs a block, then waits until there is a line on stderr, and shows it there.
  NEXT_LINE = "next_line = ->(&block) { read, write = IO.pipe; err = $stderr.dup; $stderr.reopen(write); block.call; " \
              "line = read.gets; $stderr.reopen(err); $stderr.write(line) }; next_line.call"

  # A process that has ended.
  Ran = Struct.new(:out, :err, :status)

  # Runs the script in a child, with assertions, the profiler off at first.
  def in_child(script, *args, env: {}, timeout: TIMEOUT)
    assert_separately([clean(env), "-r#{CHILD}", *args], *place, script, timeout: timeout)
  end

  # The same with the script as a file, it.rb in an empty directory, so that its lines have a path; a library is loaded and
  # another script run before.
  def in_file(script, library, before = "", *args)
    in_directory do |directory|
      write_file("it.rb", script)
      in_child("require #{library.dump}\n#{before}\nDir.chdir(#{directory.dump})\nload './it.rb'", *args)
    end
  end

  # Runs ruby, profiled if there is a value for RUBY_HEAPPROF.
  def run_ruby(*args, heapprof: nil, env: {}, stdin: "", ruby: EnvUtil.rubybin, **options)
    env = clean(env.merge("RUBY_HEAPPROF" => heapprof))
    out, err, status = EnvUtil.invoke_ruby([env, *args], stdin, true, true, rubybin: ruby,
                                           timeout: TIMEOUT, encoding: "UTF-8", **options)
    Ran.new(out, err, status)
  end

  # Runs a script that is a file of its own, so that its frames have a path; yields the profile's
  # path, the script's, and how it ran.
  def profile_script(script, *args, settings: "interval=1", **options)
    in_directory do |directory|
      path = write_file("script.rb", script)
      out = File.join(directory, "profile.pb.gz")
      ran = run_ruby("--disable-gems", *args, path, heapprof: "#{settings},out=#{out}", **options)
      assert_clean ran
      yield out, path, ran
    end
  end

  # A temporary directory, also the one to be in; its real path, as frames have it.
  def in_directory
    Dir.mktmpdir do |directory|
      directory = File.realpath(directory)
      Dir.chdir(directory) { yield directory }
    ensure
      keep_profiles(directory)
    end
  end

  def write_file(path, text)
    File.write(path, text)
    File.expand_path(path)
  end

  def assert_clean(ran, out: nil)
    assert ran.status.success?, "#{ran.status.inspect}\n#{ran.err}"
    assert_empty ran.err
    assert_equal out, ran.out if out
  end

  def assert_one_line(pattern, text)
    assert_match(/\A[^\n]+\n\z/, text, "expected exactly one line")
    assert_match pattern, text
  end

  # What `go tool pprof` prints.
  def pprof(*args)
    out, err, status = go("tool", "pprof", *args)
    assert status.success?, "go tool pprof #{args.join(' ')}: #{err}"
    out
  end

  def read_profile(path)
    RawProfile.parse(pprof("-raw", path))
  end

  # An estimate of so many objects, in slots of that size.
  def assert_estimate(objects, estimate, slot, interval, message = nil)
    assert_in_delta objects, estimate, Estimator.allowance(objects, slot, interval), message
  end

  private

  # HEAPPROF_KEEP=DIRECTORY: where whole profiles go that tests have written, for scripts/check-viewers and test/cli.
  def keep_profiles(directory)
    kept = ENV["HEAPPROF_KEEP"] or return
    Dir.glob("#{directory}/**/*.pb.gz") do |file|
      next if !File.file?(file) || File.basename(file).include?("difference") || !whole?(file)
      FileUtils.cp(file, File.join(kept, "#{self.class}-#{__name__}-#{file.hash.abs}.pb.gz"))
    end
  end

  # Some tests make files of another kind, or cut them short.
  def whole?(file)
    Zlib.gunzip(File.binread(file))
    true
  rescue Zlib::Error
    false
  end

  def go(*args)
    Open3.capture3({ "PPROF_TMPDIR" => Dir.tmpdir }, "go", *args, stdin_data: "")
  rescue Errno::ENOENT
    flunk "go not found: these tests read profiles with `go tool pprof'; install the Debian package golang-go"
  end

  # What the caller has set for its own profile or Ruby must not reach a child.
  def clean(env)
    { "RUBY_HEAPPROF" => nil, "RUBYOPT" => nil }.merge(env)
  end

  # Where the test's script stands, for messages.
  def place
    location = caller_locations(2, 1).first
    [location.path, location.lineno]
  end
end
