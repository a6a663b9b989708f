# frozen_string_literal: true

# rubocop.rb - RuboCop with every cop on MRI's own library: in one process, in parallel ones, and
# correcting what it finds. Compared are its reports as JSON, and the corrected files.

class RubocopProgram < Program
  LIBRARY = File.join(ARCHIVE, "lib")

  OWN = /RuboCop|Parser|Prism/

  private

  def library(names)
    Dir["{#{names}}{.rb,/**/*.rb}", base: LIBRARY].sort
  end

  # 1 is what rubocop exits with when it has something to say.
  def rubocop(*options, files, chdir: LIBRARY)
    config = File.join(SOURCE, "rubocop.yml")
    ruby(command("rubocop"), "--config", config, "--format", "json", *options, *files, chdir: chdir)
  end
end

class RubocopAlone < RubocopProgram
  describe "rubocop: one process", gems: %w[rubocop parser prism], holds: OWN

  def work
    rubocop("--cache", "false", "--no-parallel", library("optparse,erb"))
  end
end

# The processes that look at files leave what they found in a cache; the first one reads it from there.
class RubocopParallel < RubocopProgram
  describe "rubocop: two forked processes and a cache", gems: %w[rubocop parallel], holds: OWN, processes: 3

  def work
    @env = @env.merge("PARALLEL_PROCESSOR_COUNT" => "2")
    rubocop("--cache-root", local("cache"), "--parallel", library("did_you_mean,error_highlight"))
  end
end

class RubocopCorrect < RubocopProgram
  describe "rubocop: correcting a library", gems: %w[rubocop], holds: OWN

  def work
    FileUtils.cp_r(File.join(LIBRARY, "optparse"), local("optparse"))
    rubocop("--cache", "false", "--autocorrect-all", Dir["optparse/**/*.rb", base: @directory].sort, chdir: @directory)
    Dir[local("optparse/**/*.rb")].sort.each { |file| note File.basename(file), File.read(file) }
  end
end
