require "csv"

class ProductsController < ApplicationController
  before_action :set_product, only: %i[show edit update destroy]

  def index
    @products = current_shop.products.matching(params[:q]).order(:sku)
    respond_to do |format|
      format.html
      format.json { render json: @products }
      format.csv { send_data csv(@products), filename: "products.csv" }
    end
  end

  def show
    return unless stale?(@product)
    respond_to do |format|
      format.html
      format.json { render json: @product }
    end
  end

  def new
    @product = current_shop.products.new
  end

  def edit
  end

  def create
    @product = current_shop.products.new(product_params)
    if @product.save
      redirect_to @product, notice: "#{@product.name} is offered"
    else
      render :new, status: :unprocessable_content
    end
  end

  def update
    if @product.update(product_params)
      redirect_to @product, status: :see_other
    else
      render :edit, status: :unprocessable_content
    end
  end

  def destroy
    if @product.destroy
      redirect_to products_path, status: :see_other
    else
      render json: { errors: @product.errors.full_messages }, status: :conflict
    end
  end

  private

  def set_product
    @product = current_shop.products.find_by!(sku: params[:sku])
  end

  def product_params
    params.expect(product: [:sku, :name, :description, :price_cents, :stock, :state, :colour])
  end

  def csv(products)
    CSV.generate do |csv|
      csv << %w[sku name price_cents stock]
      products.each { |product| csv << product.values_at(:sku, :name, :price_cents, :stock) }
    end
  end
end
