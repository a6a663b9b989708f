# Leak 4: a thread for each request, which waits for a Queue that nobody else has.
module Heartbeat
  def heartbeat
    beats = Queue.new
    pulse = Array.new(500) { |i| "beat #{i} of #{request.uuid}" }
    Thread.new { beats.pop && pulse.clear }
  end
end
