# frozen_string_literal: true

# test_memprof_signal.rb - heapprof/memprof/signal: SIGURG has a copy of the process dump its heap; the program goes on.

require "json"
require_relative "lib/heapprof_test"

class TestHeapProfMemprofSignal < Test::Unit::TestCase
  include HeapProfTest

  # Until there are so many whole files.
  HELPERS = <<~'RUBY'
    def dumps(count)
      sleep 0.01 until (paths = Dir.glob("#{Dir.tmpdir}/memprof-*.json")).size == count
      paths.sort
    end
  RUBY

  # In a directory for temporary files of its own.
  def with_signal(script, helpers = HELPERS)
    in_directory do |directory|
      path = write_file("script.rb", "require 'heapprof/memprof/signal'\n#{helpers}#{script}")
      yield run_ruby("--disable-gems", path, env: { "TMPDIR" => directory }), directory
    end
  end

  def test_a_signal_has_the_heap_dumped_by_a_copy
    script = <<~'RUBY'
      class Planted; end
      $kept = Planted.new
      before = Dir.glob("#{Dir.tmpdir}/*")
      Process.kill(:URG, Process.pid)
      path = dumps(1)[0]
      $stdout.puts Process.pid, Process.clock_gettime(Process::CLOCK_REALTIME).to_i, path
      begin
        Process.wait
      rescue Errno::ECHILD
        puts "no child"
      end
    RUBY
    with_signal(script) do |ran, directory|
      assert_clean ran
      pid, time, path, child = ran.out.lines(chomp: true)
      assert_equal "no child", child
      assert_match %r{\A#{Regexp.escape(directory)}/memprof-#{pid}-\d{8}T\d{6}\.\d{6}\.json\z}, path
      assert_in_delta time.to_i, File.mtime(path).to_i, 600
      assert_equal 0o600, File.stat(path).mode & 0o777
      lines = File.readlines(path).map { |line| JSON.parse(line) }
      assert_equal %w[finalizers ps], [lines[0]["type"], lines[-1]["type"]]
      assert_equal 1, lines.count { |line| line["class_name"] == "Planted" }
      assert_not_equal pid.to_i, lines[-1]["data"]["pid"]
      assert_empty Dir.glob("#{directory}/*.IN_PROGRESS")
    end
  end

  def test_it_may_be_asked_again_and_in_the_midst_of_work
    script = <<~'RUBY'
      lock = Monitor.new
      3.times do |i|
        lock.synchronize { Process.kill(:URG, Process.pid) }
        dumps(i + 1)
      end
      puts dumps(3).uniq.size
    RUBY
    with_signal(script, "require 'monitor'\n#{HELPERS}") { |ran,| assert_clean ran, out: "3\n" }
  end

  def test_what_goes_wrong_is_one_line_and_the_program_goes_on
    script = <<~'RUBY'
      trap("XFSZ", "IGNORE")
      Process.setrlimit(Process::RLIMIT_FSIZE, 1000)
      Process.kill(:URG, Process.pid)
      puts "on"
    RUBY
    with_signal(script) do |ran, directory|
      assert_equal ["on\n", true], [ran.out, ran.status.success?]
      assert_one_line(%r{\Aheapprof/memprof/signal: File too large}, ran.err)
      assert_empty Dir.glob("#{directory}/memprof-*")
    end
  end
end
