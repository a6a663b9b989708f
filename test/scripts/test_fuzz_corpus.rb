# frozen_string_literal: true
#
# test_fuzz_corpus.rb - scripts/fuzz-corpus with a toy target: a shell script that says of an input what libFuzzer would. Each line
# of an input is a line of toy.c, below, that it runs; the functions begin in lines 1 and 5.

require "open3"
require "test/unit"
require "digest"
require_relative "scratch_repository"

class TestScriptsFuzzCorpus < Test::Unit::TestCase
  BASERUBY = ENV.fetch("BASERUBY", "ruby").split.first # the one that runs it when it is used

  TOY = "int parse(const char *text)\n    if (!text) return BAD_END;\n    return 0;\n\nint rb_heapprof_toy_read(void)\n    {\n"
  TARGET = <<~'SH'
    #!/bin/sh
    case $1 in
    -set_cover_merge=1)
        for last; do :; done
        cp "$last"/* "$4" 2>/dev/null || :
        exit
        ;;
    esac
    for folder; do :; done
    says() { # FUNCTION BEGIN PLACE...
        grep -qx "$2" "$folder"/* || { echo "UNCOVERED_FUNC: hits: 0 edges: 0/3 $1 TOP/base/toy.c:$2"; return; }
        echo "COVERED_FUNC: hits: 1 edges: 1/3 $1 TOP/base/toy.c:$2"
        shift 2
        for place; do grep -qx "$place" "$folder"/* || echo "  UNCOVERED_PC: TOP/base/toy.c:$place"; done
    }
    says 'parse(char const*)' 1 2 3
    says rb_heapprof_toy_read 5 6
  SH

  def test_an_input_is_named_by_the_function_or_by_the_line_that_it_is_the_first_to_run
    assert_equal %w[toy-parse toy-parse-text-bad_end toy_read toy_read-line-6],
                 corpus([], %W[1\n 1\n2\n 1\n2\n5\n 1\n2\n5\n6\n])
  end

  def test_what_runs_nothing_new_goes_and_what_has_a_name_keeps_it
    assert_equal %w[mine toy_read], corpus([["mine", "1\n2\n3\n"]], %W[1\n 1\n2\n 1\n5\n])
  end

  def test_a_name_that_is_there_gets_a_number
    assert_equal %w[toy-parse toy-parse-2], corpus([["toy-parse", "5\n"]], %W[1\n])
  end

  def test_without_names_of_functions_the_package_is_named
    out, ok = run_on("#!/bin/sh\n[ $1 = -set_cover_merge=1 ] || echo 'COVERED_FUNC: hits: 1 edges: 1/3 (0x1234)'\n", [], %W[1\n]) { |_, err, ok| [err, ok] }
    refute ok
    assert_match(/\Afuzz-corpus: functions have no names: .* llvm\n\z/, out)
  end

  private

  # What the corpus has afterwards.
  def corpus(named, found)
    run_on(TARGET, named, found) do |repository, err, ok|
      assert ok, err
      Dir.children(repository.path("test/fuzz/corpus/toy")).sort
    end
  end

  def run_on(target, named, found)
    ScratchRepository.open do |repository|
      repository.write("base/toy.c", TOY)
      repository.write("build/fuzz/toy_fuzz", target.gsub("TOP", repository.path(".").delete_suffix("/.")))
      File.chmod(0o755, repository.path("build/fuzz/toy_fuzz"))
      named.each { |name, text| repository.write("test/fuzz/corpus/toy/#{name}", text) }
      found.each { |text| repository.write("test/fuzz/corpus/toy/#{Digest::SHA1.hexdigest(text)}", text) }
      _, err, status = Open3.capture3({ "RUBYOPT" => nil, "RUBYLIB" => nil }, BASERUBY, repository.path("scripts/fuzz-corpus"),
                                      "build/fuzz/toy_fuzz", chdir: repository.path("."))
      yield repository, err, status.success?
    end
  end
end
