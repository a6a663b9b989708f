class Receipt < ApplicationRecord
  belongs_to :order
end
