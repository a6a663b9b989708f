# frozen_string_literal: true
#
# test_options.rb - the table of options: a letter and a name have one meaning, old spellings work with a line that
# says what to type, and what is mistyped is told with what was meant.

require_relative "lib/heapprof_command"

class TestHeapprofOptions < Test::Unit::TestCase
  include HeapprofCommand

  # [letter, name, commands], of each row.
  ROWS = Open3.capture2e(PROGRAM, "help", "--options").first
              .scan(/^\| (?:`-(\w)`)? *\| `(--[a-z-]+)(?:=[A-Z]+)?` \| [^|]+ \| ([^|]*) \|$/)
  OLD = Open3.capture2e(PROGRAM, "help", "--options").first.scan(/^\| ([a-z ]+) \| `(-[^`]+)` \| `([^`]+)` \|$/)

  def test_a_letter_and_a_name_stand_once
    letters, names, = ROWS.transpose
    assert_operator names.size, :>, 40
    assert_equal names.uniq, names
    assert_equal letters.compact.uniq, letters.compact
  end

  def test_each_option_belongs_to_a_command
    assert_equal [], ROWS.select { |_, _, commands| commands.empty? }
  end

  # An old spelling would never be looked at, or would mean something else.
  def test_no_old_spelling_is_an_option_of_its_command
    assert_operator OLD.size, :>, 10
    OLD.each do |command, spelling, name|
      help = heapprof!("help", *command.split).out
      refute_match(/^ +(-\w, )?#{spelling}\b(?!-)/, help, "#{command} #{spelling}")
      assert_match(/^ +(-\w, )?#{name}\b(?!-)/, help, "#{command} #{name}")
    end
  end

  def test_the_document_is_the_table
    assert_equal heapprof!("help", "--options").out, File.read(File.join(TOP, "doc/options.md")), "heapprof help --options > doc/options.md"
  end

  def test_what_writes_a_file_has_the_option_output
    commands.each do |command|
      help = heapprof!("help", *command.split).out
      assert_match(/^ +-o, --output=FILE/, help, command) if help.include?("\nWho can read it: ") && command != "serve"
    end
  end

  def test_convert_writes_a_file_or_nothing
    in_directory do
      write("a.pb.gz", shop)
      %w[pprof collapsed speedscope json csv perfetto].each do |format|
        heapprof!("convert", "a.pb.gz", "--to", format, "-o", "out.#{format}")
        assert_equal heapprof!("convert", "a.pb.gz", "--to", format).out.b, File.binread("out.#{format}"), format
        assert_equal "600", File.stat("out.#{format}").mode.to_s(8)[-3..]
      end
      assert_refused 1, /convert: none\/x: No such file/, "convert", "a.pb.gz", "--to=csv", "-o", "none/x"
    end
  end

  # Every command that prints to stdout.
  def test_what_is_printed_is_written_to_a_file
    in_directory do
      write("a.pb.gz", shop)
      [%w[top a.pb.gz], %w[top --json a.pb.gz], %w[diff a.pb.gz a.pb.gz], %w[info a.pb.gz]].each do |command|
        heapprof!(*command, "-o", "out")
        assert_equal heapprof!(*command).out, File.read("out"), command
        assert_equal heapprof!(*command).out, heapprof!(*command, "-o", "-").out
        assert_equal "600", File.stat("out").mode.to_s(8)[-3..]
      end
      assert_refused 1, /top: none\/x: No such file/, "top", "a.pb.gz", "-o", "none/x"
      File.write("out", "before")
      assert_refused 1, /none: No such file/, "top", "none", "-o", "out"
      assert_refused 2, /--sort=/, "graph", "query", "none", "--sort=none", "-o", "out"
      assert_equal "before", File.read("out")
    end
  end

  def test_an_old_spelling_works_with_one_line
    in_directory do
      write("a.pb.gz", shop)
      ran = heapprof("convert", "a.pb.gz", "-t", "collapsed")
      assert_equal [0, "heapprof convert: -t is an old spelling, and will go away: type --to\n"], [ran.status, ran.err]
      assert_equal heapprof!("convert", "a.pb.gz", "--to=collapsed").out, ran.out
      ran = heapprof("run", "--out=x-%p", "-i4096", "sh", "-c", "echo $RUBY_HEAPPROF")
      assert_equal "1,out=x-%p,interval=4096\n", ran.out
      assert_match(/--out is an old spelling.*--output\n.*-i is an old spelling.*--interval\n/, ran.err)
    end
  end

  def test_format_is_a_second_name_of_to
    in_directory do
      write("a.pb.gz", shop)
      [%w[--format csv], %w[--format=csv]].each do |words|
        ran = heapprof("convert", "a.pb.gz", *words)
        assert_equal [0, "", heapprof!("convert", "a.pb.gz", "--to=csv").out], [ran.status, ran.err, ran.out]
      end
      assert_refused 2, /--to=yaml: give one of/, "convert", "a.pb.gz", "--format=yaml"
      assert_refused 2, /--format is not an option of this command, but of: convert, /, "top", "a.pb.gz", "--format=csv"
    end
  end

  def test_a_mistyped_option_is_told_with_the_one_that_was_meant
    assert_refused 2, /--gruop is not an option of this command; did you mean --group\?/, "top", "--gruop=class", "x"
    assert_refused 2, /--sort is not an option of this command, but of: .*graph query/, "info", "--sort=bytes", "x"
    assert_refused 2, /--zzzz is not an option of this command \(usage/, "top", "--zzzz", "x"
    assert_refused 2, /--to=speedscop: did you mean speedscope\?/, "convert", "x", "--to=speedscop"
    assert_refused 2, /-x is not an option of this command \(usage/, "top", "-x"
  end

  def test_arguments_that_are_missing_or_too_many_are_named
    assert_refused 2, /top: FILE is missing/, "top"
    assert_refused 2, /graph why: ADDRESS\|CLASS is missing/, "graph", "why", "x"
    assert_refused 2, /diff: NEW is missing/, "diff", "x"
    assert_refused 2, /run: COMMAND is missing/, "run", "-q"
    assert_refused 2, /x: this command takes no arguments/, "version", "x"
    assert_refused 2, /b: this command takes 1 argument/, "convert", "--to=csv", "a", "b"
    assert_refused 2, /i: this command takes at most 8 arguments/, "graph", "diff", *"a".."i"
  end
end
