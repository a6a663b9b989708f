class Order < ApplicationRecord
  class OutOfStock < StandardError; end

  belongs_to :shop, touch: true
  has_many :line_items, dependent: :destroy
  has_many :products, through: :line_items
  has_one :receipt, dependent: :destroy

  enum :state, { placed: 0, cancelled: 1 }
  validates :customer, presence: true

  after_create_commit { ReceiptJob.perform_later(self) }

  # All of it or nothing. Quantities: SKU => number.
  def self.place(shop, customer:, quantities:)
    transaction do
      shop.lock!
      shop.increment!(:last_order_number)
      order = shop.orders.create!(customer:, number: shop.last_order_number)
      quantities.sort.each { |sku, quantity| order.add(shop.products.offered.find_by!(sku:), quantity) }
      order.update!(total_cents: order.line_items.sum { |line| line.quantity * line.price_cents })
      order
    end
  end

  def add(product, quantity)
    raise OutOfStock, "#{product.sku}: #{product.stock} left" if quantity > product.stock
    product.decrement!(:stock, quantity, touch: true)
    line_items.create!(product:, quantity:, price_cents: product.price_cents)
  end

  def cancel
    transaction do
      line_items.includes(:product).each { |line| line.product.increment!(:stock, line.quantity, touch: true) }
      cancelled!
    end
  end

  def to_param = number.to_s

  def as_json(*)
    lines = line_items.includes(:product).map { |line| [line.product.sku, line.quantity] }.sort
    { number:, customer:, state:, total_cents:, lines:, receipt: receipt.present? }
  end
end
