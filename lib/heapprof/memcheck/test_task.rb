# frozen_string_literal: true

# heapprof/memcheck/test_task - Heapprof::Memcheck::TestTask, which heapprof/memcheck describes.

require "rake/testtask"

module Heapprof
  module Memcheck
    class TestTask < ::Rake::TestTask
      include Settings

      def initialize(name = :memcheck) = super

      private

      # Rake::TestTask runs its tests with this method. It does what FileUtils' method does, with the command before ruby.
      def ruby(arguments, **options, &)
        sh("#{memcheck} #{FileUtils::RUBY} #{arguments}", **options, &)
      end
    end
  end
end
