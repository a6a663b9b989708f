# frozen_string_literal: true

require "test/unit"
require_relative "scratch_repository"

class TestScriptsUpToDate < Test::Unit::TestCase
  def test_installation_is_up_to_date_while_nothing_changes
    with_installation { |repository| assert up_to_date?(repository) }
  end

  def test_edited_file_is_not_up_to_date
    with_installation do |repository|
      repository.write("gc/first.c", "edited")
      refute up_to_date?(repository)
    end
  end

  def test_removed_file_is_not_up_to_date
    with_installation do |repository|
      File.unlink(repository.path("gc/first.c"))
      refute up_to_date?(repository)
    end
  end

  def test_removed_installation_is_not_up_to_date
    with_installation do |repository|
      File.unlink(repository.path("installed/bin/ruby"))
      refute up_to_date?(repository)
    end
  end

  private

  # As after an installation a while ago: the files are older than the mark, and it is not new.
  def with_installation
    ScratchRepository.open do |repository|
      repository.write("Makefile", "prefix = #{repository.path('installed')}\n")
      repository.write("installed/bin/ruby", "")
      File.chmod(0o755, repository.path("installed/bin/ruby"))
      age(repository, 200)
      repository.write("build/installed", "")
      File.utime(Time.now - 100, Time.now - 100, repository.path("build/installed"))
      yield repository
    end
  end

  def age(repository, seconds)
    paths = [repository.top, *Dir.glob(repository.path("**/*"))]
    File.utime(Time.now - seconds, Time.now - seconds, *paths)
  end

  def up_to_date?(repository) = repository.run("up-to-date").last
end
