# frozen_string_literal: true
#
# test_bootstrap.rb - which steps bootstrap finds necessary, which --dry-run tells; and that it does
# them, by a toy Makefile.

require "test/unit"
require_relative "scratch_repository"

class TestScriptsBootstrap < Test::Unit::TestCase
  BOOTSTRAP = File.expand_path("../../bootstrap", __dir__)
  PACKAGES = "shell  build    sh             what is there\n" \
             "viewer demo     no-such-tool   what is not\n" \
             "extra  install  no-such-extra  the same\n"

  def test_fresh_clone_needs_all_steps
    with_clone do |repository|
      assert_equal <<~STEPS, steps(repository, "demo")
        [1/6] installing packages (1 to 5 minutes): viewer
        [2/6] configuring this repository (seconds)
        [3/6] fetching and unpacking MRI, upb and gems (about 1 minute)
        [4/6] configuring MRI (about 1 minute)
        [5/6] building and installing (about 5 minutes)
        [6/6] make demo (about 1 minute)
      STEPS
    end
  end

  def test_what_is_not_needed_is_not_counted
    with_clone do |repository|
      built(repository)
      assert_equal <<~STEPS, steps(repository, "torture")
        [1/2] building what has changed, and installing
        [2/2] make torture
      STEPS
    end
  end

  def test_options_configure_again
    with_clone do |repository|
      built(repository)
      assert_equal <<~STEPS, steps(repository, "--prefix=/elsewhere", "torture")
        [1/3] configuring this repository (seconds)
        [2/3] building what has changed, and installing
        [3/3] make torture
      STEPS
    end
  end

  # As ./bootstrap check finds a compiler that ./bootstrap demo did without.
  def test_what_a_target_has_installed_is_looked_for_by_configure
    with_clone do |repository|
      built(repository)
      installed(repository)
      assert_equal <<~STEPS, steps(repository, "demo")
        [1/4] installing packages (1 to 5 minutes): viewer
        [2/4] configuring this repository (seconds)
        [3/4] building what has changed, and installing
        [4/4] make demo (about 1 minute)
      STEPS
    end
  end

  def test_what_somebody_else_has_installed_is_looked_for_by_configure
    with_clone do |repository|
      built(repository)
      installed(repository)
      repository.write("build/lacking", "another\nextra\nviewer\n")
      assert_equal "[1/3] configuring this repository (seconds)\n", steps(repository, "torture").lines.first
    end
  end

  # configure-options are kept: config.status knows them.
  def test_configured_again_it_is_configured_as_before
    with_clone do |repository|
      built(repository)
      repository.write("build/lacking", "another\n")
      repository.write("config.status", "#!/bin/sh\necho \"config.status: $*\"\n")
      File.chmod(0o755, repository.path("config.status"))
      out, err, ok = bootstrap(repository, "torture")
      assert ok, err
      assert_equal ["config.status: --recheck\n", "config.status: \n"], out.lines.grep(/^config/)
      assert_equal "extra\nviewer\n", repository.read("build/lacking")
    end
  end

  def test_without_a_target_all_that_the_product_can_use_is_installed
    with_clone do |repository|
      built(repository)
      assert_equal "[1/3] installing packages (1 to 5 minutes): extra\n", steps(repository).lines.first
    end
  end

  def test_what_could_not_be_fetched_is_in_the_last_line
    with_clone do |repository|
      built(repository)
      repository.write("build/without/page", "page: npm could not fetch it: heapprof view will not work\n")
      out, err, ok = bootstrap(repository, "torture")
      assert ok, err
      assert_equal "this is torture\n", out.lines.last
      assert_equal "page: npm could not fetch it: heapprof view will not work\n", err.lines.last
    end
  end

  def test_target_alone_is_one_step_when_all_is_installed
    with_clone do |repository|
      built(repository)
      installed(repository)
      assert_equal "[1/1] make torture\n", steps(repository, "torture")
    end
  end

  def test_nothing_to_do_is_said
    with_clone do |repository|
      repository.write("scripts/packages", "shell  build  sh  what is there\n")
      built(repository)
      installed(repository)
      assert_match(%r{\Anothing to do: .*/bin/ruby is up to date\n\z}, steps(repository))
    end
  end

  def test_steps_are_done_one_after_the_other
    with_clone do |repository|
      built(repository)
      out, err, ok = bootstrap(repository, "torture")
      assert ok, err
      assert_equal <<~STEPS, out
        [1/2] building what has changed, and installing
        this is install
        [2/2] make torture
        this is torture
      STEPS
    end
  end

  def test_step_that_fails_is_the_last
    with_clone do |repository|
      built(repository)
      repository.write("build/ruby/fails", "")
      out, err, ok = bootstrap(repository, "torture")
      refute ok
      refute_includes out, "this is torture"
      assert_match(/^bootstrap: make install failed: see the lines above\n\z/, err)
    end
  end

  def test_archive_that_could_not_be_fetched_is_in_the_last_line
    with_clone do |repository|
      built(repository)
      repository.write("Makefile", "prefix = nowhere\ninstall:\n\t@scripts/fetch nothing\n\t@echo after\n")
      _, err, ok = bootstrap(repository, "torture")
      refute ok
      assert_equal "bootstrap: make install failed: fetch: no archive or gem named nothing in pins\n", err.lines.last
    end
  end

  # A machine that has just started updates itself, as a rule.
  def test_another_apt_that_is_at_work_is_waited_for
    with_clone do |repository|
      built(repository)
      repository.write("build/bin/apt-get", "#!/bin/sh\necho \"apt-get $*\"\n")
      repository.write("build/bin/id", "#!/bin/sh\necho 0\n")
      %w[apt-get id].each { |command| File.chmod(0o755, repository.path("build/bin/#{command}")) }
      out, err, ok = bootstrap(repository, "demo", env: { "PATH" => "#{repository.path('build/bin')}:#{ENV['PATH']}" })
      assert_match(/^apt-get install .*-o DPkg::Lock::Timeout=\d{3,} viewer$/, out, "#{err}#{ok}")
    end
  end

  def test_two_targets_are_one_too_many
    with_clone do |repository|
      _, err, ok = bootstrap(repository, "--dry-run", "demo", "check")
      refute ok
      assert_equal "bootstrap: one target at a time: got demo and check\n", err
    end
  end

  private

  def with_clone
    ScratchRepository.open do |repository|
      FileUtils.cp(BOOTSTRAP, repository.path("bootstrap"))
      repository.write("scripts/packages", PACKAGES)
      repository.write("configure.ac", "")
      yield repository
    end
  end

  def steps(repository, *arguments)
    out, err, ok = bootstrap(repository, "--dry-run", *arguments)
    assert ok, err
    out
  end

  # The make that runs these tests has options of its own.
  def bootstrap(repository, *arguments, env: {})
    repository.run("../bootstrap", *arguments,
                   env: { "MAKEFLAGS" => nil, "MFLAGS" => nil, "MAKELEVEL" => nil, **env })
  end

  def built(repository)
    File.utime(Time.now - 100, Time.now - 100, repository.path("configure.ac"))
    repository.write("Makefile", <<~MAKE)
      prefix = #{repository.path('installed')}
      install torture:
      \t@echo this is $@; test ! -e build/ruby/fails
    MAKE
    %w[configure build/src/ruby-1.0/made build/ruby/.configured build/ruby/ruby].each do |file|
      repository.write(file, "")
    end
    repository.write("build/lacking", repository.run!("missing"))
  end

  def installed(repository)
    repository.write("installed/bin/ruby", "")
    File.chmod(0o755, repository.path("installed/bin/ruby"))
    repository.write("build/installed", "")
    File.utime(Time.now + 100, Time.now + 100, repository.path("build/installed"))
  end
end
