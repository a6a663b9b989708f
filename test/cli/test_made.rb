# frozen_string_literal: true
#
# test_made.rb - what heapprof makes of its commands' tables: the man page and the shells' completions; and that
# they are installed.

require "pty"
require "timeout"
require_relative "lib/heapprof_command"

class TestHeapprofMade < Test::Unit::TestCase
  include HeapprofCommand

  def test_the_man_page_has_every_command_and_option_and_groff_finds_nothing_wrong
    page = heapprof!("help", "--man").out
    out, err, status = Open3.capture3("groff", "-man", "-Tutf8", "-ww", "-P-c", "-rLL=200n", stdin_data: page)
    assert_equal ["", true], [err, status.success?]
    text = out.gsub(/.\x08/, "").gsub("‐", "-").gsub("−", "-")
    commands.each do |command|
      assert_match(/^ +heapprof #{command} /, text)
      heapprof!("help", *command.split).out.scan(/^ .*?(--[a-z]+)/) { |option,| assert_match(/^ +(-\w, )?#{option}\b/, text) }
    end
  end

  def test_what_writes_a_file_or_opens_a_port_says_who_can_read_it
    page = heapprof!("help", "--man").out
    commands.each do |command|
      help = heapprof!("help", *command.split).out
      writes = help.match?(/^ +(-\w, )?--(output|listen)=/)
      assert_equal writes, help.include?("\nWho can read it: "), command
    end
    assert_equal commands.count { |command| heapprof!("help", *command.split).out.include?("Who can read it") }, page.scan(/^Who can read it: /).size
  end

  # As they say, whatever the umask.
  def test_files_are_their_owners
    before = File.umask(0)
    in_directory do
      write("a.pb.gz", shop)
      heapprof("merge", "a.pb.gz", "-o", "merged.pb.gz")
      heapprof("view", "a.pb.gz", "-o", "view.html")
      heapprof("memcheck", "--output=report", EnvUtil.rubybin, "--disable-gems", "-e", "")
      assert_equal({ "merged.pb.gz" => "600", "report" => "600", "view.html" => "600" },
                   %w[merged.pb.gz report view.html].to_h { |name| [name, File.stat(name).mode.to_s(8)[-3..]] })
    end
  ensure
    File.umask(before)
  end

  def test_bash
    script = heapprof!("help", "--completion=bash").out
    { %w[to] => "top", %w[top --by in] => "inuse_space inuse_objects", %w[top --by = alloc_s] => "alloc_space",
      %w[top --gr] => "--group", %w[diff -g la] => "label:", %w[help mer] => "merge", %w[convert --to sp] => "speedscope" }.each do |words, expected|
      command = "#{script}\nCOMP_WORDS=(heapprof \"$@\"); COMP_CWORD=$#; _heapprof; echo \"${COMPREPLY[*]}\""
      out, err, = Open3.capture3("bash", "-c", command, "bash", *words, chdir: "/")
      assert_equal ["#{expected}\n", ""], [out, err]
    end
  end

  def test_bash_completes_files_too
    in_directory do
      write("heap.pb.gz", "")
      command = "#{heapprof!("help", "--completion=bash").out}\nCOMP_WORDS=(heapprof top he); COMP_CWORD=2; _heapprof; echo \"${COMPREPLY[*]}\""
      assert_equal "heap.pb.gz\n", Open3.capture3("bash", "-c", command).first
    end
  end

  def test_fish
    in_directory do
      write("heapprof.fish", heapprof!("help", "--completion=fish").out)
      { "heapprof mer" => /\Amerge\t/, "heapprof top --group=fu" => /\A--group=function\t/,
        "heapprof convert --to s" => /\Aspeedscope\t/, "heapprof top --gr" => /\A--group\t/,
        "heapprof graph sh" => /\Ashow\t/, "heapprof graph top --ret" => /\A--retained\t/ }.each do |line, expected|
        out, err, = Open3.capture3({ "HOME" => Dir.pwd }, "fish", "-c", "source heapprof.fish; complete -C '#{line}'")
        assert_match expected, out
        assert_equal "", err
      end
    end
  end

  def test_zsh
    in_directory do
      write("_heapprof", heapprof!("help", "--completion=zsh").out)
      { "heapprof mer" => "merge", "heapprof top --gr" => "--group", "heapprof top --group=fu" => "--group=function",
        "heapprof convert --to=sp" => "--to=speedscope", "heapprof info --js" => "--json",
        "heapprof graph sh" => "show", "heapprof graph top --ret" => "--retained" }.each do |line, expected|
        assert_includes zsh_completes(line), expected, line
      end
    end
  end

  def test_they_are_installed
    in_directory do |directory|
      env = { "MAKEFLAGS" => nil, "MAKELEVEL" => nil, "MFLAGS" => nil }
      out, status = Open3.capture2e(env, "make", "-C", TOP, "install-heapprof", "DESTDIR=#{directory}", "prefix=/p")
      assert status.success?, out
      assert_equal heapprof!("help").out, Open3.capture2e("p/bin/heapprof", "help").first
      { "man/man1/heapprof.1" => "--man", "bash-completion/completions/heapprof" => "--completion=bash",
        "zsh/site-functions/_heapprof" => "--completion=zsh",
        "fish/vendor_completions.d/heapprof.fish" => "--completion=fish" }.each do |file, option|
        assert_equal heapprof!("help", option).out, File.read("p/share/#{file}", encoding: "UTF-8")
      end
    end
  end

  def test_it_needs_no_library_but_zlib
    needed = Open3.capture2e("readelf", "-d", PROGRAM).first.scan(/NEEDED.*\[(.*)\]/).flatten
    assert_equal [], needed.grep_v(/\A(libz|libm|libc|ld-linux.*)\.so/)
  end

  private

  # What the line has become after a tab.
  def zsh_completes(line)
    env = { "HOME" => Dir.pwd, "ZDOTDIR" => Dir.pwd, "TERM" => "vt100" }
    got = nil
    PTY.spawn(env, "zsh", "-f", "-i") do |reader, writer, pid|
      writer.puts "unsetopt zle_bracketed_paste; fpath=(#{Dir.pwd} $fpath); autoload -Uz compinit; compinit -u -D; print READ''Y"
      Timeout.timeout(30) do
        wait_until(reader, /READY/)
        writer.write "#{line}\t\x01print -r -- GO''T '\x05'\n"
        got = wait_until(reader, /^GOT .*\n/)[/^GOT (.*?)\s*$/, 1]
      end
    ensure
      Process.kill("KILL", pid)
      Process.wait(pid)
      reader.close
      writer.close
    end
    got
  end

  def wait_until(reader, pattern)
    text = +""
    text << reader.readpartial(4096) until text.match?(pattern)
    text
  end
end
