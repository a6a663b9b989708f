# frozen_string_literal: true

# firefox_profile.rb - a "processed profile" of the Firefox Profiler, version 58, checked by what its documents say of the
# format: docs-developer/CHANGELOG-formats.md and the types of src/types/profile.ts there. The program itself runs in a
# browser only, and comes in no package.

class FirefoxProfile
  COLUMNS = {
    "samples" => %w[stack time weight], "stackTable" => %w[frame prefix], "markers" => %w[data name startTime endTime phase category],
    "frameTable" => %w[address inlineDepth category subcategory func nativeSymbol innerWindowID line column],
    "funcTable" => %w[name isJS relevantForJS resource source lineNumber columnNumber],
    "resourceTable" => %w[lib name host type], "nativeSymbols" => %w[libIndex address name functionSize]
  }.freeze
  COLOURS = %w[transparent purple green orange yellow lightblue blue brown magenta red lightred darkgrey grey].freeze

  attr_reader :errors, :json

  def initialize(json)
    @json = json
    @errors = []
    check_meta
    check_shared
    json["threads"].each { |thread| check_thread(thread) }
  end

  # By thread: stacks of [function, file, line], the outermost first, with the sums of their weights.
  def threads
    json["threads"].to_h do |thread|
      samples = thread["samples"]
      sums = Hash.new(0)
      samples["stack"].zip(samples["weight"]) { |stack, weight| sums[frames(thread, stack)] += weight }
      [[thread["pid"], thread["name"]], sums]
    end
  end

  private

  def expect(truth, message) = truth || @errors << message
  def strings = json["shared"]["stringArray"]

  def check_meta
    meta = json["meta"]
    expect meta["preprocessedProfileVersion"] == 58, "version"
    %w[interval startTime processType version stackwalk].each { |key| expect meta[key].is_a?(Numeric), "meta.#{key}" }
    expect meta["interval"].positive?, "interval"
    expect meta["markerSchema"] == [], "markerSchema"
    meta["categories"].each do |category|
      expect COLOURS.include?(category["color"]), "color"
      expect category["subcategories"].first == "Other", "subcategories"
    end
    expect meta["categories"].any? { |category| category["color"] == "grey" }, "default category"
    expect %w[ms bytes].include?(meta["sampleUnits"]["time"]), "sampleUnits"
  end

  def check_shared
    expect strings.all?(String), "stringArray"
    expect strings.uniq == strings, "a string stands twice"
    sources = json["shared"]["sources"]
    expect sources.values_at("uuid", "filename").map(&:size) == [sources["length"]] * 2, "sources"
    check_places(sources["filename"], strings.size, "filename")
    expect json["libs"] == [], "libs"
  end

  def check_places(places, count, what, null: false)
    bad = places.reject { |place| (null && place.nil?) || (place.is_a?(Integer) && place.between?(0, count - 1)) }
    expect bad.empty?, "#{what}: #{bad.first(3)} of #{count}"
  end

  def check_thread(thread)
    COLUMNS.each do |table, columns|
      sizes = columns.map { |column| thread[table][column].size }
      expect sizes.uniq == [thread[table]["length"]], "#{table}: #{sizes}"
    end
    expect thread["pid"].is_a?(String), "pid"
    expect json["threads"].map { |other| other["tid"] }.uniq.size == json["threads"].size, "tid"
    expect [true, false].include?(thread["isMainThread"]), "isMainThread"
    check_stacks(thread)
    check_functions(thread["funcTable"])
    samples = thread["samples"]
    expect samples["time"] == samples["time"].sort, "times are not in order"
    expect %w[samples tracing-ms bytes].include?(samples["weightType"]), "weightType"
    check_places(samples["stack"], thread["stackTable"]["length"], "sample", null: true)
  end

  def check_stacks(thread)
    stacks, frames = thread.values_at("stackTable", "frameTable")
    check_places(stacks["frame"], frames["length"], "frame")
    stacks["prefix"].each_with_index { |prefix, i| expect prefix.nil? || prefix < i, "prefix #{prefix} of #{i}" }
    check_places(frames["func"], thread["funcTable"]["length"], "func")
    check_places(frames["category"], json["meta"]["categories"].size, "category")
    expect frames["line"].all? { |line| line.nil? || line.positive? }, "line"
  end

  def check_functions(functions)
    check_places(functions["name"], strings.size, "name")
    check_places(functions["source"], json["shared"]["sources"]["length"], "source", null: true)
  end

  def frames(thread, stack)
    found = []
    while stack
      frame = thread["stackTable"]["frame"][stack]
      function = thread["frameTable"]["func"][frame]
      source = thread["funcTable"]["source"][function]
      found.unshift [strings[thread["funcTable"]["name"][function]], source && strings[json["shared"]["sources"]["filename"][source]],
                     thread["frameTable"]["line"][frame]]
      stack = thread["stackTable"]["prefix"][stack]
    end
    found
  end
end
