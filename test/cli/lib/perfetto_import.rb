# frozen_string_literal: true

# perfetto_import.rb - reads a trace by the rules of Perfetto's own importer, which cannot be had here: what its
# profile_module.cc, profile_packet_sequence_state.cc and clock_tracker.cc (of 2025) do with a heap profile.
#
#   * The time of a process's samples is of the clock MONOTONIC_COARSE. Without an earlier snapshot that has it and the trace's
#     clock, BOOTTIME, the samples are dropped.
#   * Strings, mappings, frames and stacks are looked up when what needs them is read: they have to be in an earlier packet
#     or, in that order, in the same one. A stack of no frames is an error. Samples wait for the last packet.
#   * A packet that does not go on ends the profile. Packets are numbered from 0 without a gap.
#   * Stacks of the same frames are one, and what samples of it say is added up.
#
# A field that we do not know of is an error, too: we would not have written it.

require "stringio"

class PerfettoImport
  BOOTTIME = 6
  MONOTONIC_COARSE = 4

  # errors: texts. heaps: [pid, heap, time] => { names of frames, the outermost first => [allocated, freed, allocations, frees] }
  attr_reader :errors, :heaps, :profile_packets

  def initialize(trace)
    @errors = []
    @heaps = Hash.new { |heaps, key| heaps[key] = Hash.new { |heap, stack| heap[stack] = [0] * 4 } }
    @clocks = {}
    @profile_packets = 0
    forget
    packets(trace)
    @errors << "the profile does not end" unless @ended
  end

  private

  def packets(trace)
    fields(trace, 1 => :packet)[:packet].each do |bytes|
      packet = fields(bytes, 6 => :clocks, 8 => :time, 10 => :sequence, 37 => :profile)
      @errors << "a packet of no sequence" unless packet[:sequence] == [1]
      packet[:clocks].each { |clocks| snapshot(clocks) }
      packet[:profile].each { |profile| profile(profile) }
    end
  end

  def snapshot(bytes)
    fields(bytes, 1 => :clock)[:clock].each do |clock|
      clock = fields(clock, 1 => :id, 2 => :time)
      @clocks[clock[:id][0]] = clock[:time][0]
    end
  end

  def profile(bytes)
    packet = fields(bytes, 1 => :strings, 2 => :frames, 3 => :stacks, 4 => :mappings, 5 => :processes, 6 => :continued, 7 => :index)
    @errors << "packet #{packet[:index]}, expected #{@profile_packets}" unless packet[:index] == [@profile_packets]
    @errors << "a packet behind the end" if @ended
    @profile_packets += 1
    packet[:strings].each { |string| add_string(fields(string, 1 => :id, 2 => :text)) }
    packet[:mappings].each { |mapping| add_mapping(fields(mapping, 1 => :id, 4 => :start, 5 => :end, 7 => :path)) }
    packet[:frames].each { |frame| add_frame(fields(frame, 1 => :id, 2 => :name, 3 => :mapping, 4 => :pc)) }
    packet[:stacks].each { |stack| add_stack(fields(stack, 1 => :id, 2 => :frames)) }
    packet[:processes].each { |process| add_process(fields(process, 1 => :pid, 2 => :samples, 9 => :time, 11 => :heap)) }
    finish unless packet[:continued] == [1]
  end

  def add_string(string)
    text = string[:text].fetch(0, "").force_encoding("UTF-8")
    @errors << "string #{string[:id]} is not UTF-8" unless text.valid_encoding?
    @errors << "string 0 is not empty" if string[:id] == [0] && !text.empty?
    @strings[string[:id][0]] = text
  end

  def add_mapping(mapping)
    return @errors << "no path of mapping #{mapping[:id]}" unless mapping[:path].all? { |path| @strings.key?(path) }
    @errors << "an empty mapping" unless mapping[:end][0] > mapping[:start][0]
    @mappings[mapping[:id][0]] = mapping[:start][0]...mapping[:end][0]
  end

  def add_frame(frame)
    range = @mappings[frame[:mapping][0]]
    return @errors << "no mapping of frame #{frame[:id]}" unless range
    return @errors << "no name of frame #{frame[:id]}" unless @strings.key?(frame[:name][0])
    @errors << "frame #{frame[:id]} is outside its mapping" unless range.cover?(frame[:pc][0])
    @frames[frame[:id][0]] = @strings[frame[:name][0]]
  end

  def add_stack(stack)
    missing = stack[:frames].reject { |frame| @frames.key?(frame) }
    return @errors << "no frames #{missing} of stack #{stack[:id]}" unless missing.empty?
    return @errors << "stack #{stack[:id]} is empty" if stack[:frames].empty?
    @stacks[stack[:id][0]] = stack[:frames].map { |frame| @frames[frame] }
  end

  def add_process(process)
    unless @clocks.key?(MONOTONIC_COARSE) && @clocks.key?(BOOTTIME)
      return @errors << "the samples' clock is not known: they are dropped"
    end
    time = process[:time].fetch(0, 0) - @clocks[MONOTONIC_COARSE] + @clocks[BOOTTIME]
    key = [process[:pid][0], process[:heap].fetch(0, "unknown"), time]
    process[:samples].each { |sample| @waiting << [key, fields(sample, 1 => :stack, 2 => 0, 3 => 1, 5 => 2, 6 => 3)] }
  end

  def finish
    @waiting.each do |key, sample|
      stack = @stacks[sample[:stack][0]]
      next @errors << "no stack #{sample[:stack]}" unless stack
      values = (0..3).map { |i| sample[i].fetch(0, 0) }
      @errors << "more freed than allocated: #{values}" if values[1] > values[0] || values[3] > values[2] || values.any? { |value| value >= 2**63 }
      @heaps[key][stack] = @heaps[key][stack].zip(values).map(&:sum)
    end
    forget
    @ended = true
  end

  def forget
    @strings = { 0 => "" }
    @mappings, @frames, @stacks, @waiting = {}, {}, {}, []
  end

  # The fields of a message, by what names calls them: numbers, and bytes.
  def fields(bytes, names)
    found = Hash.new { |hash, name| hash[name] = [] }
    input = StringIO.new(bytes.b)
    until input.eof?
      tag = varint(input)
      name = names[tag >> 3]
      @errors << "field #{tag >> 3}, where there are #{names}" if name.nil?
      found[name] << (tag & 7 == 2 ? input.read(varint(input)).to_s : varint(input))
    end
    found
  end

  def varint(input)
    value = shift = 0
    loop do
      byte = input.readbyte
      value |= (byte & 127) << shift
      shift += 7
      return value if byte < 128
    end
  end
end
