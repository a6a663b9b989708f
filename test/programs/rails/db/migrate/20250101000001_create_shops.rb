class CreateShops < ActiveRecord::Migration[8.1]
  def change
    create_table :shops do |t|
      t.string :name, null: false, index: { unique: true }
      t.integer :products_count, null: false, default: 0
      t.integer :last_order_number, null: false, default: 0
      t.timestamps
    end

    create_table :products do |t|
      t.references :shop, null: false, foreign_key: true
      t.string :sku, null: false
      t.string :name, null: false
      t.text :description
      t.integer :price_cents, null: false
      t.integer :stock, null: false, default: 0
      t.integer :state, null: false, default: 0
      t.json :properties
      t.timestamps
      t.index %i[shop_id sku], unique: true
    end
  end
end
