# frozen_string_literal: true

# limited.rb - a process whose memory has a limit: that of a control group of its own, where the machine lets us make one, or that
# of its address space.

require "timeout"

module Limited
  # The files of one version of control groups.
  Version = Struct.new(:name, :parents, :limit, :without_swap)
  VERSIONS = [
    Version.new("second", ["/sys/fs/cgroup"], "memory.max", "memory.swap.max"),
    Version.new("first", ["/sys/fs/cgroup/memory"], "memory.limit_in_bytes", nil),
  ].freeze

  # A control group with a limit. It is empty again at the end.
  class Group
    @count = 0
    class << self
      attr_accessor :count

      # Why no group can be made here; nil if one can.
      def refusal
        return @refusal if defined?(@refusal)
        make(1 << 30).remove
        @refusal = nil
      rescue SystemCallError => error
        @refusal = "no control group of its own can be made here: #{error.message}"
      end

      def make(bytes)
        errors = VERSIONS.flat_map do |version|
          version.parents.filter_map do |parent|
            return new(version, parent, bytes)
          rescue SystemCallError => error
            error
          end
        end
        raise errors.last
      end
    end

    attr_reader :path, :limit_name

    def initialize(version, parent, bytes)
      raise Errno::ENOENT, File.join(parent, version.limit) unless File.exist?(parent)
      @limit_name = version.limit
      @path = File.join(parent, "heapprof-test-#{Process.pid}-#{Group.count += 1}")
      Dir.mkdir(@path)
      raise Errno::ENOENT, File.join(@path, version.limit) unless File.exist?(File.join(@path, version.limit))
      write(version.limit, bytes)
      write(version.without_swap, 0) if version.without_swap && File.exist?(File.join(@path, version.without_swap))
    rescue SystemCallError
      Dir.rmdir(@path) if @path && Dir.exist?(@path)
      raise
    end

    # For spawn: what is put before a command so that it runs in the group.
    def prefix = ["/bin/sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', @path]

    # Ends what is in it, and waits until it is gone.
    def remove
      Timeout.timeout(60) do
        loop do
          pids.each { |pid| Process.kill(:KILL, pid) rescue nil }
          return Dir.rmdir(@path)
        rescue Errno::EBUSY
          sleep 0.01
        end
      end
    end

    private

    def pids = File.readlines(File.join(@path, "cgroup.procs")).map(&:to_i)
    def write(name, value) = File.write(File.join(@path, name), value.to_s)
  end
end
