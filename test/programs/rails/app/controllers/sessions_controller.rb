class SessionsController < ApplicationController
  skip_before_action :require_shop

  def new
  end

  def create
    shop = Shop.create_or_find_by!(name: params.expect(:name))
    reset_session
    session[:shop_id] = shop.id
    redirect_to root_path, notice: "Welcome, #{shop.name}"
  end

  def destroy
    reset_session
    redirect_to new_session_path, status: :see_other
  end
end
