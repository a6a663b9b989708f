# frozen_string_literal: true

# heapprof/rake - labels what each task of Rake does with its name: task: "assets:precompile".
#
#   # Rakefile
#   require "heapprof/rake"
#
# A task that another one needs has its own name.

require "rake"
require_relative "labels"

module Heapprof
  module Rake
    def execute(*) = Labels.with(task: name) { super }
  end
end

Rake::Task.prepend Heapprof::Rake
