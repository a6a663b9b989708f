class OrdersController < ApplicationController
  before_action :set_order, only: %i[show cancel]

  rescue_from Order::OutOfStock do |error|
    render json: { errors: { base: [error.message] } }, status: :conflict
  end

  def index
    @orders = current_shop.orders.includes(line_items: :product).order(number: :desc).limit(20)
  end

  def show
    respond_to do |format|
      format.html
      format.json { render json: @order }
      format.text { render plain: @order.receipt&.body.to_s }
    end
  end

  def create
    order = Order.place(current_shop, customer: params.expect(:customer), quantities: quantities)
    render json: { number: order.number, total_cents: order.total_cents }, status: :created, location: order
  end

  def cancel
    @order.cancel unless @order.cancelled?
    render json: { number: @order.number, state: @order.state }
  end

  private

  def set_order
    @order = current_shop.orders.find_by!(number: params[:number])
  end

  def quantities
    params.require(:quantities).to_unsafe_h.transform_values { |quantity| Integer(quantity) }
  end
end
