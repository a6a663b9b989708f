# frozen_string_literal: true

# heapprof/report - what ObjectSpace::HeapProfile#report needs besides the table. Its first call loads this file.

module ObjectSpace
  class HeapProfile
    module Report # :nodoc:
      # The directories in lines; nil: the one in the profile.
      def self.directories(app)
        return if app == true
        [app].flatten.select(&:itself).map { |directory| real_path(directory) }.join("\n")
      end

      def self.real_path(path)
        path = File.expand_path(path)
        File.realpath(path).b
      rescue SystemCallError
        path.b
      end
      private_class_method :real_path

      # rungs: names and bytes.
      def self.rss(io, rungs)
        raise ArgumentError, "no rss in this profile; take it with snapshot(rss: true)" if rungs.empty?
        rss = rungs.sum { |_, bytes| bytes }
        rungs.each { |name, bytes| io.puts format("%19d %5.1f%%  %s", bytes, 100.0 * bytes / rss, name) }
        io.puts format("%19d 100.0%%  in memory (RSS)", rss), ""
      end
    end
    private_constant :Report
  end
end
