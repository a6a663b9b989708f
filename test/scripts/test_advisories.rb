# frozen_string_literal: true

# test_advisories.rb - scripts/advisories.rb: what is built against what RubyGems has, as a file says it.

require "test/unit"
require_relative "scratch_repository"

class TestScriptsAdvisories < Test::Unit::TestCase
  REMOTE = <<~TEXT

    *** REMOTE GEMS ***

    ahead (2.0.0, 1.0.0)
    guest (2.0.0, 1.4.0.pre1, 0.2.0, 0.1.7 ruby java, 0.1.0)
    part (3.1.1, 3.1.0)
    whole (1.1.0, 1.0.0)
  TEXT

  def test_what_is_behind_in_its_major_version_is_a_row_and_nothing_else
    out = advisories(REMOTE)
    assert_match(/^guest +0\.1\.0 +0\.1\.7 +0\.2\.0 *$/, out)
    assert_match(/^whole +1\.0\.0 +- +1\.1\.0 +open$/, out)
    assert_equal %w[gem guest whole], out.lines[0..-2].map { |line| line[/\S+/] }
    assert_equal "4 gems, 2 behind, 1 that RubyGems does not say anything of: secret\n", out.lines.last
  end

  private

  def advisories(remote)
    ScratchRepository.open do |repository|
      { "whole" => "1.0.0", "part" => "3.1.1", "secret" => "1.0.0" }.each do |name, version|
        repository.write("tree/lib/#{name}.gemspec", "Gem::Specification.new('#{name}', '#{version}')")
      end
      repository.write("tree/gems/bundled_gems", "# name version address\nguest  0.1.0  https://example.org\n")
      repository.write("doc/security.md", "| CVE-1 | whole | 1.0.0 | 1.1.0 | open: no release yet | a list |\n")
      repository.write("remote", remote)
      command = [*ENV.fetch("BASERUBY", "ruby").split, "-W0", repository.path("scripts/advisories.rb")]
      out, err, status = Open3.capture3({ "RUBYOPT" => nil, "RUBYLIB" => nil }, *command, repository.path("tree"), repository.path("remote"))
      assert status.success?, err
      out
    end
  end
end
