class Shop < ApplicationRecord
  BEST_FIRST = Arel.sql("SUM(line_items.quantity) DESC, products.sku")

  has_many :products, dependent: :destroy
  has_many :orders, dependent: :destroy

  normalizes :name, with: ->(name) { name.squish }
  validates :name, presence: true, length: { in: 3..40 }

  # Sums by SQL, and the same by objects.
  def report
    lines = LineItem.joins(:order).where(orders: { shop_id: id }).merge(Order.placed)
    {
      orders: orders.group(:state).count.sort.to_h,
      revenue_cents: lines.sum("line_items.quantity * line_items.price_cents"),
      bestsellers: lines.joins(:product).group("products.sku").order(BEST_FIRST).limit(5).sum(:quantity),
      stock_value_cents: products.in_batches(of: 20).sum { |batch| batch.sum(&:stock_value_cents) }
    }
  end
end
