# frozen_string_literal: true

# heapprof/native_leaks - the leaks that ObjectSpace::HeapProfile.native_leaks returns, and their text, which heapprof/minitest and
# heapprof/rspec print. Its first call loads this file.

require_relative "plain"

module ObjectSpace
  class HeapProfile
    # A leak that native_leaks found: lost blocks that one C function asked for, at one Ruby stack.
    #
    # [blocks, bytes] the number of blocks that nothing leads to, and their size as the allocator rounds it
    # [indirect_blocks, indirect_bytes] the same of the blocks that only these lead to
    # [function, library] the C function, or "[nokogiri.so]" if it has no name, and the file it is in, as "nokogiri.so"
    # [backtrace] The Ruby code that ran: an Array of Strings as of Exception#backtrace, the innermost first. It is empty if a thread
    #             ran that Ruby does not know.
    class NativeLeak
      FRAMES_MOST = 20
      private_constant :FRAMES_MOST
      attr_reader :blocks, :bytes, :indirect_blocks, :indirect_bytes, :function, :library, :backtrace

      # Returns the leaks in a child's list (profiler/leaks/list.h). Raises RuntimeError if the list is not complete.
      def self.all_in(list, status) # :nodoc:
        fields = list.split("\0").each { |field| field.force_encoding(Encoding::UTF_8) }
        raise "native leaks cannot be told: #{failure(status)}" unless fields.pop == "end"
        sums = Hash.new { |all, place| all[place] = [0, 0, 0, 0] }
        add_leak(sums, fields) until fields.empty?
        sums.map { |place, sum| new(*place, *sum) }.sort_by { |leak| -leak.bytes - leak.indirect_bytes }
      end

      # The list has leaks of one place apart if other C functions led to them.
      def self.add_leak(sums, fields)
        amounts = fields.shift(4).map(&:to_i)
        name, library = fields.shift(2)
        sum = sums[[name, library, fields.shift(fields.shift.to_i)]]
        amounts.each_with_index { |amount, i| sum[i] += amount }
      end

      # A child whose list was not read is killed. If the program has waited for the child itself, there is no status.
      def self.end_child(child, list) # :nodoc:
        Process.kill(:KILL, child) unless list
        Process::Status.wait(child)
      rescue Errno::ESRCH, Errno::ECHILD
        nil
      end

      def self.failure(status)
        return "there are too many blocks to know each, or memory cannot be read" unless status && !status.success?
        status.termsig == Signal.list["ALRM"] ? "it takes longer than two minutes" : "the child that was to find out has failed (#{status})"
      end
      private_class_method :new, :add_leak, :failure

      def initialize(name, library, backtrace, *amounts) # :nodoc:
        @blocks, @bytes, @indirect_blocks, @indirect_bytes = amounts
        @library = library
        @function = name.delete_suffix(" (#{library})")
        @backtrace = backtrace
        freeze
      end

      # call-seq:
      #   to_s -> string
      #
      # Returns the leak as heapprof memcheck prints it, in lines, with at most 20 lines of the backtrace.
      def to_s
        more = ", which alone lead to #{amount(indirect_bytes, indirect_blocks)}" if indirect_blocks > 0
        frames = backtrace.first(FRAMES_MOST)
        frames << "... #{backtrace.size - FRAMES_MOST} more" if backtrace.size > FRAMES_MOST
        ["definitely lost: #{amount(bytes, blocks)}#{more}", "  #{place}", *frames.map { |frame| "      #{Heapprof::Plain.text(frame)}" }].join("\n")
      end

      # call-seq:
      #   inspect -> string
      #
      # Returns a line such as "#<ObjectSpace::HeapProfile::NativeLeak 88 bytes in 1 block, words_initialize (wordcount.so)>".
      def inspect
        "#<#{self.class} #{amount(bytes, blocks)}, #{place}>"
      end

      private

      def place = Heapprof::Plain.text("#{function} (#{library})")

      def amount(bytes, blocks)
        "#{bytes} byte#{"s" if bytes != 1} in #{blocks} block#{"s" if blocks != 1}"
      end
    end
  end
end

module Heapprof
  module NativeLeaks
    # Returns the leaks as heapprof memcheck prints them.
    def self.describe(leaks)
      blocks = leaks.sum { |leak| leak.blocks + leak.indirect_blocks }
      bytes = leaks.sum { |leak| leak.bytes + leak.indirect_bytes }
      total = "#{leaks.size} leak#{"s" if leaks.size != 1}, #{bytes} bytes in #{blocks} block#{"s" if blocks != 1}\n"
      total + leaks.map { |leak| "\n#{leak.to_s.lines.map { |line| "  #{line}" }.join}\n" }.join
    end
  end
end
