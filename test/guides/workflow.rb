# frozen_string_literal: true

# workflow.rb - a workflow of GitHub Actions, as far as it can be run without that: the commands of its `run` steps, in a fresh
# directory, by the shell and with the files that a runner has.
#
#     run                      bash -e, with GITHUB_OUTPUT and GITHUB_PATH
#     uses: checkout           the gem: the directory; with a path: a clone of this repository
#     uses: cache              finds what is in it: the ruby that is installed
#     uses: upload-sarif       the file has to be there, and SARIF
#     apt-get                  a stand-in; each package has to be known to Debian
#
# Conditions and expressions are few; one that is not known here is an error.

require "fileutils"
require "json"
require "open3"
require "psych"

class Workflow
  TOP = File.expand_path("../..", __dir__)
  ACTIONS = %w[actions/checkout@v4 actions/cache@v4 github/codeql-action/upload-sarif@v3].freeze
  STAND_IN = <<~'SH'
    #!/bin/sh
    # Says which packages are asked for.
    for word; do
        case $word in update | install | -*) ;; *) apt-cache show "$word" >/dev/null 2>&1 && echo "$word" >>"$PACKAGES" || exit 100 ;; esac
    done
  SH

  attr_reader :failed, :sarif, :packages

  def initialize(path, directory, example)
    @document = Psych.safe_load_file(path)
    @directory = directory
    @failed, @ran, @sarif, @outputs, @path = [], [], {}, Hash.new { |all, id| all[id] = {} }, []
    FileUtils.rm_rf([directory, tools])
    FileUtils.cp_r(example, directory)
    FileUtils.mkdir_p(tools)
    File.write(File.join(tools, "apt-get"), STAND_IN, perm: 0755)
  end

  # Runs all steps; returns what is wrong.
  def faults
    job = @document.fetch("jobs").values
    return ["#{job.size} jobs"] unless job.size == 1
    return ["it may not write security events"] unless @document.dig("permissions", "security-events") == "write"
    return ["it runs at nothing"] unless @document.fetch(true).keys == %w[push pull_request] # "on", to YAML
    job[0].fetch("steps").flat_map { |step| do_step(step).map { |what| "#{step["name"]}: #{what}" } }
  end

  private

  def tools = "#{@directory}.tools"

  def do_step(step)
    return ["it has to use or run something"] unless step.key?("uses") ^ step.key?("run")
    return [] unless wanted?(step["if"])
    step["uses"] ? use(step, step.fetch("with", {}).transform_values { |value| expand(value) }) : run(step)
  end

  def wanted?(condition)
    case condition
    when nil then @failed.empty?
    when "${{ !cancelled() }}" then true
    when /\A\$\{\{ steps\.(\w+)\.outputs\.([\w-]+) != '(\w+)' \}\}\z/ then @failed.empty? && output($1, $2) != $3
    else raise "unknown condition: #{condition}"
    end
  end

  def expand(text)
    text.gsub(/\$\{\{ (.*?) \}\}/) do
      case $1
      when "runner.arch" then "X64"
      when /\Asteps\.(\w+)\.outputs\.([\w-]+)\z/ then output($1, $2)
      else raise "unknown expression: #{$1}"
      end
    end
  end

  def output(id, name) = @outputs.fetch(id) { raise "there is no step #{id} before" }.fetch(name)

  def use(step, with)
    return ["unknown action #{step["uses"]}"] unless ACTIONS.include?(step["uses"])
    case step["uses"]
    when /checkout/ then checkout(with)
    when /cache/ then cache(step["id"], with)
    else upload(with)
    end
  end

  def checkout(with)
    return [] unless with["path"]
    _, status = Open3.capture2e("git", "clone", "-q", "--no-checkout", TOP, with["path"], chdir: @directory)
    status.success? ? [] : ["no clone"]
  end

  def cache(id, with)
    @outputs[id]["cache-hit"] = "true"
    File.symlink(File.dirname(RbConfig.ruby, 2), File.join(@directory, with.fetch("path")))
    with.fetch("key").match?(/-\h{40}\z/) ? [] : ["the key has no commit: #{with["key"]}"]
  end

  def upload(with)
    document = JSON.parse(File.read(File.join(@directory, with.fetch("sarif_file"))))
    category = with.fetch("category")
    return ["a second #{category}"] if @sarif.key?(category)
    @sarif[category] = document.fetch("runs").flat_map { |run| run.fetch("results") }
    document["version"] == "2.1.0" ? [] : ["SARIF #{document["version"]}"]
  end

  def run(step)
    files = %w[GITHUB_OUTPUT GITHUB_PATH PACKAGES].to_h { |name| [name, File.join(tools, name)] }
    File.write(files["GITHUB_OUTPUT"], "")
    environment = files.merge("PATH" => [*@path, tools, ENV["PATH"]].join(":"), "RUBY_HEAPPROF" => nil, "RUBYOPT" => nil, "BUNDLE_GEMFILE" => nil,
                              "GEM_HOME" => nil, "GEM_PATH" => nil, "LC_ALL" => "C.UTF-8")
    out, status = Open3.capture2e(environment, "bash", "-e", "-c", step["run"], chdir: @directory)
    @failed << step["name"] unless status.success?
    @path = File.exist?(files["GITHUB_PATH"]) ? File.readlines(files["GITHUB_PATH"], chomp: true).reverse : []
    @packages = File.exist?(files["PACKAGES"]) ? File.readlines(files["PACKAGES"], chomp: true) : []
    @outputs[step["id"]].merge!(File.readlines(files["GITHUB_OUTPUT"], chomp: true).to_h { |line| line.split("=", 2) }) if step["id"]
    status.success? || [1, 42].include?(status.exitstatus) ? [] : ["exit status #{status.exitstatus}: #{out}"]
  end
end
