# frozen_string_literal: true

module Memprof
  # Where a report goes: a file of that name, which only its owner may read, or stderr. A path is what File.open takes.
  module Output # :nodoc:
    # Lines, of which so many bytes are written at once: with each write another thread may run, and does so for a tenth of a
    # second.
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

    # What was in the file is gone.
    def self.open(path, &)
      path ? File.open(path, "w", OWNER_ONLY, &) : yield($stderr)
    end

    # At once, so that lines of several processes do not mix.
    def self.append(path, text)
      return $stderr.write(text) unless path
      File.open(path, File::WRONLY | File::CREAT | File::APPEND, OWNER_ONLY) { |io| io.syswrite(text) }
    end

    # Yields what takes lines.
    def self.lines(io)
      lines = Lines.new(io)
      yield lines
      lines.flush
    end

    # A file that has its name only when it is whole, and until then that with .IN_PROGRESS behind it, which must be new.
    # When the block raises there is neither.
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
