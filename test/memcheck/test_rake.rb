# frozen_string_literal: true
#
# test_rake.rb - the Rake tasks of lib/heapprof/memcheck.rb and lib/heapprof/memcheck/rspec.rb, by the rake that comes with MRI, and Debian's
# RSpec.

require_relative "../cli/lib/heapprof_command"

class TestHeapprofMemcheckRake < Test::Unit::TestCase
  include HeapprofCommand

  RAKE = Dir[File.join(TOP, "build/src/*/.bundle/gems/rake-*")].first

  def test_tests_that_lose_nothing_pass
    in_directory do
      ran = rake("p [:loaded, $LOAD_PATH.include?(File.expand_path('own'))]", "task.libs << 'own'")
      assert_equal [0, "[:loaded, true]\n"], [ran.status, ran.out], ran.err
      assert_match(/: no leaks; not shown/, ran.err)
    end
  end

  LEAK = "require '-test-/heapprof_memcheck'\nHeapProfMemcheck.lose(1000)\n"

  def test_a_leak_fails_the_task
    in_directory do
      ran = rake(LEAK)
      assert_equal 1, ran.status
      assert_match(/definitely lost: .*\n    memcheck_lose \(heapprof_memcheck\.so\)\n.*leaky_test\.rb:2:in /, ran.err)
      assert_match(/Command failed with status \(42\)/, ran.err)
    end
  end

  def test_a_test_that_fails_has_its_own_status
    in_directory { assert_match(/Command failed with status \(3\)/, rake("exit 3").err) }
  end

  def test_settings
    in_directory do
      assert_equal 0, rake(LEAK, "task.binary_name = 'libc'").status
      assert_match(/--only=other: no process has loaded a library of that name/, rake(LEAK, "task.binary_name = 'other'").err)
      ran = rake(LEAK, "task.binary_name = 'heapprof_memcheck'; task.report = 'a report.json'")
      records = JSON.parse(File.read("a report.json"))["processes"].flat_map { |process| process["records"] }
      assert_equal [1, ["memcheck_lose"]], [ran.status, records.map { |record| record["function"] }]
      assert_match(/was ended after 1 second, as/, rake("sleep", "task.timeout = 1").err)
      assert_match(/--engine=none: give one of: vm valgrind/, rake("", "task.engine = 'none'").err)
      rake(LEAK, "task.core = true; task.report = 'core.json'")
      assert_equal 0, JSON.parse(File.read("core.json"))["processes"][0]["not_shown"]["core"]
    end
  end

  def test_what_is_set_once_by_the_names_of_ruby_memcheck_holds_for_all_tasks
    in_directory do
      theirs = ->(names) { "Heapprof::Memcheck.config(#{names})" }
      assert_equal 0, rake(LEAK, before: theirs["binary_name: 'libc', skipped_ruby_functions: [], filter_all_errors: true"]).status
      assert_equal 1, rake(LEAK, "task.binary_name = nil", before: theirs["binary_name: 'libc'"]).status
      assert_match(/unknown setting: valgrind_options/, rake(LEAK, before: theirs["valgrind_options: []"]).err)
    end
  end

  def test_suppressions_are_generated_and_read_by_version_of_ruby
    in_directory do
      ran = rake(LEAK, before: "Heapprof::Memcheck.config(valgrind_generate_suppressions: true)")
      line = ran.err[/^    suppressed by: (heapprof_memcheck\.so .*)$/, 1]
      Dir.mkdir("suppressions")
      config = "Heapprof::Memcheck.config(valgrind_suppressions_dir: 'suppressions')"
      { "heapprof_memcheck_ruby-#{RUBY_VERSION[/\A\d+\.\d+/]}.supp" => 0, "ruby-2.7.supp" => 1 }.each do |name, status|
        File.write("suppressions/#{name}", "# known\n#{line}\n")
        ran = rake(LEAK, before: config)
        assert_equal status, ran.status, ran.err
        assert_match(/no leaks; .*1 record suppressed\n  1 record suppressed by #{name}:2$/, ran.err) if status == 0
        File.unlink("suppressions/#{name}")
      end
    end
  end

  def test_with_valgrind_leaks_and_errors_are_reported_together
    omit "no valgrind" unless system("valgrind", "--version", out: File::NULL, err: File::NULL)
    in_directory do
      script = "require '-test-/heapprof_memcheck'\nHeapProfMemcheck.lose(1000)\nHeapProfMemcheck.use_after_free\nHeapProfMemcheck.use_undefined\nraise 'oops'\n"
      ran = rake(script, "task.engine = 'valgrind'; task.report = 'report.json'")
      records = JSON.parse(File.read("report.json"))["processes"].fetch(0)["records"]
      assert_equal [["use_after_free", 3], ["definite", 2]], records.map { |record| [record["kind"], record["frames"][0]["line"]] }
      assert_match(/oops \(RuntimeError\)/, ran.err)
      assert_match(/Command failed with status \(42\)/, ran.err)
    end
  end

  # ---- RSpec ----

  RSPEC = Dir["/usr/share/rubygems-integration/all/gems/rspec-{core,support,expectations,mocks}-*/lib"]

  def test_specs_that_lose_nothing_pass
    in_directory do
      ran = rake_spec("expect(1).to eq 1")
      assert_equal 0, ran.status, ran.err
      assert_match(/^1 example, 0 failures$/, ran.out)
      assert_match(/: no leaks; not shown/, ran.err)
    end
  end

  def test_a_leak_in_a_spec_fails_the_task
    in_directory do
      ran = rake_spec("HeapProfMemcheck.lose(1000)")
      assert_equal 42, ran.status
      assert_match(/^1 example, 0 failures$/, ran.out)
      assert_match(/definitely lost: .*\n    memcheck_lose \(heapprof_memcheck\.so\)\n.*leaky_spec\.rb:3:in /, ran.err)
    end
  end

  def test_a_spec_that_fails_has_its_own_status
    in_directory { assert_equal 1, rake_spec("expect(1).to eq 2").status }
  end

  def test_settings_of_specs
    in_directory do
      assert_equal 0, rake_spec("HeapProfMemcheck.lose(1000)", "task.binary_name = 'libc'").status
      assert_equal 42, rake_spec("HeapProfMemcheck.lose(1000)", "task.report = 'a report.json'").status
      assert_equal 1, JSON.parse(File.read("a report.json"))["processes"].sum { |process| process["leaks"] }
    end
  end

  private

  # Runs the task on a spec with that in its example.
  def rake_spec(script, settings = "")
    omit "no RSpec" if RSPEC.empty?
    File.write("leaky_spec.rb", "require '-test-/heapprof_memcheck'\nRSpec.describe HeapProfMemcheck do\n  it('is used') { #{script} }\nend\n")
    path = RSPEC.map { |library| "-I#{library}" }
    rakefile(<<~RUBY, settings)
      require "heapprof/memcheck/rspec"
      Heapprof::Memcheck::RSpec::RakeTask.new do |task|
        task.pattern = "leaky_spec.rb"
        task.ruby_opts = "--disable-gems #{path.join(' ')}"
    RUBY
    run_rake(path)
  end

  # Runs the task on a test with that script.
  def rake(script, settings = "", before: "")
    File.write("leaky_test.rb", script)
    rakefile(<<~RUBY, settings)
      require "heapprof/memcheck"
      #{before}
      Heapprof::Memcheck::TestTask.new(:memcheck) do |task|
        task.test_files = ["leaky_test.rb"]
        task.warning = false
        task.ruby_opts << "--disable-gems -I#{RAKE}/lib"
    RUBY
    run_rake([])
  end

  # The file that begins so, with what each task is set.
  def rakefile(beginning, settings)
    File.write("Rakefile", "#{beginning}  task.verbose = false\n  task.program = #{PROGRAM.dump}\n  #{settings}\nend\n")
  end

  def run_rake(options)
    out, err, status = Open3.capture3(ENVIRONMENT.merge("RUBY" => EnvUtil.rubybin), EnvUtil.rubybin, "--disable-gems", "-I#{RAKE}/lib", *options,
                                      "#{RAKE}/exe/rake", "memcheck")
    Ran.new(out, err, status.exitstatus)
  end
end
