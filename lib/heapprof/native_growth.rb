# frozen_string_literal: true

# heapprof/native_growth - what ObjectSpace::HeapProfile.native_growth returns, and its text, which heapprof/minitest and
# heapprof/rspec print. Its first call loads this file.
#
#     profiles     after run 0   1    2    3      bytes of one C function at one Ruby stack
#     a cache              64   64   64   64      filled once
#     a leak               80  160  240  320      by_run [80, 80, 80]

require_relative "plain"

module ObjectSpace
  class HeapProfile
    # Memory that one C function asked for at one Ruby stack, and of which there was more after each run of the block.
    #
    # [bytes] how much more after all runs than after the first one, as the function asked for it
    # [by_run] the same for each run that was compared: an Array of Integer
    # [function, library] the C function, or "[nokogiri.so]" if it has no name, and the file it is in, as "nokogiri.so"
    # [owner] The class of the object that most of the memory belongs to, or "[C] nokogiri.so" if a variable of that library leads
    #         to it. +nil+ if no owner is known: it may be lost, see native_leaks.
    # [backtrace] The Ruby code that ran: an Array of Strings as of Exception#backtrace, the innermost first. It is empty if C code
    #             ran without the global VM lock.
    class NativeGrowth
      FRAMES_MOST = 20
      private_constant :FRAMES_MOST
      attr_reader :bytes, :by_run, :function, :library, :owner, :backtrace

      def self.check(times, block_given) # :nodoc:
        raise ArgumentError, "a block is needed: what could grow?" unless block_given
        return if Integer === times && times.between?(2, 100)
        raise ArgumentError, "times: #{times.inspect} is out of range (expected 2 to 100)"
      end

      # Returns what there is more of in each profile than in the one before. core is the file of Ruby's own functions.
      # all_known says whether the profiles have each block.
      def self.all_in(profiles, core, all_known) # :nodoc:
        raise "native growth cannot be told: there are too many blocks to know each" unless all_known
        sizes = profiles.map { |profile| sizes_in(profile, core) }
        grown = sizes.last.filter_map do |place, _|
          by_run = sizes.map { |size| size.fetch(place, 0) }.each_cons(2).map { |before, after| after - before }
          [place, by_run] if by_run.all?(&:positive?)
        end
        owners = grown.empty? ? {} : owners_in(profiles.last)
        grown.map { |place, by_run| new(*place, by_run, owners[place]) }.sort_by { |growth| -growth.bytes }
      end

      # Returns the bytes in use by place: the caller and the stack.
      def self.sizes_in(profile, core)
        profile.each_with_object(Hash.new(0)) do |row, sizes|
          next unless row.kind == :malloc && row.caller != "" && !row.caller.end_with?(" (#{core})")
          sizes[[row.caller, row.frames]] += row.inuse_malloc_space
        end
      end

      def self.owners_in(profile)
        sizes = Hash.new { |all, place| all[place] = Hash.new(0) }
        profile.each { |row| sizes[[row.caller, row.frames]][row.owner] += row.inuse_malloc_space if row.kind == :malloc }
        sizes.transform_values { |owners| owners.max_by(&:last).first }
      end
      private_class_method :new, :sizes_in, :owners_in

      def initialize(caller, frames, by_run, owner) # :nodoc:
        @bytes = by_run.sum
        @by_run = by_run.freeze
        @library = caller[/ \(([^()]*)\)\z/, 1] || caller[/\A\[(.*)\]\z/, 1]
        @function = caller.delete_suffix(" (#{library})").freeze
        @owner = owner
        @backtrace = frames.map { |frame| (frame.path.empty? ? frame.label : frame.to_s).freeze }.freeze
        freeze
      end

      # call-seq:
      #   to_s -> string
      #
      # Returns it in lines, with at most 20 lines of the backtrace.
      def to_s
        frames = backtrace.first(FRAMES_MOST).map { |frame| Heapprof::Plain.text(frame) }
        frames << "... #{backtrace.size - FRAMES_MOST} more" if backtrace.size > FRAMES_MOST
        held = owner ? "held by #{Heapprof::Plain.text(owner)}" : "nothing is known to hold it"
        ["grows: #{amount}; #{held}", "  #{place}", *frames.map { |frame| "      #{frame}" }].join("\n")
      end

      # call-seq:
      #   inspect -> string
      #
      # Returns a line such as "#<ObjectSpace::HeapProfile::NativeGrowth 240 bytes in 3 runs (80, 80, 80), cache_add (words.so)>".
      def inspect
        "#<#{self.class} #{amount}, #{place}>"
      end

      private

      def place = Heapprof::Plain.text("#{function} (#{library})")

      def amount = "#{bytes} bytes in #{by_run.size} runs (#{by_run.join(", ")})"
    end
  end
end

module Heapprof
  module NativeGrowth
    # Returns the text of all of them, with their sum.
    def self.describe(grown)
      bytes = grown.sum(&:bytes)
      total = "#{grown.size} place#{"s" if grown.size != 1} where native memory grows, #{bytes} bytes\n"
      total + grown.map { |growth| "\n#{growth.to_s.lines.map { |line| "  #{line}" }.join}\n" }.join
    end
  end
end
