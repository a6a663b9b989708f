# frozen_string_literal: true

module Memprof
  # What the system says of this process.
  module ProcessFacts # :nodoc:
    STATUS = { "rss" => "VmRSS", "vsize" => "VmSize" }.freeze

    # Bytes.
    def self.memory
      status = File.read("/proc/self/status")
      { "pid" => Process.pid }.merge(STATUS.transform_values { |key| Integer(status[/^#{key}:\s+(\d+) kB/, 1]) * 1024 })
    end

    # Descriptors, and what they are of: a path, "socket:[123]", "pipe:[456]".
    def self.open_files
      Dir.children("/proc/self/fd").map { |fd| Integer(fd) }.sort.filter_map do |fd|
        { "fd" => fd, "path" => Reflection.text(File.readlink("/proc/self/fd/#{fd}")) }
      rescue Errno::ENOENT # the directory's own, which is closed by now
        nil
      end
    end
  end
end
