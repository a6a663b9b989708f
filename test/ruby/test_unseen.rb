# frozen_string_literal: true

# test_unseen.rb - base/unseen.c is what MRI's regular expressions say; and whatever the program calls things, no such character is in
# what the profiler writes as text.

require_relative "lib/heapprof_test"
require_relative "../cli/lib/unseen"
require "heapprof/plain"
require "heapprof/native_leaks"
require "json"

class TestUnseen < Test::Unit::TestCase
  include HeapProfTest
  include Unseen

  # Of each code point, by a report that has it as the name of a class. A name has a thousand bytes at most.
  def test_the_table_is_unicodes
    codes = [*1..0xd7ff, *0xe000..0x10ffff].each_slice(240)
    in_directory do
      write_file("names", Marshal.dump(codes.map { |some| "<#{some.pack("U*")}>" }))
      in_child(<<~'RUBY', "-W0")
        names = Marshal.load(File.binread("names"))
        HeapProfile.start(interval: 1)
        kept = names.map { |name| klass = Class.new { set_temporary_name(name) }; [klass, klass.new] }
        File.open("report", "w") { |file| HeapProfile.snapshot.report(file, group: :class, limit: 0, width: 0) }
      RUBY
      reported = File.read("report")
      codes.each do |some|
        name = some.pack("U*")
        assert reported.include?(Heapprof::Plain.text(name)), format("U+%X to U+%X", some.first, some.last)
      end
    end
  end

  def test_what_ruby_makes_of_it
    assert_equal 'a\x1B\xC2\x9B\xE2\x80\xAE\xF3\xA0\x81\x81\x0Aé\xFF', Heapprof::Plain.text("a\e\u009b\u202e\u{e0041}\né\xff")
    assert_equal %({"a":\n"\\u200b\\udb40\\udc41\\u007f\\u0085é"}), Heapprof::Plain.json(%({"a":\n"\u200b\u{e0041}\x7f\u0085é"}))
    ALL.each { |character| assert_equal character, JSON.parse(Heapprof::Plain.json(JSON.generate(character))) }
    leak = ObjectSpace::HeapProfile::NativeLeak.send(:new, "f#{NAME} (#{NAME}.so)", "#{NAME}.so", ["#{NAME}:1:in '#{NAME}'"], 1, 2, 0, 0)
    [leak.to_s, leak.inspect, Heapprof::NativeLeaks.describe([leak])].each { |text| assert_seen text }
  end

  def test_reports_and_memprof
    in_directory do
      write_file("name", NAME)
      in_child(<<~'RUBY', "-W0")
        require "heapprof/memprof"
        require "stringio"
        name = File.read("name", encoding: "UTF-8")
        weird = Class.new { set_temporary_name("fake #{name}") }
        make = eval("-> { Array.new(500) { weird.new } }", binding, "/srv/#{name.delete("\n")}.rb", 1)
        HeapProfile.start(interval: 1)
        before = HeapProfile.snapshot
        kept = make.call
        after = HeapProfile.snapshot(owners: true, rss: true)
        outputs = StringIO.new
        [nil, :class, :site, :file, :function].each do |group|
          [after, after - before].each { |profile| profile.report(outputs, group: group, limit: 0, rss: profile == after) }
        end
        outputs.puts after.to_collapsed, after.inspect
        HeapProfile.stop
        Thread.current.name = name
        $0 = name.delete("\n")
        Memprof.track("track") { $objects = make.call }
        Memprof.dump("dump") { $objects = [make.call, weird.new.tap { |one| one.instance_variable_set(:@a, name) }, name.dup, name.to_sym] }
        Memprof.dump_all("all")
        Memprof.trace_filename = "trace"
        Memprof.trace { make.call }
        File.write("outputs", outputs.string)
      RUBY
      %w[outputs track dump all trace].each { |file| assert_seen File.read(file, encoding: "UTF-8"), file }
      %w[outputs track].each { |file| assert_include File.read(file), 'fake <\x1F' }
      assert_include File.read("all"), '\u200b'
      File.foreach("all", encoding: "UTF-8") { |line| JSON.parse(line) }
    end
  end

  # Names of files and of the program, and of what misses a barrier.
  def test_lines_on_stderr
    in_directory do
      [["-e", "1", { heapprof: "out=#{FILE}/none.gz" }], ["-e", "1", { heapprof: "1,#{FILE}=1" }], ["-e", "1", { heapprof: "1,interval=#{FILE}" }],
       ["-e", "$0 = ARGV[0]; Dir.mkdir('a'); #{NEXT_LINE} { ObjectSpace::HeapProfile.start(every: 0.1, out: 'a/%e.gz'); Dir.rmdir('a') }", FILE, {}]].each do |*arguments, options|
        ran = run_ruby("--disable-gems", *arguments, **options)
        assert_seen ran.err, options
        refute_equal "", ran.err
      end
      ran = run_ruby("--disable-gems", "-", env: { "RUBY_WBCHECK" => "1" }, stdin: <<~RUBY)
        require "-test-/heapprof_missed"
        name = Marshal.load(#{Marshal.dump(FILE).dump})
        weird = Class.new { set_temporary_name("fake " + name) }
        eval("HeapProfMissed.new.store(weird.new)", binding, name + ".rb", 1)
      RUBY
      assert_match(/write barrier missed: .*fake <\\x01/, ran.err)
      assert_seen ran.err
    end
  end
end
