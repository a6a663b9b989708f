# frozen_string_literal: true

# heapprof/native_growth - what ObjectSpace::HeapProfile.native_growth returns, and its text, which heapprof/minitest and
# heapprof/rspec print. Its first call loads this file.
#
#     profiles      after run 0   1    2    3      bytes of one C function at one Ruby stack
#     a cache               64   64   64   64      filled once
#     a leak                80  160  240  320      by_run [80, 80, 80]
#     descriptors            5    6    7    8      open files that no IO or Dir has: by_run [1, 1, 1]

require_relative "plain"

module ObjectSpace
  class HeapProfile
    # Memory that one C function asked for at one Ruby stack, and of which there was more after each run of the block; or all
    # open files that no object of Ruby has, if there were more after each run.
    #
    # [kind] +:memory+, which the function asked malloc or mmap for; +:registered_addresses+, the memory in which Ruby notes the
    #        addresses that the function gave to rb_gc_register_address; or +:file_descriptors+
    # [by_run] how much more there was after each run that was compared: an Array of Integer. These are bytes, or how many
    #          descriptors.
    # [bytes] how many bytes more after all runs than after the first one, as the function asked for them. 0 for descriptors.
    # [function, library] the C function, or "[nokogiri.so]" if it has no name, and the file it is in, as "nokogiri.so"
    # [owner] The class of the object that most of the memory belongs to, or "[C] nokogiri.so" if a variable of that library leads
    #         to it. +nil+ if no owner is known: it may be lost, see native_leaks.
    # [backtrace] The Ruby code that ran: an Array of Strings as of Exception#backtrace, the innermost first. It is empty if a
    #             thread ran that Ruby does not know.
    # [names] what new descriptors lead to: an Array of Strings such as "socket" or "/tmp/list"
    #
    # +function+, +library+, +owner+ and +backtrace+ are not known of descriptors: +nil+, or empty. +names+ is empty for the rest.
    class NativeGrowth
      FRAMES_MOST = 20
      NAMES_MOST = 5
      REGISTERED = "[VM] registered addresses"
      private_constant :FRAMES_MOST, :NAMES_MOST, :REGISTERED
      attr_reader :kind, :bytes, :by_run, :function, :library, :owner, :backtrace, :names

      def self.check(times, block_given) # :nodoc:
        raise ArgumentError, "a block is needed: what could grow?" unless block_given
        return if Integer === times && times.between?(2, 100)
        raise ArgumentError, "times: #{times.inspect} is out of range (expected 2 to 100)"
      end

      # What there is at one moment: a profile, and the open files that no object of Ruby has.
      Moment = Struct.new(:profile, :descriptors)
      private_constant :Moment

      def self.moment(profile) = Moment.new(profile, descriptors) # :nodoc:

      # Returns what there is more of at each moment than at the one before. core is the file of Ruby's own functions. all_known
      # says whether the profiles have each block.
      def self.all_in(moments, core, all_known) # :nodoc:
        raise "native growth cannot be told: there are too many blocks to know each" unless all_known
        memory_in(moments.map(&:profile), core) + descriptors_in(moments.map(&:descriptors))
      end

      def self.memory_in(profiles, core)
        sizes = profiles.map { |profile| sizes_in(profile, core) }
        grown = sizes.last.filter_map do |place, _|
          by_run = growth_of(sizes.map { |size| size.fetch(place, 0) })
          [place, by_run] if by_run.all?(&:positive?)
        end
        owners = grown.empty? ? {} : owners_in(profiles.last)
        grown.map { |place, by_run| of_memory(*place, owners[place], by_run) }.sort_by { |growth| -growth.bytes }
      end

      def self.growth_of(numbers) = numbers.each_cons(2).map { |before, after| after - before }

      # Where a row's memory was asked for: the caller and the stack; and whether a registered address is noted there.
      def self.place_of(row) = [row.caller, row.frames, row.owner == REGISTERED]

      # Returns the bytes in use by place.
      def self.sizes_in(profile, core)
        profile.each_with_object(Hash.new(0)) do |row, sizes|
          next unless row.kind == :malloc && row.caller != "" && !row.caller.end_with?(" (#{core})")
          sizes[place_of(row)] += row.inuse_malloc_space
        end
      end

      def self.owners_in(profile)
        sizes = Hash.new { |all, place| all[place] = Hash.new(0) }
        profile.each { |row| sizes[place_of(row)][row.owner] += row.inuse_malloc_space if row.kind == :malloc }
        sizes.transform_values { |owners| owners.max_by(&:last).first }
      end

      def self.of_memory(caller, frames, registered, owner, by_run)
        library = caller[/ \(([^()]*)\)\z/, 1] || caller[/\A\[(.*)\]\z/, 1]
        new(kind: registered ? :registered_addresses : :memory, bytes: by_run.sum, by_run:, library:,
            function: caller.delete_suffix(" (#{library})"), owner:,
            backtrace: frames.map { |frame| (frame.path.empty? ? frame.label : frame.to_s).freeze })
      end

      # ---- open files ----

      # Returns what each descriptor leads to that no IO and no Dir has, by its number.
      def self.descriptors
        held = [IO, Dir].flat_map { |type| numbers_of(type) }
        (Dir.children("/proc/self/fd").map(&:to_i) - held).sort.to_h { |number| [number, name_of(number)] }.compact
      end

      # Returns nil for the descriptor by which the list itself was read.
      def self.name_of(number)
        File.readlink("/proc/self/fd/#{number}").sub(/:\[\d+\]\z/, "")
      rescue Errno::ENOENT
        nil
      end

      # The descriptors of all objects of a class that are open. A subclass may have a fileno of its own.
      def self.numbers_of(type)
        fileno = type.instance_method(:fileno)
        ObjectSpace.each_object(type).filter_map do |object|
          fileno.bind_call(object)
        rescue IOError
          nil
        end
      end

      def self.descriptors_in(moments)
        by_run = growth_of(moments.map(&:size))
        return [] unless by_run.all?(&:positive?)
        names = moments.last.reject { |number, name| moments.first[number] == name }.values
        [new(kind: :file_descriptors, by_run:, names: names.uniq.map(&:freeze))]
      end
      private_class_method :new, :memory_in, :growth_of, :place_of, :sizes_in, :owners_in, :of_memory, :descriptors,
                           :name_of, :numbers_of, :descriptors_in

      def initialize(kind:, by_run:, bytes: 0, function: nil, library: nil, owner: nil, backtrace: [], names: []) # :nodoc:
        @kind = kind
        @by_run = by_run.freeze
        @bytes = bytes
        @function = function.freeze
        @library = library.freeze
        @owner = owner
        @backtrace = backtrace.freeze
        @names = names.freeze
        freeze
      end

      # call-seq:
      #   to_s -> string
      #
      # Returns it in lines, with at most 20 lines of the backtrace.
      def to_s
        frames = backtrace.first(FRAMES_MOST).map { |frame| Heapprof::Plain.text(frame) }
        frames << "... #{backtrace.size - FRAMES_MOST} more" if backtrace.size > FRAMES_MOST
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

      def place
        return Heapprof::Plain.text("#{function} (#{library})") if function
        more = names.size > NAMES_MOST ? ["and #{names.size - NAMES_MOST} more"] : []
        [*names.first(NAMES_MOST).map { |name| Heapprof::Plain.text(name) }, *more].join(", ")
      end

      def held
        case kind
        when :file_descriptors then "no IO or Dir has them"
        when :registered_addresses then "addresses that rb_gc_unregister_address was not called for"
        else owner ? "held by #{Heapprof::Plain.text(owner)}" : "nothing is known to hold it"
        end
      end

      def amount
        what = kind == :file_descriptors ? "file descriptors" : "bytes"
        "#{by_run.sum} #{what} in #{by_run.size} runs (#{by_run.join(", ")})"
      end
    end
  end
end

module Heapprof
  module NativeGrowth
    # Returns the text of all of them, with their sum.
    def self.describe(grown)
      memory = grown.reject { |growth| growth.kind == :file_descriptors }
      total = memory.empty? ? "file descriptors grow\n" : "#{memory.size} place#{"s" if memory.size != 1} where native memory grows, " \
                                                          "#{memory.sum(&:bytes)} bytes\n"
      total + grown.map { |growth| "\n#{growth.to_s.lines.map { |line| "  #{line}" }.join}\n" }.join
    end
  end
end
