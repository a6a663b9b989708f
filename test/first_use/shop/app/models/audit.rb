# Leak 1: who has asked for what, in a constant.
module Audit
  ENTRIES = []

  def self.note(request)
    ENTRIES << Array.new(100) { |i| "#{i}: #{request.fullpath} at #{Time.current} #{'-' * 500}" }
  end
end
