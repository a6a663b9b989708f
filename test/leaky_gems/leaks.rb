# frozen_string_literal: true

# leaks.rb - leaks of released gems: the last version that has it, the one that mends it, which library and C function lose what, and
# a script that does it 20 times. doc/leaky-gems.md says what each is.

NEEDS = { "oj" => ["bigdecimal-3.1.8"] }.freeze # gems that these load

# still: a function whose leak the mended version has, too
Leak = Struct.new(:gem, :leaky, :mended, :library, :function, :script, :still) do
  # What runs the script with the gem of that version below home, for a ruby without RubyGems.
  def arguments(home, version)
    gems = ["#{gem}-#{version}", *NEEDS[gem]].join(",")
    paths = Dir[File.join(home, "{gems/{#{gems}}/lib,extensions/*/*/{#{gems}}}")]
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
  Leak.new("json", "2.7.4", "2.7.5", "generator.so", "mArray_to_json", <<~'RUBY'),
    require "json"
    class Raising
      def to_json(*) = raise("oops")
    end
    20.times { [Raising.new].to_json rescue $! }
  RUBY
  Leak.new("json", "2.15.2", "2.16.0", "generator.so", "fbuffer_do_inc_capa", <<~'RUBY'),
    require "json"
    class Throwing
      def to_json(*) = throw(:out)
    end
    20.times { catch(:out) { JSON.generate(["x" * 10_000, Throwing.new]) } }
  RUBY
  Leak.new("libxml-ruby", "5.0.5", "5.0.6", "libxml2.so.2", "xmlBufferCreate", <<~'RUBY'),
    require "libxml-ruby"
    20.times { LibXML::XML::Writer.string.result }
  RUBY
  Leak.new("msgpack", "1.7.3", "1.7.5", "msgpack.so", "_msgpack_unpacker_init", <<~'RUBY'),
    require "msgpack"
    factory = MessagePack::Factory.new
    factory.register_type(1, Object, packer: proc {}, unpacker: proc { raise "oops" }, recursive: true)
    20.times { factory.load("\xc7\x01\x01\x01".b) rescue $! }
  RUBY
  Leak.new("oj", "3.17.4", "3.17.5", "oj.so", "opt_create_id_set", <<~'RUBY'),
    require "oj"
    parser = Oj::Parser.new(:usual)
    parser.create_id = "first"
    20.times { parser.create_id = "^" * 40 }
  RUBY
  Leak.new("oj", "3.17.4", "3.17.5", "oj.so", "parser_new", <<~'RUBY'),
    require "oj"
    20.times { Oj::Parser.new(:none) rescue $! }
  RUBY
  Leak.new("oj", "3.17.4", "3.17.5", "oj.so", "oj_sparse2", <<~'RUBY'),
    require "oj"
    20.times do
      read, write = IO.pipe
      write << %q({"a\nb) << "c" * 90 << %q(":1})
      write.close
      Oj.load(read, mode: :strict)
    end
  RUBY
  Leak.new("oj", "3.17.4", "3.17.5", "oj.so", "oj_odd_alloc_args", <<~'RUBY'),
    require "oj"
    20.times { Oj.load(%q({"^O":"Rational","numerator":1,), mode: :object) rescue $! }
  RUBY
  Leak.new("oj", "3.17.4", "3.17.5", "oj.so", "oj_reader_read", <<~'RUBY'),
    require "oj"
    20.times do
      read, write = IO.pipe
      write << "[" << "1" * 9000 << "]"
      write.close
      Oj.load(read, mode: :strict) rescue $!
    end
  RUBY
  Leak.new("oj", "3.17.7", "3.17.8", "oj.so", "oj_grow_out", <<~'RUBY'),
    require "oj"
    class Raising
      def to_json(*) = raise("oops")
    end
    20.times { Oj.to_file("/dev/null", ["x" * 10_000, Raising.new], mode: :compat, use_to_json: true) rescue $! }
  RUBY
  Leak.new("oj", "3.17.7", "3.17.8", "oj.so", "oj_grow_out", <<~'RUBY'),
    require "oj"
    class Raising
      def to_json(*) = raise("oops")
    end
    20.times { Oj.to_stream($stderr, ["x" * 10_000, Raising.new], mode: :compat, use_to_json: true) rescue $! }
  RUBY
  Leak.new("oj", "3.17.7", "3.17.8", "oj.so", "oj_grow_out", <<~'RUBY'),
    require "oj"
    class Raising
      def to_json(*) = raise("oops")
    end
    Oj.mimic_JSON
    20.times { JSON.generate(["x" * 10_000, Raising.new]) rescue $! }
  RUBY
  Leak.new("oj", "3.17.7", "3.17.8", "oj.so", "parse_options_cb", <<~'RUBY'),
    require "oj"
    20.times { Oj.to_file("/nonexistent/file", {}, create_id: "class") rescue $! }
  RUBY
  Leak.new("oj", "3.17.7", "3.17.8", "oj.so", "make_only_value", <<~'RUBY'),
    require "oj"
    20.times { Oj.to_file("/nonexistent/file", {}, only: [:name]) rescue $! }
  RUBY
  Leak.new("oj", "3.17.7", "3.17.8", "oj.so", "parse_options_cb", <<~'RUBY'),
    require "oj"
    20.times { Oj.to_file("/nonexistent/file", {}, ignore: [String]) rescue $! }
  RUBY
  Leak.new("oj", "3.17.7", "3.17.8", "oj.so", "oj_saj_parse", <<~'RUBY'),
    require "oj"
    class Handler < Oj::Saj
      def hash_start(key) = nil
    end
    20.times { Oj.saj_parse(Handler.new, StringIO.new("[\0]" + "x" * 60)) rescue $! }
  RUBY
  Leak.new("oj", "3.17.7", "3.17.8", "oj.so", "oj_saj_parse", <<~'RUBY'),
    require "oj"
    class Handler < Oj::Saj
      def hash_start(key) = nil
    end
    20.times { Oj.saj_parse(Handler.new, File.open("/sys/devices/system/cpu/online")) rescue $! }
  RUBY
  Leak.new("oj", "3.17.7", "3.17.8", "oj.so", "doc_open_file", <<~'RUBY'),
    require "oj"
    20.times { Oj::Doc.open_file("/sys/devices/system/cpu/online") {} rescue $! }
  RUBY
  Leak.new("ox", "2.14.28", "2.14.29", "ox.so", "add_element", <<~'RUBY'),
    require "ox"
    20.times { Ox.load(%q(<o c="Object" i="1"><a i="2">), mode: :object, circular: true) rescue $! }
  RUBY
  Leak.new("ox", "2.14.28", "2.14.29", "ox.so", "ox_write_obj_to_str", <<~'RUBY'),
    require "ox"
    20.times do
      Ox.dump([proc {}], effort: :strict)
    rescue NotImplementedError
    end
  RUBY
  Leak.new("ox", "2.14.28", "2.14.29", "ox.so", "ox_strndup", <<~'RUBY'),
    require "ox"
    class Handler < Ox::Sax
      def start_element(name) = nil
    end
    20.times { Ox.sax_parse(Handler.new, StringIO.new("<#{"a" * 200}><#{"b" * 200}>")) rescue $! }
  RUBY
  Leak.new("ox", "2.14.28", "2.14.29", "ox.so", "add_element", <<~'RUBY'),
    require "ox"
    20.times { Ox.load(%q(<a>x</a><b c="1">), mode: :hash) rescue $! }
  RUBY
  Leak.new("rbs", "3.4.4", "3.9.0", "rbs_extension.so", "alloc_parser", <<~'RUBY'),
    require "rbs"
    20.times { RBS::Parser.parse_type("Array[") rescue $! }
  RUBY
  Leak.new("rbs", "3.4.4", "3.9.0", "rbs_extension.so", "alloc_parser", <<~'RUBY'),
    require "rbs"
    20.times { RBS::Parser.parse_type("") }
  RUBY
  Leak.new("rbs", "3.8.1", "3.9.0", "rbs_extension.so", "alloc_empty_table", <<~'RUBY'),
    require "rbs"
    20.times { RBS::Parser.parse_type("Array[String]", variables: [:T]) }
  RUBY
  Leak.new("redcarpet", "3.3.2", "3.3.3", "redcarpet.so", "rb_redcarpet_rbase_alloc", <<~'RUBY'),
    require "redcarpet"
    20.times { Redcarpet::Markdown.new(Redcarpet::Render::HTML).render("*a* b") }
  RUBY
  Leak.new("stack_frames", "0.1.0", "0.1.2", "stack_frames.so", "stack_frame_new", <<~'RUBY', "buffer_allocate"),
    require "stack_frames/stack_frames"
    20.times { StackFrames::Buffer.new(50).capture }
  RUBY
  Leak.new("version_sorter", "2.2.1", "2.3.0", "version_sorter.so", "rb_version_sort_1", <<~'RUBY'),
    require "version_sorter"
    20.times { VersionSorter.sort(["1", "2"]) { raise "oops" } rescue $! }
  RUBY
  Leak.new("zstd-ruby", "1.5.6.3", "1.5.6.4", "zstdruby.so", "ZSTD_createDCtx", <<~'RUBY')
    require "zstd-ruby"
    packed = Zstd.compress("text")
    20.times { Zstd.decompress(packed) }
  RUBY
].freeze
