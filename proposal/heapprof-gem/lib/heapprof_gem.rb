# frozen_string_literal: true

require "heapprof_gem/heapprof_gem"

# A live heap profile: what of a random sample of all objects is alive, by class and by where it was allocated.
#
#   HeapprofGem.start
#   ...
#   puts HeapprofGem.text                        # the largest places
#   File.write("heap.folded", HeapprofGem.folded) # for flamegraph.pl, speedscope, and others
# Only slots are counted, not memory outside of them, and only objects that Ruby code can see.
module HeapprofGem
  # stack: [name, path, line] of each frame, the innermost first. bytes and objects are estimates, samples what they rest on.
  Row = Struct.new(:class_name, :stack, :bytes, :objects, :samples) do
    # The innermost frame that is Ruby code.
    def place = stack.find { |_, path, line| path && line > 0 }&.then { |_, path, line| "#{path}:#{line}" } || "(no Ruby code)"
  end

  SIZE_BITS = 16 # as in heapprof_gem.c
  CLASS = Kernel.instance_method(:class) # of any object, BasicObjects among them
  NAME = Module.instance_method(:name)
  private_constant :SIZE_BITS, :CLASS, :NAME

  class << self
    # One sample for every +mean_bytes+ bytes of slots, on average.
    def start(mean_bytes: 512 * 1024)
      raise ArgumentError, "mean_bytes: #{mean_bytes}: expected 1 or more" unless Integer(mean_bytes) > 0
      raise "already started" if @running
      map = ObjectSpace::WeakMap.new
      sample(mean_bytes, map)
      @map, @mean_bytes, @running = map, mean_bytes.to_f, true
      nil
    end

    # What was sampled can still be read.
    def stop
      stop_sampling if @running
      @running = false
    end

    # What is alive now, the most bytes first. What died since the last GC is alive here.
    def rows
      enter_waiting
      map = @map or return []
      sums = Hash.new { |all, key| all[key] = [0.0, 0.0, 0] }
      map.keys.each do |object|
        value = map[object] or next
        size = value & (1 << SIZE_BITS) - 1
        share = 1 - Math.exp(-size / @mean_bytes) # its chance to be sampled
        sum = sums[[CLASS.bind_call(object), value >> SIZE_BITS]]
        sum[0] += size / share
        sum[1] += 1 / share
        sum[2] += 1
      end
      stacks = Hash.new { |all, node| all[node] = stack(node) }
      sums.map { |(klass, node), sum| Row.new(text_of(NAME.bind_call(klass) || "(anonymous)"), stacks[node], *sum) }.sort_by { -_1.bytes }
    end

    # The +most+ largest classes and places.
    def text(most: 20)
      places = rows.group_by { [_1.class_name, _1.place] }.map do |(name, place), all|
        [all.sum(&:bytes), all.sum(&:objects), all.sum(&:samples), name, place]
      end
      format("%12s %10s %8s  %s\n", "bytes", "objects", "samples", "class, allocated at") +
        places.max_by(most, &:first).map { format("%12d %10d %8d  %s, %s\n", *_1) }.join
    end

    # A line for each stack, the outermost frame first, the class last; and its bytes.
    def folded
      rows.map do |row|
        names = row.stack.reverse.map { |name, path, line| line > 0 ? "#{name} (#{path}:#{line})" : name.to_s }
        "#{[*names, row.class_name].map { _1.tr(";\n", ": ") }.join(';')} #{row.bytes.round}\n"
      end.join
    end

    # Samples since the start; of these, those without room to wait, and those of objects that Ruby cannot see.
    def stat = %i[samples dropped hidden].zip(numbers).to_h

    private

    def stack(node)
      frames = []
      while (found = frame(node))
        node, name, path, line = found
        frames << [text_of(name), path && text_of(path), line]
      end
      frames
    end

    # Names and paths of programs may have any encoding.
    def text_of(name) = name.to_s.dup.force_encoding(Encoding::UTF_8).scrub
  end
end
