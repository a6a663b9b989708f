# frozen_string_literal: true

# test_flush.rb - from a snapshot to a file (vm/run/flush.c): where write writes, what it returns, what
# is left when it cannot. What is in the file is test_pprof.rb's matter.

require_relative "lib/heapprof_test"

class TestHeapProfFlush < Test::Unit::TestCase
  include HeapProfTest

  PROFILE = <<~'RUBY'
    class Item; end
    HeapProfile.start(interval: 1)
    KEPT = Array.new(25) { Item.new }
    PROFILE = HeapProfile.snapshot
    HeapProfile.stop
  RUBY

  def test_write_to_a_path_returns_the_bytes_written
    in_directory do
      in_child(PROFILE + <<~'RUBY')
        assert_equal PROFILE.write("p.pb.gz"), File.size("p.pb.gz")
      RUBY
      assert_equal %w[p.pb.gz], Dir.children(".")
      assert_equal 25, read_profile("p.pb.gz").total(class_name: "Item")
    end
  end

  def test_write_to_anything_that_has_a_path
    in_directory do
      in_child(PROFILE + <<~'RUBY')
        require "pathname"
        assert_operator PROFILE.write(Pathname("pathname.gz")), :>, 100
        to_str = Struct.new(:to_str).new("to_str.gz")
        assert_operator PROFILE.write(to_str), :>, 100
        to_path = Struct.new(:to_path) { def write(*) = raise("not this") }
        assert_operator PROFILE.write(to_path.new("to_path.gz")), :>, 100
      RUBY
      assert_equal %w[pathname.gz to_path.gz to_str.gz], Dir.children(".").sort
      Dir.each_child(".") { |file| assert_equal 25, read_profile(file).total(class_name: "Item") }
    end
  end

  def test_write_to_an_io
    in_directory do
      in_child(PROFILE + <<~'RUBY')
        require "stringio"
        io = StringIO.new("".b)
        assert_equal PROFILE.write(io), io.string.bytesize
        assert_equal Encoding::BINARY, io.string.encoding
        File.binwrite("stringio.gz", io.string)
        File.open("file.gz", "wb") { |file| assert_equal PROFILE.write(file), io.string.bytesize }
        duck = Object.new
        def duck.write(bytes) = (@bytes = bytes) && :returned
        assert_equal :returned, PROFILE.write(duck)
        assert_equal io.string, duck.instance_variable_get(:@bytes)
        reader, writer = IO.pipe(binmode: true)
        thread = Thread.new { reader.read }
        PROFILE.write(writer)
        writer.close
        assert_equal io.string, thread.value
      RUBY
      assert_equal File.binread("stringio.gz"), File.binread("file.gz")
      assert_equal 25, read_profile("file.gz").total(class_name: "Item")
    end
  end

  # None of these takes the bytes as they are from IO#write.
  def test_write_to_an_io_that_converts_is_binary_and_leaves_its_state
    in_directory do
      in_child(PROFILE + <<~'RUBY')
        require "stringio"
        bytes = StringIO.new("".b).tap { |io| PROFILE.write(io) }.string
        ["w:UTF-16LE", "w:UTF-8", "w:EUC-JP:UTF-8"].each do |mode|
          File.open("file", mode) do |file|
            file.write("<")
            before = file.pos
            assert_equal bytes.bytesize, PROFILE.write(file), mode
            assert_equal before + bytes.bytesize, file.pos
            assert_equal [Encoding.find(mode[/:([^:]+)/, 1]), false], [file.external_encoding, file.binmode?]
            file.write(">")
          end
          width = mode.include?("UTF-16") ? 2 : 1
          assert_equal bytes, File.binread("file")[width...-width], mode
        end
        File.open("file", "w", crlf_newline: true) { |file| PROFILE.write(file) }
        assert_equal bytes, File.binread("file")
      RUBY
    end
  end

  def test_write_to_a_pipe_that_is_full_meanwhile
    in_child(<<~'RUBY')
      HeapProfile.start(interval: 1)
      kept = Array.new(3000) { |i| eval("[Object.new, '#{i}']", nil, "/#{rand}.rb", i + 1) }
      profile = HeapProfile.snapshot
      HeapProfile.stop
      reader, writer = IO.pipe(external_encoding: "UTF-16LE")
      main = Thread.current
      thread = Thread.new { Thread.pass until main.stop?; reader.binmode.read }
      size = profile.write(writer)
      writer.close
      assert_operator size, :>, 1 << 16
      assert_equal size, thread.value.bytesize
      assert kept
    RUBY
  end

  def test_write_to_what_is_neither_raises_type_error
    in_child(PROFILE + <<~'RUBY')
      [nil, 1, :path, Object.new, [], "nul\0byte"].each do |target|
        assert_raise(TypeError, ArgumentError, target.inspect) { PROFILE.write(target) }
      end
      assert_raise(ArgumentError) { PROFILE.write }
    RUBY
  end

  def test_failed_write_raises_errno_and_leaves_no_file
    in_directory do
      in_child(PROFILE + <<~'RUBY')
        File.write("file", "")
        error = assert_raise(Errno::ENOENT) { PROFILE.write("missing/p.pb.gz") }
        assert_include error.message, "missing/p.pb.gz"
        assert_raise(Errno::EISDIR) { PROFILE.write(".") }
        assert_raise(Errno::ENOTDIR) { PROFILE.write("file/p.pb.gz") }
        assert_raise(Errno::ENAMETOOLONG) { PROFILE.write("n" * 300) }
        assert_raise(Errno::ENAMETOOLONG) { PROFILE.write("d/" * 3000) }
        Process.setrlimit(Process::RLIMIT_FSIZE, 100)
        trap(:XFSZ, "IGNORE")
        assert_raise(Errno::EFBIG) { PROFILE.write("p.pb.gz") }
        assert_equal %w[file], Dir.children(".")
        closed = File.open("file").tap(&:close)
        assert_raise(IOError) { PROFILE.write(closed) }
      RUBY
    end
  end

  def test_failed_write_leaves_the_older_file_as_it_was
    in_directory do
      in_child(PROFILE + <<~'RUBY')
        File.write("p.pb.gz", "older")
        Process.setrlimit(Process::RLIMIT_FSIZE, 100)
        trap(:XFSZ, "IGNORE")
        assert_raise(Errno::EFBIG) { PROFILE.write("p.pb.gz") }
        assert_equal [["p.pb.gz"], "older"], [Dir.children("."), File.read("p.pb.gz")]
      RUBY
    end
  end

  def test_write_follows_a_link_or_replaces_it_but_never_breaks_the_target
    in_directory do
      in_child(PROFILE + <<~'RUBY')
        File.symlink("target.gz", "link.gz")
        File.write("target.gz", "older")
        PROFILE.write("link.gz")
        assert_equal %w[link.gz target.gz], Dir.children(".").sort
        target = File.binread("target.gz")
        assert target == "older" || target == File.binread("link.gz")
      RUBY
      assert_equal 25, read_profile("link.gz").total(class_name: "Item")
    end
  end

  def test_only_the_owner_may_read_the_file
    in_directory do
      in_child(PROFILE + <<~'RUBY')
        [0, 0o027].each do |umask|
          File.umask(umask)
          PROFILE.write("p.pb.gz")
          assert_equal 0o600, File.stat("p.pb.gz").mode & 0o777
        end
      RUBY
    end
  end

  def test_link_that_others_may_have_put_there_is_not_followed
    in_directory do
      in_child(PROFILE + <<~'RUBY')
        File.write("victim", "precious")
        Dir.mkdir("shared")
        File.chmod(0o1777, "shared")
        File.symlink("../victim", "shared/link.gz")
        assert_raise(Errno::ELOOP) { PROFILE.write("shared/link.gz") }
        assert_operator PROFILE.write("shared/other.gz"), :>, 100
        assert_equal ["precious", %w[link.gz other.gz]], [File.read("victim"), Dir.children("shared").sort]
      RUBY
    end
  end

  # A pipe belongs to whoever waits for what root writes there.
  def test_pipe_of_another_user_is_not_written_to
    omit "needs root, to give files away" unless Process.uid == 0
    in_directory do
      in_child(PROFILE + <<~'RUBY')
        Dir.mkdir("shared")
        File.chmod(0o1777, "shared")
        File.mkfifo("shared/pipe")
        File.chown(65534, 65534, "shared/pipe")
        File.open("shared/pipe", File::RDONLY | File::NONBLOCK) do |pipe|
          assert_raise(Errno::EACCES) { PROFILE.write("shared/pipe") }
          assert_nil pipe.read(1)
        end
      RUBY
    end
  end

  def test_file_too_large_raises_errno_and_no_signal
    in_directory do
      in_child(PROFILE + <<~'RUBY')
        trap(:XFSZ, "DEFAULT")
        Process.setrlimit(Process::RLIMIT_FSIZE, 0)
        assert_raise(Errno::EFBIG) { PROFILE.write("p.pb.gz") }
        assert_empty Dir.children(".")
      RUBY
    end
  end

  def test_same_snapshot_is_written_the_same_each_time
    in_child(PROFILE + <<~'RUBY')
      require "stringio"
      written = Array.new(3) { StringIO.new("".b).tap { |io| PROFILE.write(io) }.string }
      assert_equal 1, written.uniq.size
    RUBY
  end

  def test_threads_write_the_same_snapshot_side_by_side
    in_directory do
      in_child(PROFILE + <<~'RUBY')
        threads = Array.new(8) { |i| Thread.new { 5.times { PROFILE.write("#{i}.gz") } } }
        threads.each(&:join)
        assert_equal 1, Dir.children(".").map { |file| File.binread(file) }.uniq.size
        assert_equal Array.new(8) { |i| "#{i}.gz" }, Dir.children(".").sort
      RUBY
    end
  end

  def test_threads_write_to_the_same_name_and_one_of_them_wins
    in_directory do
      in_child(PROFILE + <<~'RUBY')
        threads = Array.new(8) { Thread.new { 20.times { PROFILE.write("p.pb.gz") } } }
        threads.each(&:join)
        assert_equal %w[p.pb.gz], Dir.children(".")
      RUBY
      assert_equal 25, read_profile("p.pb.gz").total(class_name: "Item")
    end
  end

  # Encoding runs without the GVL: a thread that counts gets on with it meanwhile.
  def test_other_threads_run_while_a_profile_is_written
    in_directory do
      in_child(<<~'RUBY')
        HeapProfile.start(interval: 1)
        kept = Array.new(scaled(20_000)) { |i| eval("[Object.new, '#{i}']", nil, "/file_#{i}.rb", i + 1) }
        profile = HeapProfile.snapshot
        HeapProfile.stop
        assert others_run? { profile.write("p.pb.gz") }
        assert kept
      RUBY
    end
  end

  def test_snapshot_may_be_dropped_while_it_is_written
    in_directory do
      in_child(<<~'RUBY')
        HeapProfile.start(interval: 1)
        GC.stress = true
        3.times { assert_operator HeapProfile.snapshot.write("p.pb.gz"), :>, 100 }
      RUBY
    end
  end
end
