# frozen_string_literal: true
#
# test_forms.rb - what top and diff write for CI: a status, warnings at lines, SARIF, Markdown, and JSON with all that the text
# has.

require_relative "lib/heapprof_command"

class TestHeapprofForms < Test::Unit::TestCase
  include HeapprofCommand

  # Lines of the application and one of a gem; more of everything with the number.
  def grown(times, caller: "st_init (ruby)")
    ProfileBytes.new.type("inuse_objects", "count").type("inuse_space", "bytes").comment("directory: /srv/shop")
                .sample(["/srv/shop/app/a,b:c.rb:7 Cart#load"], [1000 * times, 4_000_000 * times], class: "Cart")
                .sample(["/g/gems/rack-3.1.2/lib/rack.rb:7 Rack#call", "/srv/shop/app.rb:3 <main>"], [0, 500_000], class: "Hash", caller: caller)
                .sample(["/g/gems/rack-3.1.2/lib/rack.rb:9 Rack`#x|y"], [0, 70_000 * times], class: "A|B`C")
  end

  def in_grown
    in_directory do
      write("old", grown(1))
      write("new", grown(3))
      yield
    end
  end

  def test_diff_fails_over_a_growth_that_is_more_than_its_error
    in_grown do
      grew = 2 * 4_000_000 + 2 * 70_000
      { "7MB" => 3, "8MB" => 0, "1" => 3, "7900k" => 3, "7900kB" => 3, (grew - 1).to_s => 3, grew.to_s => 0, "1G" => 0 }.each do |most, status|
        ran = heapprof("diff", "old", "new", "--fail-over=#{most}")
        assert_equal status, ran.status, most
        assert_equal heapprof!("diff", "old", "new").out, ran.out
        assert_match(status.zero? ? /\A\z/ : /\Aheapprof diff: inuse_space grew by 7.76 MB ± 0 B: more than .* \(--fail-over=#{most}\)\n\z/, ran.err)
      end
      assert_equal 0, heapprof!("diff", "new", "old", "--fail-over=0").status
      assert_equal 0, heapprof!("diff", "old", "new", "--focus=app.rb", "--fail-over=0").status
      assert_equal 3, heapprof("diff", "old", "new", "--by=inuse_objects", "--fail-over=1999", "--json").status
      assert_equal 0, heapprof("diff", "old", "new", "--by=inuse_objects", "--fail-over=2000", "--json").status
      ["", "x", "-1", "5XB", "5MBs", "99999999999G"].each do |most|
        assert_refused 2, /--fail-over=#{most}: give a size, such as 512k, 5MB or 4G/, "diff", "old", "new", "--fail-over=#{most}"
      end
      assert_equal 3, heapprof("diff", "old", "new", "--fail-over=1", "-o", "text").status
      assert_equal heapprof!("diff", "old", "new").out, File.read("text")
    end
  end

  def test_a_growth_within_its_error_does_not_fail
    in_directory do
      write("old", shop(strings: 1000))
      write("new", shop(strings: 1010))
      total = heapprof!("diff", "old", "new", "--json").json["total"]
      assert_operator total["error"], :>, total["growth"]
      assert_equal 0, heapprof!("diff", "old", "new", "--fail-over=0").status
    end
  end

  def test_github_s_warnings_are_at_lines_of_the_application
    in_grown do
      assert_equal <<~'TEXT', heapprof!("diff", "old", "new", "--github").out
        ::warning file=app/a%2Cb%3Ac.rb,line=7,title=heapprof diff::inuse_space grew by 7.63 MB, from 3.81 MB to 11.4 MB: app/a,b:c.rb:7:in 'Cart#load'
      TEXT
      top = heapprof!("top", "new", "--github").out
      assert_match(/\A::warning file=app\/a.*,line=7,title=heapprof top::inuse_space 11.4 MB, 94.4%25 of all: .*\n::warning file=app.rb,line=3,/, top)
      assert_equal 2, top.lines.size
      class_rows = heapprof!("diff", "old", "new", "--github", "-g", "class").out
      assert_equal ["::warning title=heapprof diff::inuse_space grew by 7.63 MB, from 3.81 MB to 11.4 MB: Cart\n"], class_rows.lines.grep(/Cart/)
      assert_equal 1, heapprof!("top", "new", "--github", "-n1").out.lines.size
      assert_equal "", heapprof!("diff", "new", "old", "--github").out
      elsewhere = heapprof!("diff", "old", "new", "--github", "--app=/elsewhere").out
      assert_match(%r{\A::warning file=/srv/shop/app/a%2Cb%3Ac.rb,line=7,}, elsewhere)
    end
  end

  def test_what_steers_a_terminal_or_a_workflow_is_escaped
    in_directory do
      write("heap", ProfileBytes.new.type("inuse_space", "bytes").comment("directory: /srv")
                                .sample(["/srv/a.rb:1 x\n::error::y\e[31m"], [5_000_000], class: "C"))
      out = heapprof!("top", "heap", "--github").out
      assert_equal 1, out.lines.size
      assert_include out, "x\\x0A::error::y\\x1B[31m"
      refute_match "\e", heapprof!("top", "heap", "--markdown").out
    end
  end

  def test_sarif_has_the_rows_that_grew
    in_grown do
      run = heapprof!("diff", "old", "new", "--sarif").json["runs"][0]
      assert_equal %w[memory-growth memory-in-use], run["tool"]["driver"]["rules"].map { |rule| rule["id"] }
      result, = run["results"]
      assert_equal [1, "memory-growth", "warning"], [run["results"].size, result["ruleId"], result["level"]]
      assert_match(/\Ainuse_space grew by 7.63 MB/, result["message"]["text"])
      place = result["locations"][0]["physicalLocation"]
      assert_equal ["app/a%2Cb%3Ac.rb", 7], [place["artifactLocation"]["uri"], place["region"]["startLine"]]
      sites = heapprof!("top", "new", "--sarif", "-g", "site").json["runs"][0]["results"]
      assert_equal %w[note], sites.map { |found| found["level"] }.uniq
      assert_equal ["app/a%2Cb%3Ac.rb", "app.rb", "file:///g/gems/rack-3.1.2/lib/rack.rb"],
                   sites.map { |found| found["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] }
      assert_equal [], heapprof!("top", "new", "--sarif", "-g", "class").json["runs"][0]["results"][0]["locations"]
    end
  end

  def test_markdown_is_the_text_as_tables
    in_grown do
      assert_equal <<~'TEXT', heapprof!("diff", "old", "new", "--markdown", "-g", "class").out
        **`old` to `new`: inuse_space grew by 7.76 MB**

        | growth | old | new | objects | what grew |
        |---:|---:|---:|---:|---|
        | 7.63 MB | 3.81 MB | 11.4 MB | 2,000 | `Cart` |
        | 137 kB | 68.4 kB | 205 kB | | `` A\|B`C `` |

        it is not known who holds malloc'ed memory: Ruby's own tables count for the lines that made them grow
      TEXT
      text = heapprof!("top", "new", "--markdown").out
      assert_match(/\A\*\*`new`: inuse_space 12.1 MB in 3,000 objects\*\*\n\nby line of the application.*\n\n\| value \| share \|/, text)
      assert_match(/^by call site:\n\n\| value/, text)
      assert_match(/`st_init \(ruby\) for .*|`st_init \(ruby\)`<br>`rack-3.1.2\/lib\/rack.rb:7:in 'Rack#call'`<br>`app.rb:3:in '<main>'` \|$/, text)
      text.lines.grep(/\A\|/).chunk_while { |one, _| one }.each do |rows|
        assert_equal 1, rows.drop(0).group_by { |row| row.gsub("\\|", "").count("|") }.size, text
      end
    end
  end

  def test_json_has_what_the_text_has
    in_grown do
      json = heapprof!("diff", "old", "new", "--json").json
      assert_equal [["app/a,b:c.rb:7:in 'Cart#load'", 8_000_000, "app/a,b:c.rb", 7], ["(no line of the application)", 140_000, nil, nil]],
                   json["application"]["rows"].map { |row| row.values_at("what", "growth", "file", "line") }
      assert_equal [["Cart", "app/a,b:c.rb", 7], ["A|B`C", "/g/gems/rack-3.1.2/lib/rack.rb", 9]], json["rows"].map { |row| row.values_at("what", "file", "line") }
      json = heapprof!("diff", "old", "new", "--json", "-n1", "-g", "class").json
      assert_equal({ "rows" => 1, "too_small" => 0, "growth" => 140_000 }, json["rest"])
      assert_equal ["it is not known who holds malloc'ed memory: Ruby's own tables count for the lines that made them grow"], json["remarks"]
      assert_not_include json, "application"
    end
  end

  def test_json_tells_of_growth_that_no_sample_is_of
    in_directory do
      [0, 2].each do |i|
        profile = ProfileBytes.new.type("inuse_malloc_space", "bytes").type("rss_space", "bytes").type("inuse_space", "bytes")
        sampled, mb = 4 + i, 1 << 20
        profile.sample(["/srv/shop/a.rb:1 x"], [sampled * mb, 0, sampled * mb], class: "String")
        profile.sample([":0 [VM] malloc"], [0, (sampled + 4 * i) * mb, 0])
        write(i.to_s, profile)
      end
      assert_equal({ "growth" => 8 << 20, "error" => 0 }, heapprof!("diff", "0", "2", "--json").json["unsampled"])
      assert_match(/^Besides, C code holds 8 MB/, heapprof!("diff", "0", "2", "--markdown").out)
    end
  end

  def test_an_answer_has_one_form
    in_grown { assert_refused 2, /--json and --github: give one of them/, "top", "new", "--github", "--json" }
  end
end
