# frozen_string_literal: true

# leaks.rb - leaks of released gems: the last version that has it, the one that mends it, which library and C function lose what, and
# a script that does it 20 times. doc/leaky-gems.md says what each is.

Leak = Struct.new(:gem, :leaky, :mended, :library, :function, :script) do
  # What runs the script with the gem of that version below home, for a ruby without RubyGems.
  def arguments(home, version)
    paths = Dir[File.join(home, "{gems/#{gem}-#{version}/lib,extensions/*/*/#{gem}-#{version}}")]
    ["--disable-gems", "-W0", *paths.map { |path| "-I#{path}" }, "-e", script]
  end
end

LEAKS = [
  Leak.new("bigdecimal", "3.1.7", "3.1.8", "bigdecimal.so", "VpAlloc", <<~'RUBY'),
    require "bigdecimal"
    BigDecimal.mode(BigDecimal::EXCEPTION_OVERFLOW, true)
    20.times { BigDecimal("1E11111111111111111111") rescue $! }
  RUBY
  Leak.new("commonmarker", "0.23.10", "0.23.11", "commonmarker.so", "xrealloc", <<~'RUBY'),
    require "commonmarker"
    20.times { CommonMarker.render_html("hello, world\n") }
  RUBY
  Leak.new("jaro_winkler", "1.5.1", "1.5.2", "jaro_winkler_ext.so", "codepoints_init", <<~'RUBY'),
    require "jaro_winkler/jaro_winkler_ext"
    20.times { JaroWinkler.distance("tony", "tonya", weight: 0.26) rescue $! }
  RUBY
  Leak.new("json", "2.7.1", "2.7.2", "generator.so", "cState_prepare_buffer", <<~'RUBY'),
    require "json"
    20.times { JSON.generate(["\xff"]) rescue $! }
  RUBY
  Leak.new("msgpack", "1.7.3", "1.7.5", "msgpack.so", "_msgpack_unpacker_init", <<~'RUBY'),
    require "msgpack"
    factory = MessagePack::Factory.new
    factory.register_type(1, Object, packer: proc {}, unpacker: proc { raise "oops" }, recursive: true)
    20.times { factory.load("\xc7\x01\x01\x01".b) rescue $! }
  RUBY
  Leak.new("rbs", "3.8.1", "3.9.0", "rbs_extension.so", "alloc_empty_table", <<~'RUBY'),
    require "rbs"
    20.times { RBS::Parser.parse_type("Array[String]", variables: [:T]) }
  RUBY
  Leak.new("redcarpet", "3.3.2", "3.3.3", "redcarpet.so", "rb_redcarpet_rbase_alloc", <<~'RUBY'),
    require "redcarpet"
    20.times { Redcarpet::Markdown.new(Redcarpet::Render::HTML).render("*a* b") }
  RUBY
  Leak.new("stack_frames", "0.1.0", "0.1.2", "stack_frames.so", "stack_frame_new", <<~'RUBY'),
    require "stack_frames/stack_frames"
    20.times { StackFrames::Buffer.new(50).capture }
  RUBY
  Leak.new("version_sorter", "2.2.1", "2.3.0", "version_sorter.so", "rb_version_sort_1", <<~'RUBY')
    require "version_sorter"
    20.times { VersionSorter.sort(["1", "2"]) { raise "oops" } rescue $! }
  RUBY
].freeze
