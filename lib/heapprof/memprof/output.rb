# frozen_string_literal: true

module Memprof
  # Where a report goes: stderr, or a file, which only its owner may read. A path is anything that File.open takes.
  module Output # :nodoc:
    # Lines, which are collected until they have this many bytes and are then written at once. At each write another thread
    # may run, and it runs for a tenth of a second.
    class Lines
      PIECE = 1 << 20

      def initialize(io)
        @io = io
        @text = +""
      end

      def <<(line)
        @text << line << "\n"
        flush if @text.bytesize > PIECE
      end

      def flush
        @io.write(@text)
        @text.clear
      end
    end

    OWNER_ONLY = 0o600
    NEW = File::WRONLY | File::CREAT | File::EXCL

    # Replaces what was in the file.
    def self.open(path, &)
      path ? File.open(path, "w", OWNER_ONLY, &) : yield($stderr)
    end

    # Appends in one write, so that lines of several processes do not mix. In a directory that other users may write to, such as
    # /tmp, a link is not followed (Errno::ELOOP), and the file has to be this user's (Errno::EPERM).
    def self.append(path, text)
      return $stderr.write(text) unless path
      shared = File.world_writable?(File.dirname(path))
      flags = File::WRONLY | File::CREAT | File::APPEND | (shared ? File::NOFOLLOW | File::NONBLOCK : 0)
      File.open(path, flags, OWNER_ONLY) do |io|
        raise Errno::EPERM, File.path(path) if shared && !(io.stat.file? && io.stat.owned?)
        io.syswrite(text)
      end
    end

    # Yields an object that takes lines.
    def self.lines(io)
      lines = Lines.new(io)
      yield lines
      lines.flush
    end

    # Writes a file whose name ends with .IN_PROGRESS until it is complete. No file of that longer name may exist. If the block
    # raises, no file is left.
    def self.whole(path)
      return yield($stderr) unless path
      path = File.path(path)
      part = "#{path}.IN_PROGRESS"
      File.open(part, NEW, OWNER_ONLY) do |io|
        yield io
        io.close
        File.rename(part, path)
      rescue Exception
        File.unlink(part)
        raise
      end
    end
  end
end
