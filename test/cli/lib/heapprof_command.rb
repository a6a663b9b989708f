# frozen_string_literal: true

# heapprof_command.rb - what the tests of heapprof share: running it, and profiles to run it on.
#
# The program is HEAPPROF_PROGRAM, or build/bin/heapprof. Profiles are encoded here field by field, so what is in
# them is known; nothing is shared with what reads them.

require "test/unit"
require "fileutils"
require "json"
require "open3"
require "stringio"
require "tmpdir"
require "zlib"
require_relative "../../ruby/lib/rubybin"

# A shell has SIGINT and SIGQUIT of what it runs in the background ignored, and what tests start would inherit that.
%w[INT QUIT].each do |signal|
  before = trap(signal, "DEFAULT")
  trap(signal, before) unless before == "IGNORE"
end

# A profile, by its things; the bytes are those of profile.proto.
class ProfileBytes
  def initialize
    @strings = { "" => 0 }
    @things = "".b
    @functions = {}
    @locations = {}
    @begins = {}
  end

  def self.number(field, value) = varint(field << 3) + varint(value)
  def self.bytes(field, bytes) = varint(field << 3 | 2) + varint(bytes.bytesize) + bytes.b

  def self.varint(value)
    value &= 2**64 - 1
    bytes = "".b
    while value >= 128
      bytes << (value & 127 | 128)
      value >>= 7
    end
    bytes << value
  end

  def string(text) = @strings[text.b] ||= @strings.size
  def add(field, bytes) = @things << ProfileBytes.bytes(field, bytes)
  def add_number(field, value) = @things << ProfileBytes.number(field, value)

  def type(name, unit)
    add(1, ProfileBytes.number(1, string(name)) + ProfileBytes.number(2, string(unit)))
    self
  end

  def comment(text)
    add_number(13, string(text))
    self
  end

  # The line at which each function of that name begins that comes after this.
  def begin_at(lines)
    @begins.merge!(lines)
    self
  end

  # A sample: frames are "file:line function", or the address of a function without a name, the innermost first; labels are strings or numbers.
  def sample(frames, values, labels = {})
    @things << encoded_sample(frames, values, labels)
    self
  end

  # The same, to be put behind a profile.
  def encoded_sample(frames, values, labels = {})
    bytes = ProfileBytes.bytes(1, frames.map { |frame| ProfileBytes.varint(location(frame)) }.join) +
            ProfileBytes.bytes(2, values.map { |value| ProfileBytes.varint(value) }.join)
    labels.each { |key, value| bytes += ProfileBytes.bytes(3, label(key.to_s, value)) }
    ProfileBytes.bytes(2, bytes)
  end

  def raw
    @things + @strings.keys.map { |text| ProfileBytes.bytes(6, text) }.join
  end

  def gzip
    out = StringIO.new("".b)
    Zlib::GzipWriter.wrap(out) { |gzip| gzip.write(raw) }
    out.string
  end

  private

  def label(key, value)
    ProfileBytes.number(1, string(key)) +
      (value.is_a?(String) ? ProfileBytes.number(2, string(value)) : ProfileBytes.number(3, value))
  end

  def location(frame)
    @locations[frame] ||= begin
      id = @locations.size + 1
      address = frame.b[/\A0x\h+\z/n]
      add(4, ProfileBytes.number(1, id) + (address ? ProfileBytes.number(3, address.hex) : line(frame)))
      id
    end
  end

  def line(frame)
    file, line, name = frame.b.match(/\A(.*):(\d+) (.*)\z/mn).captures
    ProfileBytes.bytes(4, ProfileBytes.number(1, function(file, name)) + ProfileBytes.number(2, line.to_i))
  end

  def function(file, name)
    @functions[[file, name]] ||= begin
      id = @functions.size + 1
      add(5, ProfileBytes.number(1, id) + ProfileBytes.number(2, string(name)) + ProfileBytes.number(4, string(file)) +
             ProfileBytes.number(5, @begins.fetch(name, 0)))
      id
    end
  end
end

module HeapprofCommand
  TOP = File.expand_path("../../..", __dir__)
  PROGRAM = ENV["HEAPPROF_PROGRAM"] || File.join(TOP, "build/bin/heapprof")
  ENVIRONMENT = { "LC_ALL" => "C.UTF-8", "COLUMNS" => nil, "PAGER" => nil, "NO_COLOR" => nil, "TZ" => "UTC" }

  Ran = Struct.new(:out, :err, :status) do
    def json = JSON.parse(out)
  end

  def heapprof(*arguments, stdin: "", env: {})
    out, err, status = Open3.capture3(ENVIRONMENT.merge(env), PROGRAM, *arguments.map(&:to_s), stdin_data: stdin, binmode: true)
    Ran.new(out.force_encoding("UTF-8"), err.force_encoding("UTF-8"), status.exitstatus)
  end

  # It has to succeed, silently on stderr.
  def heapprof!(*arguments, **options)
    ran = heapprof(*arguments, **options)
    assert_equal ["", 0], [ran.err, ran.status], arguments.inspect
    ran
  end

  # It has to fail with that status and one line that matches.
  def assert_refused(status, line, *arguments, **options)
    ran = heapprof(*arguments, **options)
    assert_equal status, ran.status, ran.err
    assert_match line, ran.err
    assert_equal 1, ran.err.lines.size, ran.err
    assert_equal "", ran.out
  end

  # The names of all commands.
  def commands = heapprof!("help").out.scan(/^  ([a-z]+(?: [a-z]+)?)  +\S/).flatten

  def in_directory
    Dir.mktmpdir { |directory| Dir.chdir(directory) { yield directory } }
  end

  def write(name, profile)
    File.binwrite(name, profile.is_a?(ProfileBytes) ? profile.gzip : profile)
    name
  end

  # A heap of a shop: strings below a method of its own, a table in a gem.
  def shop(strings: 1000, table: 5000)
    ProfileBytes.new.type("alloc_objects", "count").type("alloc_space", "bytes").type("inuse_objects", "count")
                .type("inuse_space", "bytes").comment("interval: 512 bytes").comment("malloc interval: 512 bytes")
                .comment("directory: /srv/shop")
                .sample(["/srv/shop/cart.rb:12 Array#map", "/srv/shop/cart.rb:12 Cart#load", "/srv/shop/app.rb:3 <main>"],
                        [2 * strings, 80 * strings, strings, 40 * strings], class: "String", gc_age: 8)
                .sample(["/g/gems/rack-3.1.2/lib/rack.rb:7 Rack#call", "/srv/shop/app.rb:3 <main>"],
                        [0, table, 0, table], class: "Hash", caller: "st_init (ruby)", owner: "Hash")
  end
end
