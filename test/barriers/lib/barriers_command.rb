# frozen_string_literal: true

# barriers_command.rb - what the tests of `heapprof barriers` share: running it, and where MRI's sources and headers are.

require "test/unit"
require "etc"
require "fileutils"
require "json"
require "open3"
require "rbconfig"
require "tmpdir"

module BarriersCommand
  TOP = File.expand_path("../../..", __dir__)
  HEAPPROF = ENV["HEAPPROF_PROGRAM"] || "#{TOP}/build/bin/heapprof"
  MRI = Dir["#{TOP}/build/src/ruby-*"].first
  BUILD = "#{TOP}/build/ruby"
  HEADERS = "-I#{BUILD}/.ext/include/#{RbConfig::CONFIG["arch"]} -I#{MRI}/include"
  RULES = "#{__dir__}/../rules"
  PAIR = %(#include "#{RULES}/pair.h"\n) # begins a source: a type with two fields, and what gets it

  # A line of the report.
  Told = Struct.new(:file, :line, :sure, :fields, :parent, :type, :why)
  LINE = /\A(.*?):(\d+):\d+: (error|warning|note): no write barrier (?:needed )?for (.*?)(?: of '(\w+)')? \((\w+)(?:, which is not WB_PROTECTED)?\): (.*)$/

  Result = Struct.new(:out, :err, :status) do
    def told
      @told ||= out.lines.filter_map do |line|
        next unless (match = LINE.match(line))
        file, number, sure, fields, parent, type, why = match.captures
        Told.new(File.basename(file), number.to_i, sure, fields.scan(/'(.*?)'/).flatten.sort, parent, type, why)
      end
    end
  end

  def barriers(*arguments, env: {})
    out, err, status = Open3.capture3(env, HEAPPROF, "barriers", *arguments, rlimit_cpu: 120)
    Result.new(out, err, status.exitstatus || status.to_s)
  end

  def in_directory
    Dir.mktmpdir { |directory| yield directory }
  end

  # Yields the path of a file with that text.
  def in_source(text)
    in_directory do |directory|
      File.binwrite("#{directory}/it.c", text)
      yield "#{directory}/it.c"
    end
  end

  # Each block runs a program, so there are as many threads as processors.
  def each_at_once(items)
    queue = items.each_with_object(Queue.new) { |item, waiting| waiting << item }.close
    Array.new(Etc.nprocessors) { Thread.new { while (item = queue.pop) do yield item end } }.each(&:join)
  end
end
