# In a thread of the job pool: renders the order as it was placed.
class ReceiptJob < ApplicationJob
  def perform(order)
    body = ApplicationController.render(template: "receipts/show", formats: [:text], layout: false, assigns: { order: })
    Receipt.create!(order:, body:)
  end
end
