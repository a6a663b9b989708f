# frozen_string_literal: true
#
# test_locals.rb - heapprof stacks --locals: the variables that a binding has, by name, class and value.

require_relative "lib/attached"

class TestHeapprofLocals < Test::Unit::TestCase
  include Attached

  FIXTURE = File.join(__dir__, "lib/locals_fixture.rb")

  def assert_fixture_agrees(*arguments)
    env = { "HEAPPROF_PROGRAM" => PROGRAM }
    out, err, status = EnvUtil.invoke_ruby([env, "--disable-gems", "-W0", *arguments, FIXTURE], "", true, true, timeout: 300)
    assert_equal ["", true], [err, status.success?]
    assert_match(/\A1\d\d frames compared\n\z/, out)
  end

  def test_variables_are_those_of_bindings
    assert_fixture_agrees
  end

  def test_variables_are_those_of_bindings_by_the_other_parser
    assert_fixture_agrees("--parser=parse.y")
  end

  def test_variables_are_those_of_bindings_under_yjit
    omit "no YJIT" unless RbConfig::CONFIG["YJIT_SUPPORT"] != "no"
    assert_fixture_agrees("--yjit", "--yjit-call-threshold=1")
  end

  SECRET = <<~'RUBY'
    def work(password, count)
      list = [1, 2]
      [3].each { |element| $ready.call; sleep }
    end
    Thread.new { waits = "in a thread"; sleep }
    work("secret\e[31m", 3)
  RUBY

  def test_only_classes_are_shown_unless_values_are_asked_for
    beside(SECRET) do |pid|
      text = heapprof!("stacks", "--locals", pid).out
      assert_match(/'Object#work'\n        password: String\n        count: Integer\n        list: Array\n/, text)
      assert_match(/'block in Object#work'\n        element: Integer\n/, text)
      refute_match(/secret|in a thread/, text)
      refute_match(/"value"|"size"|secret/, heapprof!("stacks", "--locals", "--json", pid).out)
      refute_match(/"locals"|password/, heapprof!("stacks", "--json", pid).out)
    end
  end

  def test_values_are_shown_escaped
    beside(SECRET) do |pid|
      text = heapprof!("stacks", "--values", pid).out
      assert_match(/'Object#work'\n        password: "secret\\x1B\[31m"\n        count: 3\n        list: Array of 2\n/, text)
      assert_match(/waits: "in a thread"/, text)
      json = heapprof!("stacks", "--values", "--locals", "--json", pid).json.first["threads"]
      frame = json.flat_map { |thread| thread["frames"] }.find { |found| found["label"] == "Object#work" }
      assert_equal [{ "name" => "password", "class" => "String", "value" => "secret\e[31m", "size" => 11 },
                    { "name" => "count", "class" => "Integer", "value" => 3 }, { "name" => "list", "class" => "Array", "size" => 2 }], frame["locals"]
    end
  end

  def test_variables_stay_with_their_methods_among_c_functions
    beside(SECRET) do |pid|
      threads_until(pid) { |found| labels(found[0]).first == "Kernel#sleep" } # it is on its way there
      all = heapprof!("stacks", "--values", "--native-all", "--json", pid).json.first["threads"].map { |thread| thread["frames"] }
      native, ruby = all.flatten.partition { |frame| frame["native"] }
      refute_empty native
      assert_equal [[]], native.map { |frame| frame["locals"] }.uniq
      alone = heapprof!("stacks", "--values", "--json", pid).json.first["threads"].flat_map { |thread| thread["frames"] }
      assert_equal alone, ruby
    end
  end

  def test_a_long_string_says_that_it_goes_on
    beside("text = 'x' * 1200; $ready.call; sleep") do |pid|
      assert_match(/^        text: "x{60}\.\.\." \(1,200 bytes\)$/, heapprof!("stacks", "--values", pid).out)
    end
  end

  def test_threads_that_run_are_read_too
    beside("def spin(name)\n  number = 5\n  loop { number }\nend\n$ready.call\nspin('n')") do |pid|
      %w[auto always].each do |whom|
        all = threads_until(pid, "--values", "--stop=#{whom}") { |found| labels(found[0]).include?("Object#spin") }
        locals = all[0]["frames"].find { |frame| frame["label"] == "Object#spin" }["locals"]
        assert_equal [["name", "n"], ["number", 5]], locals.map { |local| local.values_at("name", "value") }
      end
    end
  end

  def test_fibers_that_do_not_run_have_variables
    beside("fiber = Fiber.new { |x| kept = :yes; Fiber.yield }; fiber.resume(4); $ready.call; sleep") do |pid|
      assert_match(/^Fiber.*\n.*yield.*\n.*\n        x: 4\n        kept: :yes$/, heapprof!("stacks", "--fibers", "--values", pid).out)
    end
  end

  # YJIT keeps variables of the method that runs in registers, where nothing says which register has which.
  def test_variables_that_may_be_in_registers_are_not_guessed
    omit "no YJIT" unless RbConfig::CONFIG["YJIT_SUPPORT"] != "no"
    script = <<~'RUBY'
      def busy(name)
        i = 0
        limit = 10**15
        i += 1 while i < limit
      end
      def outer(number) = busy("b")
      1.upto(3) { outer(0) if false }
      $ready.call
      outer(17)
    RUBY
    beside(script, "--yjit", "--yjit-call-threshold=1") do |pid|
      all = threads_until(pid, "--values") { |found| labels(found[0]).first == "Object#busy" }
      busy, outer = all[0]["frames"].first(2)
      assert_equal [[], "YJIT may have them in registers"], busy.values_at("locals", "locals_unknown")
      assert_equal [["number", 17]], outer["locals"].map { |local| local.values_at("name", "value") }
      assert_match(/'Object#busy'\n        \(local variables are not known: YJIT may have them in registers\)\n/, heapprof!("stacks", "--locals", pid).out)
    end
  end

  def test_a_core_has_them_too
    omit "gcore is not installed" unless system("which gcore", out: File::NULL)
    in_directory do
      beside(SECRET) do |pid|
        assert system("gcore", "-o", "core", pid.to_s, out: File::NULL, err: File::NULL)
        assert_match(/'Object#work'\n        password: "secret\\x1B\[31m"\n        count: 3\n/, heapprof!("stacks", "--values", "--core", "core.#{pid}").out)
      end
    end
  end

  def test_threads_that_may_go_on_are_refused
    assert_refused 2, /--locals reads threads while they stand still: leave --stop=never out/, "stacks", "--locals", "--stop=never", Process.pid
    assert_refused 2, /--locals reads threads/, "stacks", "--values", "--stop=never", Process.pid
  end
end
