class Product < ApplicationRecord
  belongs_to :shop, counter_cache: true, touch: true
  has_many :line_items, dependent: :restrict_with_error

  enum :state, { offered: 0, hidden: 1 }
  store_accessor :properties, :colour

  validates :sku, format: { with: /\A[a-z]+-\d+\z/ }, uniqueness: { scope: :shop_id }
  validates :name, presence: true
  validates :price_cents, numericality: { only_integer: true, greater_than: 0 }
  validates :stock, numericality: { only_integer: true, greater_than_or_equal_to: 0 }

  scope :matching, ->(text) { where("name LIKE ?", "%#{sanitize_sql_like(text)}%") if text.present? }

  def to_param = sku

  def stock_value_cents = price_cents * stock

  def as_json(*) = { sku:, name:, description:, price_cents:, stock:, state:, colour: }
end
