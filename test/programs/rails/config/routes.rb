Rails.application.routes.draw do
  root "products#index"
  resource :session, only: %i[new create destroy]
  resources :products, param: :sku
  resources :orders, param: :number, only: %i[index show create] do
    member { post :cancel }
  end
  resource :report, only: :show
end
