# frozen_string_literal: true
#
# scratch_repository.rb - a repository in miniature for the tests of scripts/: our real scripts,
# beside a toy MRI and a toy upb with pins of their own.
#
# The scripts find everything from where they lie, so a copy of them works on the copy. No test
# reaches the network: the archives come from a directory, and where one must not be found, PATH
# has no downloader.

require "digest"
require "fileutils"
require "open3"
require "rubygems"
require "rubygems/package"
require "tmpdir"

class ScratchRepository
  SCRIPTS = File.expand_path("../../scripts", __dir__)
  TOY = <<~C
    int
    first(int a)
    {
        a += 1;
        a += 2;
        return a;
    }

    int
    second(int b)
    {
        b += 1;
        b += 2;
        return b;
    }
  C

  MRI = {
    "ruby-1.0/toy.c" => TOY,
    "ruby-1.0/other.c" => TOY,
    "ruby-1.0/README.md" => "toy",
    "ruby-1.0/version.h" => "#define RUBY_VERSION_TEENY 0\n",
    "ruby-1.0/include/ruby/version.h" => "#define RUBY_API_VERSION_MAJOR 1\n#define RUBY_API_VERSION_MINOR 0\n",
    "ruby-1.0/include/ruby/toy.h" => "",
    "ruby-1.0/ext/toy/test/toy.c" => "",
    "ruby-1.0/ext/-test-/toy/extconf.rb" => "",
    "ruby-1.0/test/test_toy.rb" => "",
    "ruby-1.0/spec/toy_spec.rb" => "",
    "ruby-1.0/bootstraptest/test_toy.rb" => "",
    "ruby-1.0/ext/part/part.c" => "old\n",
    "ruby-1.0/lib/whole.rb" => "old\n",
    "ruby-1.0/gems/bundled_gems" => "# gem version address\nguest  0.1.0  https://example.org/guest\n",
    "ruby-1.0/.bundle/gems/guest-0.1.0/guest.rb" => "old\n",
    "ruby-1.0/.bundle/specifications/guest-0.1.0.gemspec" => "",
    "ruby-1.0/tool/lib/bundled_gem.rb" => File.read(Dir["#{SCRIPTS}/../build/src/ruby-[0-9]*/tool/lib/bundled_gem.rb"].fetch(0))
  }
  UPB = {
    "upb-1.0/ruby/ext/google/protobuf_c/ruby-upb.c" => "",
    "upb-1.0/ruby/ext/google/protobuf_c/ruby-upb.h" => "",
    "upb-1.0/third_party/utf8_range/naive.c" => ""
  }
  LONG_AGO = Time.at(1) # how old all files of these are
  ROOMS = File.read("#{SCRIPTS}/lib.sh")[/^rooms='(.+)'$/, 1].split
  DIRECTORIES = ROOMS + %w[distfiles cache vm/patches include/ruby test]

  attr_reader :top

  def self.open
    Dir.mktmpdir("heapprof") { |top| yield new(File.realpath(top)) }
  end

  def initialize(top)
    @top = top
    FileUtils.cp_r(SCRIPTS, path("scripts"))
    DIRECTORIES.each { |directory| FileUtils.mkdir_p(path(directory)) }
    write("gc/first.c", "")
    write("vm/second.c", "")
    write("test/test_toy.rb", "")
    pack("mri.tar.gz", MRI)
    pack("upb.tar.gz", UPB)
    write_pins
  end

  def path(name) = File.join(top, name)
  def read(name) = File.read(path(name))

  def write(name, text)
    FileUtils.mkdir_p(File.dirname(path(name)))
    File.write(path(name), text)
  end

  # A script's output, messages and success.
  def run(script, *arguments, env: {})
    command = [path("scripts/#{script}"), *arguments]
    out, err, status = Open3.capture3(environment.merge(env), *command, chdir: top, stdin_data: "")
    [out, err, status.success?]
  end

  def run!(*command, **options)
    out, err, ok = run(*command, **options)
    ok or raise "#{command.join(' ')} failed: #{err}"
    out
  end

  # An archive with these files in distfiles; its checksum.
  def pack(archive, files)
    Dir.mktmpdir do |directory|
      files.each do |name, text|
        FileUtils.mkdir_p(File.dirname(File.join(directory, name)))
        File.write(File.join(directory, name), text)
      end
      system("tar", "--mtime=@1", "-czf", path("distfiles/#{archive}"), "-C", directory, *Dir.children(directory),
             exception: true)
    end
    Digest::SHA256.file(path("distfiles/#{archive}")).hexdigest
  end

  # As ./configure --with-mri does: what scripts/base says is in the Makefile.
  def choose(base)
    write("Makefile", run!("base", *base))
  end

  # A gem in distfiles with these files, and the beginning of its record in pins.
  def gem(name, version, released, files, rest)
    file = "#{name}-#{version}.gem"
    Dir.mktmpdir do |directory|
      files.each do |path, text|
        FileUtils.mkdir_p(File.dirname(File.join(directory, path)))
        File.write(File.join(directory, path), text)
      end
      specification = Gem::Specification.new(name, version) do |spec|
        spec.files, spec.authors, spec.summary, spec.homepage, spec.licenses = files.keys, ["nobody"], "a toy", "https://example.org", ["MIT"]
      end
      Dir.chdir(directory) { silently { Gem::Package.build(specification) } }
      FileUtils.mv(File.join(directory, file), path("distfiles"))
    end
    sha = Digest::SHA256.file(path("distfiles/#{file}")).hexdigest
    write("pins", "#{read("pins")}\ngem #{name}\nversion #{version}\nreleased #{released}\nsha256 #{sha}\n#{rest}")
  end

  # A directory of links to the commands of the system, without these.
  def path_without(*commands)
    directory = path("commands")
    FileUtils.mkdir_p(directory)
    ENV["PATH"].split(":").flat_map { |from| Dir.glob("#{from}/*") }.each do |file|
      link = File.join(directory, File.basename(file))
      File.symlink(file, link) unless commands.include?(File.basename(file)) || File.symlink?(link)
    end
    directory
  end

  # A commit in build/patch-edit, with `text` put behind the first line of `file` that matches.
  def hook(file, after, text, message)
    lines = read("build/patch-edit/#{file}").lines
    lines.insert(lines.index { |line| line.match?(after) } + 1, text)
    write("build/patch-edit/#{file}", lines.join)
    edit_git("commit", "-qam", message)
  end

  # git in build/patch-edit.
  def edit_git(*arguments)
    system(environment, "git", "-C", path("build/patch-edit"), *arguments, exception: true)
  end

  private

  def silently
    interaction, Gem::DefaultUserInteraction.ui = Gem::DefaultUserInteraction.ui, Gem::SilentUI.new
    yield
  ensure
    Gem::DefaultUserInteraction.ui = interaction
  end

  def environment
    { "HEAPPROF_DISTFILES" => path("distfiles"), "XDG_CACHE_HOME" => path("cache"),
      "BASERUBY" => ENV["BASERUBY"] || "ruby", "GIT_CONFIG_GLOBAL" => "/dev/null",
      "RUBYOPT" => nil, "RUBYLIB" => nil }
  end

  def write_pins
    records = %w[mri upb].map do |name|
      file = "#{name}.tar.gz"
      sha = Digest::SHA256.file(path("distfiles/#{file}")).hexdigest
      "archive #{name}\nversion 1.0\nupstream file:///nowhere/#{file} #{file} #{sha}\n" \
        "debian #{name} #{file} #{sha} nosuite\n#{"tested yes\n" if name == "mri"}"
    end
    write("pins", records.join("\n"))
  end
end
