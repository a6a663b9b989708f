# frozen_string_literal: true

# test_load.rb - a profile that was written, in Ruby again (vm/api/load.c, profiler/load.c): all of it, of a file, an IO
# or what else has read; and what is wrong with what is none, in one line.

require_relative "lib/heapprof_test"

class TestHeapProfLoad < Test::Unit::TestCase
  include HeapProfTest

  # told: what there is to know of a profile, with rows of one look added up, and nothing that no file has.
  SETUP = <<~'RUBY'
    require "stringio"
    require "tempfile"
    class Item; end
    VALUES = %i[inuse_objects inuse_slot_space inuse_malloc_space alloc_objects alloc_slot_space alloc_malloc_space rss_space memsize]
    def told(profile)
      rows = profile.group_by do |row|
        [row.kind, row.class_name, row.caller, row.frames, row.owner, row.owner_frames&.first.to_s, row.native_leak, row.gc_age]
      end
      rows.transform_values { |alike| VALUES.map { |value| alike.sum(&value) } }
    end
    def some = Array.new(100) { [Item.new, "x" * 2000, { 1 => 2 }] }
    def profile(**with)
      HeapProfile.start(interval: 1)
      $kept = some
      HeapProfile.snapshot(gc: true, **with)
    ensure
      HeapProfile.stop
    end
  RUBY

  def test_a_loaded_profile_is_the_one_that_was_written
    in_directory do
      in_child(SETUP + <<~'RUBY')
        [{}, { owners: true, rss: true }, { native_leaks: true }].each do |with|
          written = profile(**with)
          written.write("p.pb.gz")
          loaded = HeapProfile.load("p.pb.gz")
          assert_instance_of HeapProfile, loaded
          assert_equal told(written), told(loaded)
          assert_equal 100, total(loaded, class_name: "Item")
          assert_equal File.binread("p.pb.gz"), loaded.to_pprof
        end
      RUBY
    end
  end

  def test_blocks_of_one_name_and_path_are_the_same_after_loading
    in_child(<<~'RUBY')
      kept = []
      HeapProfile.start(interval: 1)
      1.times { kept << Object.new }
      1.times do
        kept << Object.new
      end
      profile = HeapProfile.snapshot
      profile.write("heap.pb.gz")
      assert_equal profile, HeapProfile.load("heap.pb.gz")
    RUBY
  end

  def test_a_loaded_difference_is_one
    in_child(SETUP + <<~'RUBY')
      HeapProfile.start(interval: 1)
      $few = some
      before = HeapProfile.snapshot(owners: true)
      $few = nil
      many = [some, some]
      difference = HeapProfile.snapshot(gc: true, owners: true) - before
      loaded = HeapProfile.load(StringIO.new(difference.to_pprof))
      assert_equal told(difference), told(loaded)
      assert_operator loaded.map(&:inuse_space).min, :<, 0
      assert_equal 2, many.size
    RUBY
  end

  def test_nothing_has_changed_since_the_file_was_written
    in_child(SETUP + <<~'RUBY')
      written = profile(owners: true, rss: true)
      loaded = HeapProfile.load(StringIO.new(written.to_pprof))
      assert_empty (written - loaded).to_a
      assert_empty (loaded - written).to_a
      assert_empty (loaded - loaded).to_a
    RUBY
  end

  def test_to_pprof_has_the_bytes_of_the_file
    in_directory do
      in_child(SETUP + <<~'RUBY')
        profile = profile()
        [:inuse_space, :alloc_objects].each do |by|
          profile.write("p.pb.gz", by: by)
          assert_equal Encoding::BINARY, profile.to_pprof(by: by).encoding
          assert_equal File.binread("p.pb.gz"), profile.to_pprof(by: by)
        end
        assert_raise(ArgumentError) { profile.to_pprof(by: :nonsense) }
      RUBY
    end
  end

  def test_what_it_is_read_from
    in_directory do
      in_child(SETUP + <<~'RUBY')
        require "pathname"
        require "zlib"
        written = profile
        written.write("p.pb.gz")
        bytes = written.to_pprof
        File.binwrite("p.pb", Zlib.gunzip(bytes))
        same = ->(loaded) { assert_equal told(written), told(loaded) }
        same.(HeapProfile.load("p.pb"))
        same.(HeapProfile.load(Pathname("p.pb.gz")))
        File.open("p.pb.gz") { |file| same.(HeapProfile.load(file)) }
        File.open("p.pb.gz", "r:utf-8") { |file| same.(HeapProfile.load(file)) }
        Zlib::GzipReader.open("p.pb.gz") { |gzip| same.(HeapProfile.load(gzip)) }
        same.(HeapProfile.load(StringIO.new(bytes)))
        Tempfile.create("x") { |file| file.binmode; file.write(bytes); file.rewind; same.(HeapProfile.load(file)) }
        reader, writer = IO.pipe
        Thread.new { writer.write(bytes); writer.close }
        same.(HeapProfile.load(reader))
        slow = StringIO.new(bytes)
        def slow.read(size) = super([size, 7].min)
        same.(HeapProfile.load(slow))
        file = File.open("p.pb.gz")
        HeapProfile.load(file)
        assert_equal bytes.size, file.pos, "an IO stays open"
        named = Object.new
        def named.to_str = "p.pb"
        same.(HeapProfile.load(named))
      RUBY
    end
  end

  def test_what_is_no_heap_profile_is_refused_in_one_line
    in_directory do
      in_child(SETUP + <<~'RUBY')
        require "zlib"
        bytes = profile.to_pprof
        plain = Zlib.gunzip(bytes)
        refused = lambda do |data, pattern|
          File.binwrite("file", data)
          error = assert_raise(ArgumentError) { HeapProfile.load("file") }
          assert_match(/\Afile: [^\n]*\z/, error.message)
          assert_match(pattern, error.message)
          again = assert_raise(ArgumentError) { HeapProfile.load(StringIO.new(data)) }
          assert_equal error.message.delete_prefix("file: "), again.message
        end
        refused.("", /is empty/)
        refused.("no profile\n", /is not a profile in pprof's format/)
        refused.(bytes.byteslice(0, bytes.size / 2), /cut short/)
        refused.(plain.byteslice(0, plain.size / 2), /./)
        refused.(plain.gsub("_space", "_speed"), /is not a heap profile: it has alloc_objects .*, and neither inuse_space nor alloc_space/)
        100.times do |i|
          broken = plain.b
          broken.setbyte(i * plain.size / 100, 0xff)
          File.binwrite("file", broken)
          begin
            HeapProfile.load("file").each { |row| row.frames }
          rescue ArgumentError => error
            assert_match(/\Afile: [^\n]*\z/, error.message)
          end
        end
        assert_raise(Errno::ENOENT) { HeapProfile.load("none") }
        assert_raise(Errno::EISDIR) { HeapProfile.load(".") }
        [nil, 1, :symbol].each { |wrong| assert_raise(TypeError) { HeapProfile.load(wrong) } }
      RUBY
    end
  end

  def test_no_more_than_limit_bytes_are_unpacked
    in_child(SETUP + <<~'RUBY')
      require "zlib"
      bytes = profile.to_pprof
      size = Zlib.gunzip(bytes).bytesize
      assert_instance_of HeapProfile, HeapProfile.load(StringIO.new(bytes), limit: size)
      assert_raise_with_message(ArgumentError, /larger than 10 bytes/) { HeapProfile.load(StringIO.new(bytes), limit: 10) }
      bomb = Zlib.gzip("\x32\x00".b) + Zlib.gzip("\x32\x80\x80\x04".b + "x" * 65_536) * 5000 # 300 MB of strings
      error = assert_raise(ArgumentError) { HeapProfile.load(StringIO.new(bomb), limit: 1 << 20) }
      assert_match(/larger than 1048576 bytes/, error.message)
      [0, -1, 1 << 32].each do |limit|
        assert_raise_with_message(ArgumentError, /limit: out of range/) { HeapProfile.load(StringIO.new(bytes), limit: limit) }
      end
      assert_raise(TypeError) { HeapProfile.load(StringIO.new(bytes), limit: "1m") }
    RUBY
  end

  # Whatever leaves read leaves load, and nothing is lost by it.
  def test_what_read_raises_or_throws_goes_on
    in_child(SETUP + <<~'RUBY')
      source = Object.new
      def source.read(size) = @with.call(size)
      with = ->(&block) { source.instance_variable_set(:@with, block); HeapProfile.load(source) }
      assert_raise_with_message(IOError, "gone") { with.() { raise IOError, "gone" } }
      assert_equal 7, catch(:up) { with.() { throw :up, 7 } }
      assert_raise(TypeError) { with.() { 5 } }
      assert_raise_with_message(ArgumentError, "read(65536) gave 65537 bytes") { with.() { |size| "x" * (size + 1) } }
      def leaves(with) = with.() { return 9 }
      assert_equal 9, leaves(with)
      nested = profile.to_pprof
      assert_raise(ArgumentError) { with.() { HeapProfile.load(StringIO.new(nested)); nil } }
      reader, = IO.pipe
      thread = Thread.new { HeapProfile.load(reader) }
      Thread.pass until thread.stop?
      thread.kill.join
      thread = Thread.new { Thread.current.report_on_exception = false; HeapProfile.load(reader) }
      Thread.pass until thread.stop?
      thread.raise(IOError, "enough")
      assert_raise_with_message(IOError, "enough") { thread.join }
    RUBY
  end

  def test_other_threads_run_while_it_is_read
    in_child(SETUP + <<~'RUBY')
      HeapProfile.start(interval: 1)
      kept = Array.new(scaled(30_000)) { |i| eval("[Object.new, '#{i}']", nil, "/file_#{i}.rb", i + 1) }
      bytes = HeapProfile.snapshot.to_pprof
      HeapProfile.stop
      source = StringIO.new(bytes)
      assert others_run? { HeapProfile.load(source) }
      assert_operator kept.size, :>, 0
    RUBY
  end

  def test_what_a_loaded_profile_occupies_is_given_back
    in_child(SETUP + <<~'RUBY')
      bytes = profile.to_pprof
      maps = -> { File.foreach("/proc/self/maps").count }
      HeapProfile.load(StringIO.new(bytes))
      GC.start
      before = maps.call
      500.times { HeapProfile.load(StringIO.new(bytes)) }
      500.times { HeapProfile.load(StringIO.new(bytes.byteslice(0, bytes.size / 2))) rescue nil }
      GC.start
      assert_operator maps.call - before, :<, 100
    RUBY
  end

  # What Go's runtime writes has no slots, and no classes.
  def test_a_heap_profile_of_go
    in_directory do
      in_child(SETUP + <<~'RUBY')
        def field(number, bytes) = [number << 3 | 2, bytes.bytesize].pack("CC") + bytes
        texts = ["", "inuse_objects", "count", "inuse_space", "bytes", "main.main", "/go/main.go"]
        go = texts.map { |text| field(6, text) }.join + field(1, "\x08\x01\x10\x02") + field(1, "\x08\x03\x10\x04") +
             field(5, "\x08\x01\x10\x05\x20\x06") + field(4, "\x08\x01" + field(4, "\x08\x01\x10\x09")) +
             field(2, field(1, "\x01") + field(2, "\x03\x60"))
        rows = HeapProfile.load(StringIO.new(go.b)).to_a
        assert_equal [[:objects, "", ["/go/main.go:9:in 'main.main'"], 3, 96, 0]],
                     rows.map { |row| [row.kind, row.class_name, row.frames.map(&:to_s), row.inuse_objects, row.inuse_space, row.alloc_space] }
      RUBY
    end
  end
end
