class ApplicationController < ActionController::Base
  before_action :require_shop
  helper_method :current_shop

  rescue_from ActiveRecord::RecordInvalid do |error|
    render json: { errors: error.record.errors.to_hash(true) }, status: :unprocessable_content
  end

  private

  def current_shop
    @current_shop ||= Shop.find_by(id: session[:shop_id])
  end

  def require_shop
    redirect_to new_session_path, alert: "Which shop?" unless current_shop
  end
end
