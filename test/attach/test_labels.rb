# frozen_string_literal: true
#
# test_labels.rb - labels of a running process (doc/labels.md), seen from outside.

require_relative "lib/attached"
require_relative "../cli/lib/firefox_profile"

class TestHeapprofLabels < Test::Unit::TestCase
  include Attached

  LABEL = "HP = ObjectSpace::HeapProfile\ndef asleep(thread) = (Thread.pass until thread.stop?)\n"

  def labelled(script, ...) = beside(LABEL + script, ...)

  # Labels of threads by their names; "" is the one without a name.
  def labels_by_name(pid, *arguments) = threads(pid, *arguments).to_h { |thread| [thread["name"].to_s, thread["labels"]] }

  def test_each_thread_shows_its_labels
    labelled(<<~'RUBY') do |pid|
      def rest(name, **labels) = Thread.new { HP.label(**labels) { sleep } }.tap { |thread| thread.name = name }
      [rest("cart", tenant: "b2b", endpoint: "POST /cart"), rest("home", endpoint: "GET /"), Thread.new { sleep }.tap { |thread| thread.name = "none" }]
        .each { |thread| asleep(thread) }
      HP.label!(job: "a\e[31m", task: "")
      $ready.call
      sleep
    RUBY
      assert_equal({ "cart" => { "endpoint" => "POST /cart", "tenant" => "b2b" }, "home" => { "endpoint" => "GET /" }, "none" => {},
                     "" => { "job" => "a\e[31m", "task" => "(empty)" } }, labels_by_name(pid))
      text = heapprof!("stacks", pid).out
      assert_match(/^Thread \d+ "cart": sleeping.*\n  labels: endpoint=POST \/cart, tenant=b2b\n    \S/, text)
      assert_match(/^Thread \d+ "none": sleeping.*\n    \S/, text)
      assert_match(/^  labels: job=a\\x1B\[31m, task=\(empty\)\n/, text)
    end
  end

  # The order of steps is told by the target: each line that it is given goes on to the next.
  def test_a_thread_has_the_labels_of_its_block_until_the_block_ends
    labelled(<<~'RUBY') do |pid, input, output|
      made = []
      start = ->(name) { made << Thread.new { Thread.current.name = name; sleep }.tap { |thread| asleep(thread) } }
      HP.label(endpoint: "/cart") do
        start.call("leased")
        HP.label(tenant: "b2b") { start.call("inner") }
        HP.label(tenant: "b2c", inherit: :keep) { start.call("kept") }
        $ready.call
        gets
      end
      $ready.call
      sleep
    RUBY
      open = { "leased" => { "endpoint" => "/cart" }, "inner" => { "endpoint" => "/cart" },
               "kept" => { "endpoint" => "/cart", "tenant" => "b2c" }, "" => { "endpoint" => "/cart" } }
      assert_equal open, labels_by_name(pid)
      input.puts
      output.gets
      assert_equal open.merge("leased" => {}, "inner" => {}, "" => {}), labels_by_name(pid)
    end
  end

  def test_a_name_that_comes_late_is_that_of_the_block
    labelled(<<~'RUBY') do |pid, input, output|
      HP.label(late: :endpoint, tenant: "b2b") do
        asleep(Thread.new { Thread.current.name = "helper"; sleep })
        $ready.call
        gets
        HP.label(endpoint: "/cart") { $ready.call; gets }
        $ready.call
        gets
      end
      $ready.call
      sleep
    RUBY
      unnamed, named = ["(before routing)", "/cart"].map { |name| { "endpoint" => name, "tenant" => "b2b" } }
      assert_equal({ "" => unnamed, "helper" => unnamed }, labels_by_name(pid))
      2.times do
        input.puts
        output.gets
        assert_equal({ "" => named, "helper" => named }, labels_by_name(pid))
      end
      input.puts
      output.gets
      assert_equal({}, labels_by_name(pid)[""])
    end
  end

  def test_fibers_have_their_own
    labelled(<<~'RUBY') do |pid|
      fiber = HP.label(job: "fiber") { Fiber.new { Fiber.yield } }
      fiber.resume
      $ready.call
      HP.label(job: "thread") { sleep }
    RUBY
      assert_equal({ "sleeping" => { "job" => "thread" }, "suspended" => { "job" => "fiber" } },
                   threads_until(pid, "--fibers") { |all| all.size == 2 && all[0]["state"] == "sleeping" }
                     .to_h { |thread| [thread["state"], thread["labels"]] })
    end
  end

  def test_a_core_has_them_too
    omit "gcore is not installed" unless system("which gcore", out: File::NULL)
    labelled("$ready.call\nHP.label(endpoint: '/cart') { Thread.new { sleep }; sleep }") do |pid|
      threads_until(pid) { |all| all.size == 2 && all.all? { |thread| thread["state"] == "sleeping" } }
      in_directory do
        assert system("gcore", "-o", "core", pid.to_s, out: File::NULL, err: File::NULL)
        all = heapprof!("stacks", "--json", "--core", "core.#{pid}").json.first["threads"]
        assert_equal [{ "endpoint" => "/cart" }] * 2, all.map { |thread| thread["labels"] }
      end
    end
  end

  # Some thousand sets, so that the tables of the target move, and its texts are read while it makes more.
  def test_sets_are_read_while_more_are_made
    labelled(<<~'RUBY') do |pid|
      asleep(Thread.new { HP.label(endpoint: "/first") { Thread.current.name = "first"; sleep } })
      $ready.call
      (0..).each { |i| HP.label(tenant: "t#{i % 97}", shard: "s#{i % 61}", endpoint: "/e") { i } }
    RUBY
      20.times do
        all = labels_by_name(pid)
        assert_equal({ "endpoint" => "/first" }, all["first"])
        assert_match(/\A(|endpoint=\/e shard=s\d+ tenant=t\d+)\z/, all[""].map { |pair| pair.join("=") }.join(" "))
      end
    end
  end

  # The kernel has moved a table, and the target has not noted yet where it is: strace makes that moment long.
  def test_sets_are_read_while_a_table_moves
    omit "strace is not there" unless system("strace", "-o", File::NULL, "true", out: File::NULL, err: File::NULL)
    slow = ["sh", "-c", 'exec strace -D -f -q -o /dev/null -e trace=mremap -e inject=mremap:delay_exit=20000 "$@" 2>/dev/null', "sh"]
    labelled(<<~'RUBY', ruby: slow + RUBY) do |pid|
      asleep(Thread.new { HP.label(endpoint: "/first") { Thread.current.name = "first"; sleep } })
      $ready.call
      (0..).each { |i| HP.label(tenant: "t#{i % 97}", shard: "s#{i % 61}", endpoint: "/e") { i } }
    RUBY
      20.times { assert_equal({ "endpoint" => "/first" }, labels_by_name(pid)["first"]) }
    end
  end

  # ---- record ----

  BUSY = <<~'RUBY'
    def spin = loop { 1 + 1 }
    def busy(name, **labels) = Thread.new { HP.label(**labels) { spin } }.tap { |thread| thread.name = name }
    busy("cart", endpoint: "POST /cart", tenant: "b2b")
    busy("other cart", endpoint: "POST /cart", tenant: "b2c")
    busy("home", endpoint: "GET /")
    HP.label(endpoint: "rest") { asleep(Thread.new { sleep }) }
    HP.label!(endpoint: "main")
    $ready.call
    spin
  RUBY

  # All of them at work, except one that is asleep, and has lost its lease.
  def beside_busy
    labelled(BUSY) do |pid|
      threads_until(pid) { |all| all.count { |thread| labels(thread).include?("Object#spin") && !thread["labels"].empty? } == 4 }
      yield pid
    end
  end

  # Values by label of a file, as `top` has them.
  def by(key, file = "time.pb.gz", *arguments)
    heapprof!("top", file, "--group=label:#{key}", "--json", *arguments).json["rows"].to_h { |row| [row["what"], row["value"]] }
  end

  def samples(file = "time.pb.gz") = heapprof!("convert", file, "--to=json").json["samples"].each { |sample| sample["labels"] = sample["labels"].to_h }

  def test_samples_have_the_labels_of_their_threads
    beside_busy do |pid|
      in_directory do
        record_looks(20, pid, "--output=time.pb.gz")
        assert_equal ["GET /", "POST /cart", "main"], by("endpoint").keys.sort
        assert_equal ["(none)", "b2b", "b2c"], by("tenant").keys.sort
        assert_equal by("endpoint")["GET /"] * 2, by("endpoint")["POST /cart"]
        assert_equal ["b2b"], by("tenant", "time.pb.gz", "--focus-label", "tenant=b2b").keys
        record_looks(20, pid, "--idle", "--threads", "--output=time.pb.gz")
        assert_equal ["(none)", "GET /", "POST /cart", "main"], by("endpoint").keys.sort
        assert_equal ["cart", "home", "main", "other cart", "thread"], by("thread").keys.map { |name| name[/(.+) \[\d+\]\z/, 1] }.sort
      end
    end
  end

  # Time on a processor goes to the endpoint that has it. In two seconds each thread has the GVL several times.
  def test_the_time_of_each_endpoint_is_a_table
    beside_busy do |pid|
      in_directory do
        %w[wall cpu].each do |mode|
          ran = heapprof("record", pid, "--mode", mode, "--group=label:endpoint", "--duration=2")
          assert_equal 0, ran.status, ran.err
          assert_match(/\Aprocess #{pid}: #{mode} .*share +sum +what\n/m, ran.out)
          assert_match(/ POST \/cart$/, ran.out)
          assert_match(/ GET \/$/, ran.out)
          refute_match(/wrote/, ran.err)
          assert_empty Dir.children(".")
        end
        assert_match(/ other cart \[\d+\]$/, record_looks(10, pid, "--group=label:thread").out)
        assert_match(/ Object#spin /, record_looks(10, pid, "--group=function").out + " ")
        ran = record_looks(10, pid, "--group=label:tenant", "--count=1", "--output=time.pb.gz")
        assert_match(/wrote time.pb.gz/, ran.err)
        assert_match(/rows? more|more rows?|2 more/, ran.out)
        assert_equal ["(none)", "b2b", "b2c"], by("tenant").keys.sort
      end
    end
  end

  def test_a_table_is_no_other_format
    assert_refused 2, /--group prints a table: leave --to out/, "record", Process.pid, "--group=label:a", "--to=svg"
    assert_refused 2, /--output=a.svg: a profile is written there; give it a name that ends in .pb.gz/, "record", Process.pid, "--group=label:a", "-o", "a.svg"
    assert_refused 2, /--group prints a table: leave --output=- out/, "record", Process.pid, "--group=label:a", "--output=-"
    assert_refused 2, /--group=label:: give one of/, "record", Process.pid, "--group=label:"
  end

  # The thread waits at the same place at each look; only its label is another one.
  def test_labels_that_change_between_looks
    labelled("$ready.call\n%w[a b].cycle { |name| HP.label!(turn: name); gets; $ready.call }\n") do |pid, input, output|
      in_directory do
        waits = ->(name) { threads_until(pid) { |all| all[0]["labels"] == { "turn" => name } && all[0]["state"] == "blocked" } }
        waits.("a")
        record_by_bell(pid, "--idle", "--output=time.pb.gz") do |bell,|
          4.times do |i|
            bell.ring
            input.puts
            output.gets
            waits.("ba"[i % 2])
          end
          input.puts
          output.gets
          waits.("b")
        end
        looks = samples.group_by { |sample| sample["labels"]["turn"] }.transform_values { |all| all.sum { |sample| sample["values"][0] } }
        assert_equal %w[a b], looks.keys.sort
        looks.each_value { |count| assert_operator count, :>=, 2 }
      end
    end
  end

  # Labels of its own do not come from the target.
  def test_the_processes_of_a_record_keep_their_own
    beside_busy do |one|
      labelled("HP.label(endpoint: 'GET /', shard: '1') { $ready.call; loop { 1 + 1 } }") do |other|
        in_directory do
          record_looks(10, one, other, "--output=time.pb.gz")
          assert_equal ["(none)", "1"], by("shard").keys.sort
          assert_equal({ one => ["GET /", "POST /cart", "main"], other => ["GET /"] },
                       samples.group_by { |sample| sample["labels"]["pid"] }.transform_values { |all| all.map { |sample| sample["labels"]["endpoint"] }.uniq.sort })
        end
      end
    end
  end

  def test_other_formats_have_what_they_can_have
    beside_busy do |pid|
      in_directory do
        record_looks(20, pid, "--threads", "--output=time.pb.gz")
        %w[collapsed speedscope firefox svg callgrind].each { |format| heapprof!("convert", "time.pb.gz", "--to", format, "--output=out.#{format}") }
        firefox = FirefoxProfile.new(JSON.parse(File.read("out.firefox")))
        assert_equal ["cart", "home", "main", "other cart"], firefox.threads.keys.map { |_, name| name[/(.+) \[\d+\]\z/, 1] }.sort
        assert_match "Object#spin", File.read("out.collapsed")
      end
      assert_match "Object#spin", record_looks(20, pid, "--to=chart").out
    end
  end
end
