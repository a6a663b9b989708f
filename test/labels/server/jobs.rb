# frozen_string_literal: true

# jobs.rb - what bin/jobs of an application does.

require_relative "application"
require "solid_queue/cli"

SolidQueue::Cli.start(ARGV)
