# frozen_string_literal: true

# evidence.rb - what one process left behind, its profile and its count (witness.rb), and whether
# they are what they must be: nothing dropped, and as many objects by MRI's count as by the
# profiler's, and by the profiler's as by what `go tool pprof` adds up. Where blocks of the allocator
# are sampled, too, the profiler has samples more.

require "open3"

class Evidence
  # What the interpreter allocates at its start and end, when nobody counts, is less.
  UNCOUNTED = 100_000

  # taken: samples taken. live: alive at exit. own: those below a function of the program's own.
  attr_reader :taken, :live, :own, :dropped

  # compacted: objects may have moved between slot sizes, and MRI's count may be larger.
  def initialize(path, holds, compacted:)
    @path, @holds, @compacted = path, holds, compacted
    text = pprof("-top", "-sample_index=inuse_objects", "-focus=#{holds.source}")
    @own, @live = text.match(/^Showing nodes accounting for (\d+), \S+ of (\d+) total$/).captures.map(&:to_i)
    @comments = text.scan(/^([a-z ]+): (.*)$/).to_h
    @taken = @comments.fetch("samples")[/of (\d+) taken/, 1].to_i
    @live_samples = @comments.fetch("samples").to_i
    @blocks = @comments.fetch("malloc interval") != "0 bytes"
    @dropped = @comments.fetch("dropped samples").to_i
    @allocated, @sampled = count
  end

  # What is wrong, a line each.
  def faults
    expected.reject { |_, right| right }.map { |claim, _| "#{@path}: not so: #{claim}" }
  end

  private

  def pprof(*options)
    text, status = Open3.capture2e({ "PPROF_TMPDIR" => File.dirname(@path) }, "go", "tool", "pprof", *options, @path)
    abort "go tool pprof #{@path}: #{text}" unless status.success?
    text
  end

  def count
    path = @path.sub(/\.pb\.gz\z/, ".count")
    File.exist?(path) ? File.read(path).split.map(&:to_i) : [0, 0]
  end

  def expected
    {
      "interval: 1 bytes" => @comments["interval"] == "1 bytes",
      "no samples dropped (#{@dropped})" => @dropped == 0,
      "no sites folded (#{@comments['folded sites']})" => @comments["folded sites"] == "0",
      "no stacks truncated (#{@comments['truncated stacks']})" => @comments["truncated stacks"] == "0",
      "#{@live} live by pprof, #{@comments['samples']}" => @blocks ? @live_samples > @live : @live_samples == @live,
      "some are held by #{@holds.source}" => @own > 0,
      "#{@sampled} samples counted, #{@taken} in the file" => (0..UNCOUNTED).cover?(@taken - @sampled),
      "#{@allocated} objects allocated, #{@sampled} sampled" => as_many_p
    }
  end

  def as_many_p
    return @blocks || @allocated >= @sampled if @compacted
    @blocks ? @allocated < @sampled : @allocated == @sampled
  end
end
