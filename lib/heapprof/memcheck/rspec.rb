# frozen_string_literal: true

# heapprof/memcheck/rspec - a Rake task that runs specs under heapprof memcheck. It fails if an extension has lost memory.
#
#   # Rakefile
#   require "rspec/core/rake_task"
#   require "heapprof/memcheck/rspec"
#
#   RSpec::Core::RakeTask.new(spec: :compile)
#   namespace :spec do
#     Heapprof::Memcheck::RSpec::RakeTask.new(memcheck: :compile)
#   end
#
#   $ rake spec:memcheck
#
# The task is an RSpec::Core::RakeTask with the settings of Heapprof::Memcheck::TestTask.

require "heapprof/memcheck"
require "rspec/core/rake_task"

module Heapprof
  module Memcheck
    module RSpec
      class RakeTask < ::RSpec::Core::RakeTask
        include Settings

        def initialize(*name, &)
          super(*(name.empty? ? [:memcheck] : name), &)
        end

        private

        # Returns the command that RSpec's task gives to a shell.
        def spec_command = "#{memcheck} #{super}"
      end
    end
  end
end
