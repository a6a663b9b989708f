# frozen_string_literal: true
#
# test_labels.rb - labels of a running process (doc/labels.md), seen from outside.

require_relative "lib/attached"

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
                     "" => { "job" => "a\e[31m", "task" => "" } }, labels_by_name(pid))
      text = heapprof!("stacks", pid).out
      assert_match(/^Thread \d+ "cart": sleeping.*\n  labels: endpoint=POST \/cart, tenant=b2b\n    \S/, text)
      assert_match(/^Thread \d+ "none": sleeping.*\n    \S/, text)
      assert_match(/^  labels: job=a\\x1B\[31m, task=\n/, text)
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

  # A thousand sets, so that the tables of the target move, and its texts are read while it makes more.
  def test_sets_are_read_while_more_are_made
    labelled(<<~'RUBY') do |pid|
      asleep(Thread.new { HP.label(endpoint: "/first") { Thread.current.name = "first"; sleep } })
      $ready.call
      (0..).each { |i| HP.label(tenant: "t#{i % 997}", shard: "s#{i % 61}", endpoint: "/e") { i } }
    RUBY
      20.times do
        all = labels_by_name(pid)
        assert_equal({ "endpoint" => "/first" }, all["first"])
        assert_match(/\A(|endpoint=\/e shard=s\d+ tenant=t\d+)\z/, all[""].map { |pair| pair.join("=") }.join(" "))
      end
    end
  end
end
