# frozen_string_literal: true

# raw_profile.rb - a profile as `go tool pprof -raw` prints it, which is all that is in the file.
#
#     Comment: interval: 1 bytes
#     Samples:
#     alloc_objects/count alloc_slot_space/bytes alloc_malloc_space/bytes alloc_space/bytes ...
#              1         40          0         40          1         40          0         40: 7 3
#                     class:[String]
#     Locations
#          7: 0x0 M=1 Object#leak /app/leak.rb:4 s=3()
#     Mappings
RawProfile = Struct.new(:comments, :header, :samples) do
  self::Frame = Struct.new(:label, :path, :lineno)
  self::Sample = Struct.new(:alloc_objects, :alloc_slot_space, :alloc_malloc_space, :alloc_space,
                            :inuse_objects, :inuse_slot_space, :inuse_malloc_space, :inuse_space, :rss_space, :inuse_variance,
                            :frames, :class_name, :caller, :owner, :owner_allocated_by, :native_leak,
                            :gc_age, :memsize, :thread, :given) do
    # The labels that the program has given, by their keys.
    def given = self[:given] ||= {}
  end
  LABELS = { "class" => :class_name, "caller" => :caller, "owner" => :owner,
             "owner_allocated_by" => :owner_allocated_by, "native_leak" => :native_leak,
             "gc_age" => :gc_age, "memsize" => :memsize, "thread" => :thread }.freeze

  def self.parse(text)
    head, body = text.split(/^Samples:\n/, 2)
    samples, locations = body.split(/^Locations\n/, 2)
    frames = parse_locations(locations[/.*?(?=^Mappings)/m])
    header, *lines = samples.lines(chomp: true)
    new(head.scan(/^Comment: (.*)/).flatten, header.split, parse_samples(lines, frames))
  end

  def self.parse_locations(text)
    text.scan(/^ *(\d+): 0x0 M=1 (.*) (\S*):(\d+) s=\d+\(\)$/).to_h do |number, label, path, lineno|
      [number, self::Frame.new(label, path, lineno.to_i)]
    end
  end

  def self.parse_samples(lines, frames)
    lines.each_with_object([]) do |line, samples|
      case line
      when /^ +\w+:\[/
        parse_labels(line) do |key, value|
          LABELS[key] ? samples.last[LABELS[key]] = value : samples.last.given[key] = value
        end
      when /^([-\d ]+): ([\d ]+)$/
        values, stack = $1.split.map(&:to_i), $2.split
        samples << self::Sample.new(*values, stack.map { |number| frames.fetch(number) })
      else
        raise "not understood: #{line}"
      end
    end
  end

  # One line has the labels that are texts, one those that are numbers.
  def self.parse_labels(line)
    line.scan(/(\w+):\[(.*?)\](?= \w+:\[|$)/) do |key, value|
      yield key, value[/\A(\d+) (?:gcs|bytes)\z/, 1]&.to_i || value
    end
  end
  private_class_method :parse_locations, :parse_samples, :parse_labels

  # Samples of a class, and with a frame of that label anywhere in the stack.
  def where(class_name: nil, label: nil)
    samples.select do |sample|
      (!class_name || sample.class_name == class_name) &&
        (!label || sample.frames.any? { |frame| frame.label == label })
    end
  end

  # What such samples add up to.
  def total(value = :inuse_objects, **which)
    where(**which).sum(&value)
  end

  # The frames whose label is this.
  def frames_of(label)
    samples.flat_map(&:frames).select { |frame| frame.label == label }.uniq
  end
end
