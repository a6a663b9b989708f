# frozen_string_literal: true

# liquid.rb - a shop's page from a Liquid template, parsed and rendered: ruby liquid.rb [PAGES]

require "liquid"
require_relative "measure"

TEMPLATE = <<~'LIQUID'
  <h1>{{ shop.name | upcase }}</h1>
  {% for product in products %}
    <section class="{% cycle 'odd', 'even' %}">
      <h2>{{ product.title | escape }}</h2>
      {% if product.price > 500 %}<b>{{ product.price | times: 0.9 | round: 2 }}</b>{% else %}{{ product.price }}{% endif %}
      {% for tag in product.tags %}<i>{{ tag | capitalize | append: "," }}</i>{% endfor %}
    </section>
  {% endfor %}
LIQUID

ASSIGNS = {
  "shop" => { "name" => "a shop" },
  "products" => Array.new(50) do |i|
    { "title" => "product <#{i}>", "price" => i * 20, "tags" => %w[red green blue] }
  end
}.freeze

pages = Integer(ARGV.fetch(0, 300))
def work = Liquid::Template.parse(TEMPLATE).render!(ASSIGNS)
measure { pages.times { work } }
