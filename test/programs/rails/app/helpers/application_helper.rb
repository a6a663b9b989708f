module ApplicationHelper
  def price(cents)
    number_to_currency(cents / 100r, unit: "€", format: "%n %u")
  end
end
