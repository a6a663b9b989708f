# frozen_string_literal: true

# scraper.rb - asks for profiles as Parca and Alloy do, by their configurations. What these accept, and what they ask for, is
# as in their sources of 2025 (parca pkg/config, pkg/scrape; alloy internal/component/pyroscope/scrape).

require "net/http"
require "open3"
require "psych"
require_relative "alloy"

module Scraper
  # Where it is asked; which sample types are kept, as [type, unit].
  Target = Struct.new(:address, :path, :kept)

  # Parca refuses a key that it does not know. Keys, and what is in them: a Hash, an Array of such, or a class.
  PPROF = { "enabled" => :boolean, "path" => String, "delta" => :boolean, "keep_sample_type" => [{ "type" => String, "unit" => String }] }.freeze
  PARCA = {
    "scrape_configs" => [{
      "job_name" => String, "scrape_interval" => String, "scrape_timeout" => String, "scheme" => String, "params" => Hash,
      "authorization" => { "type" => String, "credentials" => String, "credentials_file" => String },
      "static_configs" => [{ "targets" => [String], "labels" => Hash }],
      "profiling_config" => {
        "path_prefix" => String,
        "pprof_config" => %w[memory block goroutine mutex process_cpu].to_h { |name| [name, PPROF] }
      }
    }]
  }.freeze

  module_function

  def parca(text)
    configuration = Psych.safe_load(text)
    conforms(configuration, PARCA, "")
    configuration.fetch("scrape_configs").flat_map do |job|
      profiles = job["profiling_config"]["pprof_config"]
      raise "what Go's servers have besides is not off" unless PARCA_DEFAULTS.all? { |name| profiles.dig(name, "enabled") == false }
      paths = profiles.values.select { |profile| profile["enabled"] }
      job["static_configs"].flat_map { |group| group["targets"] }.product(paths).map do |address, profile|
        raise "#{address} is not a host" if address.include?("/")
        Target.new(address, profile.fetch("path"), profile["keep_sample_type"].to_a.map { |type| type.values_at("type", "unit") })
      end
    end
  end

  PARCA_DEFAULTS = %w[block goroutine mutex process_cpu].freeze

  def conforms(value, schema, where)
    case schema
    when :boolean then raise "#{where}: #{value.inspect} is no boolean" unless [true, false].include?(value)
    when Class then raise "#{where}: #{value.inspect} is no #{schema}" unless value.is_a?(schema)
    when Array then value.each_with_index { |item, i| conforms(item, schema.first, "#{where}[#{i}]") }
    when Hash then value.each { |key, item| conforms(item, schema.fetch(key) { raise "#{where}: unknown key #{key}" }, "#{where}.#{key}") }
    end
  end

  ALLOY_DEFAULTS = %w[memory block goroutine mutex process_cpu].map { |name| "profile.#{name}" }.freeze
  ALLOY = %w[targets forward_to job_name params scrape_interval scrape_timeout scheme bearer_token_file].freeze

  def alloy(text)
    configuration = Alloy.read(text)
    scrape, write = configuration["pyroscope.scrape"], configuration["pyroscope.write"]
    unknown = scrape.attributes.keys - ALLOY
    raise "unknown: #{unknown.join(' ')}" unless unknown.empty?
    raise "it forwards to nobody" unless scrape.attributes["forward_to"] == ["pyroscope.write.#{write.label}.receiver"]
    raise "the store has no address" unless write["endpoint"].attributes["url"].match?(%r{\Ahttp://[^/]+\z})
    profiles = scrape["profiling_config"].blocks
    raise "what Go's servers have besides is not off" unless ALLOY_DEFAULTS.all? { |name| profiles.any? { |one| one.name == name && !one.attributes["enabled"] } }
    paths = profiles.select { |profile| profile.attributes["enabled"] }
    raise "expected profile.custom alone" unless paths.map(&:name) == ["profile.custom"] && paths.first.label
    scrape.attributes.fetch("targets").product(paths).map do |target, profile|
      Target.new(target.fetch("__address__"), profile.attributes.fetch("path"), [])
    end
  end

  # As Go's HTTP client asks. Returns the process that the profile is of.
  def scrape(target, token, file)
    request = Net::HTTP::Get.new(target.path, "User-Agent" => "Alloy/1.0", "Accept-Encoding" => "gzip", "Authorization" => "Bearer #{token}")
    host, port = target.address.split(":")
    answer = Net::HTTP.start(host, Integer(port)) { |http| http.request(request) }
    raise "#{target.address}#{target.path}: #{answer.code} #{answer.body}" unless answer.code == "200"
    raise "#{target.address}: Content-Encoding is #{answer['content-encoding']}" if answer["content-encoding"]
    File.binwrite(file, answer.body)
    out, status = Open3.capture2e("go", "tool", "pprof", "-raw", file)
    raise "go tool pprof: #{out}" unless status.success?
    types = out[/^Samples:\n(.*)$/, 1].delete("[dflt]").split
    missing = target.kept.map { |type| type.join("/") }.reject { |type| out[/^Samples:\n(.*)$/, 1].include?(type) }
    raise "not in the profile: #{missing.join(' ')}; there are #{types.join(' ')}" unless missing.empty?
    Integer(out[/^Comment: pid: (\d+)$/, 1])
  end
end
