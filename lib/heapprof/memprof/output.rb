# frozen_string_literal: true

module Memprof
  # Where a report goes: a file of that name, which only its owner may read, or stderr.
  module Output # :nodoc:
    OWNER_ONLY = 0o600

    # What was in the file is gone. A path is what File.open takes.
    def self.open(path, &)
      path ? File.open(path, "w", OWNER_ONLY, &) : yield($stderr)
    end
  end
end
