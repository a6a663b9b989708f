# Leak 5: a subscriber for each request, whose block keeps the controller.
module Timing
  def time_queries
    rows = Array.new(300) { |i| "row #{i} of #{request.uuid}" }
    ActiveSupport::Notifications.subscribe("none.shop") { rows.clear }
  end
end
