# frozen_string_literal: true

# heapprof/rspec/labels - labels each example of RSpec with its name: test: "Cart sums its lines".
#
#   # spec/spec_helper.rb
#   require "heapprof/rspec/labels"
#
# Hooks around, before and after an example have the label, too; those of a group have none. If there are more than 1000 examples,
# RUBY_HEAPPROF=labels=5000 gives them all names.

require "rspec/core"
require_relative "../labels"

RSpec.configure do |config|
  config.around { |example| Heapprof::Labels.with(test: example.metadata[:full_description]) { example.run } }
end
