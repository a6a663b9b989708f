class ProductsController < ActionController::Base
  before_action :measure

  def index
    render html: Product.search(params[:q].to_s).join.html_safe
  end

  def show
    ActiveSupport::Notifications.instrument("price.shop") { @price = product.price }
    render plain: "#{product.name}: #{@price}, looked up in #{@took} ms"
  end

  def picture
    send_data Thumbnail.of(product.picture), type: "application/octet-stream"
  end

  private

  def product = Product.all.fetch(params[:id].to_i)

  # How long it took to find the price stands on the page.
  def measure
    ActiveSupport::Notifications.subscribe("price.shop") { |event| @took = event.duration.round(3) }
  end
end
