# frozen_string_literal: true

# check.rb - what must hold whenever one looks. What does not is written to stderr, and the whole
# process ends at once, with its tables and its log as they are.

module Torture
  module Check
    # Ruby as released runs the same steps, so that its own faults can be told from ours.
    STUB = !defined?(ObjectSpace::HeapProfile)

    # A build that checks MRI's and our own structures after each GC.
    CHECKING = GC::OPTS.include?("RGENGC_CHECK_MODE")

    # Whether there may be Ractors: README.md, "What is kept apart".
    RACTORS = !CHECKING && ENV["RACTORS"] != "0"

    class << self
      # Does the system refuse memory? Only then may samples be dropped.
      attr_accessor :starved
    end

    module_function

    def fail!(message)
      $stderr.write("torture: #{message}\n#{caller.first(12).join("\n")}\n")
      Process.exit!(3)
    end

    def true!(condition, message)
      fail!(message) unless condition
    end

    def equal!(expected, found, message)
      fail!("#{message}: expected #{expected.inspect}, found #{found.inspect}") if expected != found
    end

    # In one look at the numbers, whatever others do. Returns them.
    def stat
      stat = HeapProfile.stat
      return off(stat) if stat[:interval_bytes] == 0
      true! Check.starved || stat[:dropped] <= may_drop(stat), "dropped samples: #{stat}"
      true! stat[:live_samples] <= stat[:total_samples] - stat[:dropped], "more alive than taken: #{stat}"
      true! stat[:memory_used] <= stat[:memory_peak], "more memory than at its peak: #{stat}"
      true! stat[:memory_peak] <= stat[:memory_budget], "more memory than allowed: #{stat}"
      true! stat[:sites] > 0 || stat[:live_samples] == 0, "samples of no site: #{stat}"
      stat
    end

    # None of objects. Of blocks those that found no place to wait for the VM lock (gc/blocks/waiting.c).
    def may_drop(stat)
      stat[:malloc_interval_bytes] == 0 ? 0 : 256 + stat[:total_samples] / 100
    end

    def off(stat)
      true! stat.values.all?(0), "not running, but #{stat}"
      stat
    end

    # A snapshot, read as far as the limit. Returns the sums of what was read.
    def profile(profile, limit = nil)
      sums = Hash.new(0)
      profile.each_with_index do |sample, index|
        break if limit && index >= limit
        row(sample)
        sums[:alloc] += sample.alloc_objects
        sums[:inuse] += sample.inuse_objects
      end
      sums
    end

    def row(row)
      true! row.inuse_objects <= row.alloc_objects, "more in use than allocated: #{row}"
      row.caller ? blocks(row) : slots(row)
      true! row.class_name.is_a?(String) && row.frames.frozen?, "not a row: #{row}"
      row.frames.each { |frame| true! frame.label && frame.path && frame.lineno >= 0, "not a frame: #{frame}" }
    end

    def slots(row)
      true! row.gc_age.nil? == (row.inuse_objects == 0), "an age without objects: #{row}"
      true! row.inuse_malloc_space + row.alloc_malloc_space == 0, "objects of the allocator: #{row}"
    end

    # Each value is rounded by itself.
    def blocks(row)
      true! row.gc_age.nil? == (row.inuse_malloc_space == 0), "an age without bytes: #{row}"
      true! row.inuse_malloc_space <= row.alloc_malloc_space + 1, "more in use than allocated: #{row}"
      true! row.alloc_objects + row.inuse_slot_space + row.alloc_slot_space == 0, "blocks in slots: #{row}"
      true! row.class_name.empty? && row.caller.is_a?(String), "not a row: #{row}"
    end

    # Objects of a class in a profile at interval 1: [allocated, in use].
    def objects(profile, class_name)
      rows = profile.select { |row| row.class_name == class_name }
      [rows.sum(&:alloc_objects), rows.sum(&:inuse_objects)]
    end
  end
end
