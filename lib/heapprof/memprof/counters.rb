# frozen_string_literal: true

require_relative "fields"

module Memprof
  # Counts what the process does from the moment this object is made until it is read.
  class Counters # :nodoc:
    MEMORY = %w[malloc calloc realloc free].freeze
    WAITING = %w[connect select poll ppoll].freeze
    private_constant :MEMORY, :WAITING

    # Objects are read last, because reading the other counters makes objects.
    def initialize
      @counts_calls = Reflection.count_calls
      Reflection.follow_made
      @start = now(Process::CLOCK_REALTIME)
      @began = now(Process::CLOCK_MONOTONIC)
      @usage = Reflection.resource_usage
      @gc = collections
      @run, @calls = Reflection.counted_calls
      @objects = Reflection.made_counts
    end

    def read
      objects = difference(Reflection.made_counts, @objects)
      run, calls = Reflection.counted_calls
      calls = nil if run == 0 || run != @run
      { "start" => @start / 1000, "time" => seconds(now(Process::CLOCK_MONOTONIC) - @began),
        "objects" => created(objects), "gc" => collected, "fd" => calls && descriptors(calls),
        "memory" => calls && memory(calls), "rusage" => usage }
    end

    def close
      Reflection.forget_made
      Reflection.forget_calls if @counts_calls
    end

    private

    def now(clock) = Process.clock_gettime(clock, :nanosecond)

    def seconds(nanoseconds) = nanoseconds / 1e9

    def collections = [GC.count, GC.total_time]

    def difference(after, before)
      after.to_h { |key, value| [key, value - before.fetch(key, 0)] }
    end

    def created(objects)
      types = objects.select { |_, count| count > 0 }.transform_keys { |type| type.delete_prefix("T_").downcase }
      { "created" => types.values.sum, "types" => types }
    end

    def collected
      calls, time = collections.zip(@gc).map { |after, before| after - before }
      { "calls" => calls, "time" => seconds(time) }
    end

    def descriptors(calls)
      calls.except(*MEMORY).to_h do |name, numbers|
        count, time, bytes = since(name, numbers)
        [name, { "calls" => count, "time" => seconds(time) }.merge(WAITING.include?(name) ? {} : { "bytes" => bytes })]
      end
    end

    def memory(calls)
      calls.slice(*MEMORY).to_h do |name, numbers|
        count, _, requested, actual = since(name, numbers)
        fields = { "calls" => count, "requested_bytes" => requested, "actual_bytes" => actual }
        [name, name == "free" ? fields.except("requested_bytes") : fields]
      end
    end

    def since(name, numbers) = numbers.zip(@calls[name]).map { |after, before| after - before }

    def usage
      after = Reflection.resource_usage
      difference(after, @usage).transform_values { |value| value.round(6) }.merge(after.slice("maxrss"))
    end
  end
end
