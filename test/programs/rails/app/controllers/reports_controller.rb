class ReportsController < ApplicationController
  def show
    respond_to do |format|
      format.html
      format.json { render json: current_shop.report }
    end
  end
end
