# frozen_string_literal: true

# heapprof/memcheck/test_task - Heapprof::Memcheck::TestTask, which heapprof/memcheck describes.

require "rake/testtask"

module Heapprof
  module Memcheck
    class TestTask < ::Rake::TestTask
      include Settings

      def initialize(name = :memcheck) = super

      private

      # What Rake::TestTask runs its tests by: FileUtils' method, but for the command in front of ruby.
      def ruby(arguments, **options, &)
        sh("#{memcheck} #{FileUtils::RUBY} #{arguments}", **options, &)
      end
    end
  end
end
