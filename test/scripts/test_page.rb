# frozen_string_literal: true
#
# test_page.rb - what is left behind, and said, when npm cannot fetch what the page is made of.

require "test/unit"
require_relative "scratch_repository"

class TestScriptsPage < Test::Unit::TestCase
  LINE = "page: npm could not fetch esbuild and d3-flame-graph (build/page/npm.log): heapprof view will not work\n"

  def test_without_a_registry_the_line_is_kept_until_it_could_be_fetched
    with_npm("exit 1") do |repository, env|
      assert_equal ["", LINE, true], repository.run("page", "build/out/page.html", env: env)
      assert_empty repository.read("build/out/page.html")
      assert_equal ["", LINE, true], repository.run("without")

      npm(repository, "exit 0")
      assert_equal ["", "", true], repository.run("page", "build/out/page.html", env: env)
      assert_equal "the page\n", repository.read("build/out/page.html")
      assert_equal ["", "", true], repository.run("without")
    end
  end

  def test_what_a_page_somewhere_else_lacks_this_build_does_not
    with_npm("exit 1") do |repository, env|
      assert_equal ["", LINE, true], repository.run("page", repository.path("elsewhere/page.html"), env: env)
      assert_equal ["", "", true], repository.run("without")
    end
  end

  # An old page is none: it would show what its code cannot read any more.
  def test_what_lacks_is_looked_for_again_by_the_next_make
    with_npm("exit 1") do |repository, env|
      repository.write("build/out/page.html", "an old page\n")
      repository.run("page", "build/out/page.html", env: env)
      assert_empty repository.read("build/out/page.html")
      assert_equal Time.at(0), File.mtime(repository.path("build/out/page.html"))
    end
  end

  private

  def with_npm(does)
    ScratchRepository.open do |repository|
      %w[package.json package-lock.json src/page.js build.mjs].each { |file| repository.write("cli/page/#{file}", "{}") }
      npm(repository, does)
      program(repository, "node", 'echo "the page" >"$2"')
      yield repository, { "PATH" => "#{repository.path('programs')}:#{ENV['PATH']}" }
    end
  end

  def npm(repository, does) = program(repository, "npm", does)

  def program(repository, name, does)
    repository.write("programs/#{name}", "#!/bin/sh\n#{does}\n")
    File.chmod(0o755, repository.path("programs/#{name}"))
  end
end
