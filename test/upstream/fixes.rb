# frozen_string_literal: true

# fixes.rb - what doc/upstream-bugs mends: each script crashes this ruby as it is, and does not with its patch; nor does
# RUBY_WBCHECK see anything there any more.
#
#   fixes.rb SOURCES    MRI's, whose extensions are built with the patches, in build/upstream-fixes
#
# Runs on the installed ruby.

require "fileutils"
require "open3"

BUGS = File.expand_path("../../doc/upstream-bugs", __dir__)
BUILD = File.expand_path("../../build/upstream-fixes", __dir__)
SOURCES = File.expand_path(ARGV.fetch(0))
# By patch: scripts, with their arguments.
RUNS = { "date" => [%w[date], %w[datetime]], "fiddle" => [%w[fiddle]], "json" => [%w[json], %w[json copy]] }.freeze
CRASH = "[BUG] try to mark T_NONE object"

def run!(*command, **options)
  out, status = Open3.capture2e(*command, **options)
  abort "#{command.join(' ')} failed: #{out}" unless status.success?
  out
end

# The directory to be loaded from.
def build(name)
  source, made = %w[source made].map { |part| File.join(BUILD, name, part) }
  FileUtils.rm_rf(File.join(BUILD, name))
  FileUtils.mkdir_p([File.join(source, "ext"), made])
  FileUtils.cp_r(File.join(SOURCES, "ext", name), File.join(source, "ext"))
  run!("patch", "-s", "-p1", "-i", File.join(BUGS, "#{name}-write-barriers.patch"), chdir: source)
  Dir[File.join(source, "ext", name, "**/extconf.rb")].each do |extconf|
    next unless File.read(File.join(BUGS, "#{name}-write-barriers.patch")).include?(File.dirname(extconf).delete_prefix("#{source}/"))
    run!(RbConfig.ruby, "extconf.rb", chdir: File.dirname(extconf))
    run!("make", "install", "sitearchdir=#{made}", "sitelibdir=#{made}", chdir: File.dirname(extconf))
  end
  made
end

def script((name, *arguments), *options, env: {})
  out, status = Open3.capture2e(env, RbConfig.ruby, "--disable-gems", *options, File.join(BUGS, "#{name}-write-barriers.rb"), *arguments)
  [out, status.success?]
end

faults = RUNS.flat_map do |name, runs|
  made = build(name)
  runs.flat_map do |run|
    title = run.join(" ")
    before, = script(run)
    after, ok = script(run, "-I", made)
    checked, = script(run, "-I", made, env: { "RUBY_WBCHECK" => "1" })
    { "#{title}: does not crash as it is" => before.include?(CRASH), "#{title}: crashes with its patch: #{after.lines[1]}" => ok,
      "#{title}: a write barrier is missed with its patch: #{checked}" => checked.empty? }.reject { |_, right| right }.keys
  end
end
puts(faults.empty? ? "#{RUNS.values.sum(&:size)} crashes mended" : faults)
exit faults.empty?
