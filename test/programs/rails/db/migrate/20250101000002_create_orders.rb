class CreateOrders < ActiveRecord::Migration[8.1]
  def change
    create_table :orders do |t|
      t.references :shop, null: false, foreign_key: true
      t.integer :number, null: false
      t.string :customer, null: false
      t.integer :state, null: false, default: 0
      t.integer :total_cents, null: false, default: 0
      t.timestamps
      t.index %i[shop_id number], unique: true
    end

    create_table :line_items do |t|
      t.references :order, null: false, foreign_key: true
      t.references :product, null: false, foreign_key: true
      t.integer :quantity, null: false
      t.integer :price_cents, null: false
    end

    create_table :receipts do |t|
      t.references :order, null: false, foreign_key: true, index: { unique: true }
      t.text :body, null: false
      t.timestamps
    end
  end
end
