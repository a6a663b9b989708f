# frozen_string_literal: true

# Profiling: the Ruby class, called by several threads at once, and left in every way.

module Torture
  class Profiling < Actor
    def self.in_ractor? = true

    # To the profiler's to_int, calls it again.
    Settling = Struct.new(:value, :random) do
      def to_int
        Poke.some(random)
        value
      end
    end

    # An IO that does other things.
    Writer = Struct.new(:action) do
      def write(bytes)
        action.call
        bytes.bytesize
      end
    end

    def started
      Poke.tolerant { HeapProfile.start(**Settings.start(@random)) }
      rand(0..300).times { keep(mark) }
    end

    def stopped
      HeapProfile.stop
      rand(0..100).times { mark }
    end

    def restarted
      HeapProfile.stop
      started
    end

    def settled
      interval = Settling.new(sample(Settings::INTERVALS), @random)
      Poke.tolerant { HeapProfile.start(interval: interval, memory: Settling.new(1 << 22, @random)) }
    end

    def refused
      [{ interval: 0 }, { depth: 0 }, { memory: 1 }, { interval: 1 << 41 }, { depth: 1 << 33 },
       { malloc_interval: -1 }, { malloc_interval: 1 << 41 }].each do |wrong|
        HeapProfile.start(**wrong)
        Check.true! Check::STUB, "#{wrong} was accepted"
      rescue ArgumentError
        next
      end
    end

    def taken
      snapshot { |profile| Check.profile(profile, 500) }
    end

    def read
      snapshot { |profile| Check.profile(profile) }
    end

    # Snapshots outlive the run they were taken in.
    def put_aside
      snapshot { |profile| keep(profile) }
      HeapProfile.stop
      @kept.grep(HeapProfile).first(3).each { |profile| Check.profile(profile, 50) }
    end

    def left
      snapshot do |profile|
        profile.each { break }
        catch(:out) { profile.each { throw :out } }
        profile.each { raise Planned } rescue Planned
        profile.each { HeapProfile.stop }
        profile.each.next
      rescue StopIteration
        next
      end
    end

    def written
      snapshot do |profile|
        path = File.join(@world.folder, "#{Process.pid}-#{@name}.gz")
        written = profile.write(path)
        Check.equal! written, File.size(path), "bytes written"
        Check.true! File.binread(path, 2) == "\x1f\x8b".b, "not a gzip'd file"
        File.unlink(path)
      end
    end

    def written_to_io
      snapshot do |profile|
        profile.write(Writer.new(-> { Poke.some(@random) }))
        profile.write(Writer.new(-> { HeapProfile.stop }))
        begin
          profile.write(Writer.new(-> { raise Planned }))
        rescue Planned
          catch(:out) { profile.write(Writer.new(-> { throw :out })) }
        end
      end
    end

    def written_nowhere
      snapshot do |profile|
        profile.write(File.join(@world.folder, "no", "such", "folder"))
        Check.true! false, "written nowhere"
      rescue Errno::ENOENT
        next
      end
    end

    def profiled = profile { rand(1..500).times { |i| keep(mark(i)) } }

    def raised
      profile { raise Planned }
    rescue Planned
      mark
    end

    def thrown = catch(:out) { profile { throw :out } }

    def broken = [1].each { profile { break } }

    def returned = lambda { profile { return 1 } }.call

    def nested
      profile { profile { mark } }
    end

    def stacks
      [mark, "", @kept.sample(random: @random), 1, nil, Object, self].each { |object| Poke.stack(object) }
    rescue TypeError, ArgumentError
      nil # of what is not an object of the heap
    end

    private

    # Yields a snapshot if one can be had.
    def snapshot
      what = { gc: one_in(4), owners: one_in(3), rss: one_in(4) }
      profile = Poke.tolerant { HeapProfile.snapshot(**what) }
      yield profile if profile
    end

    def profile(&block)
      Poke.tolerant { HeapProfile.profile(gc: one_in(2), **Settings.start(@random), &block) }
    end
  end
end
