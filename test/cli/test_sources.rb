# frozen_string_literal: true
#
# test_sources.rb - which lines of source `heapprof view` and `graph view` copy into their page: whatever a profile says, only what is below the user's
# directories; no link leads out, and what is no regular file is not opened.

require "timeout"
require_relative "lib/graph_bytes"
require_relative "lib/heapprof_command"

class TestHeapprofSources < Test::Unit::TestCase
  include HeapprofCommand

  # A profile with a frame at line 1 of each file.
  def profile(*paths, directory: nil)
    profile = ProfileBytes.new.type("inuse_space", "bytes")
    profile.comment("directory: #{directory}") if directory
    paths.each { |path| profile.sample(["#{path}:1 f"], [100]) }
    profile
  end

  # Yields a directory with app/, where the profile will be, and what lies outside of it.
  def in_application
    in_directory do |directory|
      root = File.realpath(directory)
      FileUtils.mkdir_p(%w[app/lib out home])
      { "app/cart.rb" => "inside cart", "app/lib/a.rb" => "inside lib", "out/secret.rb" => "outside secret", "secret.rb" => "outside above" }
        .each { |path, text| File.write(path, "#{text}\n") }
      yield root
    end
  end

  CLEAN = { "GEM_HOME" => nil, "GEM_PATH" => nil, "BUNDLE_PATH" => nil }.freeze

  # The lines that begin with "inside" or "outside", and what is said.
  def view(file, *arguments, env: {}, stdin: "")
    ran = Timeout.timeout(60) do
      heapprof("view", "-o", "-", file, *arguments, env: CLEAN.merge("HOME" => File.expand_path("home")).merge(env), stdin: stdin)
    end
    assert_equal 0, ran.status, ran.err
    [ran.out.scan(/"((?:in|out)side [^"]*)"/).flatten.sort, ran.err]
  end

  def test_only_what_is_below_the_directory_of_the_profile
    in_application do |root|
      write("app/p.pb.gz", profile("#{root}/app/cart.rb", "#{root}/app/lib/a.rb", "#{root}/out/secret.rb", "#{root}/secret.rb",
                                   "#{root}/app/../secret.rb", "#{root}/app/lib/../../secret.rb", "../secret.rb", "#{root}/app2/x.rb",
                                   directory: root))
      lines, said = view("app/p.pb.gz")
      assert_equal ["inside cart", "inside lib"], lines
      assert_equal "heapprof view: the page has 2 lines of 2 source files in it (--no-sources leaves them out); 6 files are not where " \
                   "sources are read: name the program's directory by --sources=DIR\n", said
      Dir.chdir("app") { assert_equal lines, view("p.pb.gz")[0] }
      assert_equal [[], ""], view("app/p.pb.gz", "--no-sources")
    end
  end

  # Of a dump, what its objects' stacks are at: of one dump, and of the last of several.
  def test_the_same_of_a_dump
    in_application do |root|
      graph = GraphBytes.new
      graph.fact("directory", root)
      stack = graph.stack(":0 push", "#{root}/app/cart.rb:1 add", "#{root}/secret.rb:1 f", "#{root}/app/../secret.rb:1 f", "/dev/tty:1 f")
      graph.root(:GLOBAL, "$order", graph.object("Order", stack: stack))
      bytes = graph.bytes
      2.times { |i| File.binwrite("app/#{i}.graph", bytes) }
      [%w[app/0.graph], %w[app/0.graph app/1.graph]].each do |files|
        ran = heapprof("graph", "view", "-o", "-", *files, env: CLEAN.merge("HOME" => File.expand_path("home")))
        assert_equal 0, ran.status, ran.err
        assert_equal ["inside cart"], ran.out.scan(/"((?:in|out)side [^"]*)"/).flatten
        assert_match(/^heapprof graph view: the page has 1 line of 1 source file in it \(--no-sources leaves them out\); 2 files are not /, ran.err)
        assert_not_include heapprof("graph", "view", "-o", "-", "--no-sources", *files).out, "inside cart"
      end
    end
  end

  # A profile that was sent by somebody is often at home.
  def test_the_home_directory_and_what_leads_there_need_sources
    in_application do |root|
      ["#{root}/app", "#{root}/app/lib"].each do |home|
        write("app/p.pb.gz", profile("#{root}/app/cart.rb"))
        lines, said = view("app/p.pb.gz", env: { "HOME" => home })
        assert_equal [], lines
        assert_match(/the page has no sources in it; 1 file is not where sources are read: .*--sources=DIR/, said)
        assert_equal ["inside cart"], view("app/p.pb.gz", "--sources=app", env: { "HOME" => home })[0]
      end
      assert_equal [], view("-", stdin: profile("#{root}/app/cart.rb").gzip)[0] # which is nowhere
    end
  end

  def test_sources_is_the_one_directory
    in_application do |root|
      write("out/p.pb.gz", profile("#{root}/app/cart.rb", "#{root}/out/secret.rb", "lib/a.rb"))
      assert_equal ["inside cart", "inside lib"], view("out/p.pb.gz", "--sources=app")[0]
      File.symlink("app", "current")
      write("out/p.pb.gz", profile("#{root}/current/cart.rb", "#{root}/app/lib/a.rb"))
      assert_equal ["inside cart", "inside lib"], view("out/p.pb.gz", "--sources", "#{root}/current")[0]
      assert_refused 2, /\Aheapprof view: --sources=none: is not a directory/, "view", "out/p.pb.gz", "--sources=none"
      assert_refused 2, /--sources=app\/cart.rb: is not a directory/, "view", "out/p.pb.gz", "--sources=app/cart.rb"
    end
  end

  # A server's profile, looked at where the same code is checked out.
  def test_the_recorded_directory_is_a_name_for_the_users
    in_application do |root|
      paths = ["/srv/shop/cart.rb", "/srv/shop/lib/a.rb", "/srv/shop/../secret.rb", "/srv/shopping/cart.rb", "/srv/shop"]
      write("out/p.pb.gz", profile(*paths, directory: "/srv/shop"))
      assert_equal ["inside cart", "inside lib"], view("out/p.pb.gz", "--sources=app")[0]
      write("out/p.pb.gz", profile("#{root}/secret.rb", "#{root}/out/secret.rb", directory: "/"))
      assert_equal [], view("out/p.pb.gz", "--sources=app")[0]
    end
  end

  def test_gems_are_where_this_user_has_them
    in_application do |root|
      gem = "gems/json-2.9/lib/json.rb"
      places = { "GEM_HOME" => "a", "GEM_PATH" => "b", "BUNDLE_PATH" => "c/ruby/3.4.0", "HOME" => "h/.local/share/gem/ruby/3.4.0" }
      places.each_value { |place| FileUtils.mkdir_p(File.dirname("#{place}/#{gem}")) and File.write("#{place}/#{gem}", "inside #{place}\n") }
      File.write("a/credentials.rb", "outside gems\n")
      write("app/p.pb.gz", profile(*places.values.map { |place| "#{root}/#{place}/#{gem}" }, "#{root}/a/credentials.rb"))
      assert_equal [], view("app/p.pb.gz")[0]
      env = { "GEM_HOME" => "#{root}/a", "GEM_PATH" => "/none:#{root}/b", "BUNDLE_PATH" => "#{root}/c", "HOME" => "#{root}/h" }
      assert_equal places.values.map { |place| "inside #{place}" }.sort, view("app/p.pb.gz", env: env)[0]
      assert_equal [], view("app/p.pb.gz", env: { "GEM_HOME" => "a", "GEM_PATH" => "b" })[0] # relative to what?
    end
  end

  def test_the_library_of_the_ruby_that_the_program_is_installed_with
    in_application do |root|
      FileUtils.mkdir_p(%w[prefix/bin prefix/lib/ruby/3.4.0])
      FileUtils.cp(PROGRAM, "prefix/bin/heapprof")
      File.write("prefix/lib/ruby/3.4.0/set.rb", "inside library\n")
      File.write("prefix/lib/other.rb", "outside library\n")
      write("app/p.pb.gz", profile("#{root}/prefix/lib/ruby/3.4.0/set.rb", "#{root}/prefix/lib/other.rb"))
      out, = Open3.capture2e(CLEAN.merge("HOME" => "#{root}/home"), "prefix/bin/heapprof", "view", "-o", "-", "app/p.pb.gz")
      assert_equal ["inside library"], out.scan(/"((?:in|out)side [^"]*)"/).flatten
    end
  end

  def test_links_stay_inside
    in_application do |root|
      File.symlink("../out/secret.rb", "app/out.rb")
      File.symlink("#{root}/out", "app/outside")
      File.symlink("lib/a.rb", "app/in.rb")
      File.symlink("#{root}/app/lib", "app/inside")
      File.symlink("loop.rb", "app/loop.rb")
      File.symlink("/proc/self/cwd/out", "app/magic")
      write("app/p.pb.gz", profile(*%w[out.rb outside/secret.rb in.rb inside/a.rb loop.rb magic/secret.rb].map { |path| "#{root}/app/#{path}" }))
      assert_equal ["inside lib", "inside lib"], view("app/p.pb.gz")[0]
    end
  end

  def test_what_is_no_source_is_not_read_and_what_is_no_file_is_not_opened
    in_application do |root|
      File.mkfifo("app/fifo.rb")
      Dir.mkdir("app/directory.rb")
      File.symlink("/dev/zero", "app/zero.rb")
      File.write("app/id_rsa", "outside key\n")
      File.write("app/empty.rb", "")
      File.write("app/tool", "#!/usr/bin/ruby\n")
      File.write("app/closed.rb", "outside closed\n", perm: 0)
      UNIXServer.new("app/socket.rb").close if defined?(UNIXServer)
      names = %w[fifo.rb directory.rb zero.rb id_rsa empty.rb tool cart.rb/x.rb none.rb socket.rb]
      write("app/p.pb.gz", profile(*names.map { |path| "#{root}/app/#{path}" }, "", "/", "/dev/zero", "/dev/stdin", "//", "a\0b.rb"))
      lines, said = view("app/p.pb.gz")
      assert_equal [], lines
      assert_match(/the page has 1 line of 1 source file in it/, said)
    end
  end

  # A page of a large file, and of many, is bounded.
  def test_what_is_read_is_bounded
    in_application do |root|
      File.write("app/long.rb", "inside #{"x" * 10_000}\n" * 1000)
      write("app/p.pb.gz", profile("#{root}/app/long.rb"))
      lines, = view("app/p.pb.gz")
      assert_equal [400] * 6, lines.map(&:size)
      File.write("app/huge.rb", "\n" * 5_000_000 + "outside the first megabytes\n")
      write("app/p.pb.gz", profile("#{root}/app/huge.rb").sample(["#{root}/app/huge.rb:5000001 f"], [1]))
      assert_equal [], view("app/p.pb.gz")[0]
    end
  end
end
