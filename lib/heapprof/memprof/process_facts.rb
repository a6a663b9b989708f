# frozen_string_literal: true

module Memprof
  # Facts that the system tells about this process.
  module ProcessFacts # :nodoc:
    STATUS = { "rss" => "VmRSS", "vsize" => "VmSize" }.freeze

    # In bytes.
    def self.memory
      status = File.read("/proc/self/status")
      { "pid" => Process.pid }.merge(STATUS.transform_values { |key| Integer(status[/^#{key}:\s+(\d+) kB/, 1]) * 1024 })
    end

    # Returns the open descriptors, and what each stands for: a path, "socket:[123]", "pipe:[456]".
    def self.open_files
      Dir.children("/proc/self/fd").map { |fd| Integer(fd) }.sort.filter_map do |fd|
        { "fd" => fd, "path" => Reflection.text(File.readlink("/proc/self/fd/#{fd}")) }
      rescue Errno::ENOENT # the descriptor of the directory itself, which has been closed
        nil
      end
    end
  end
end
