# frozen_string_literal: true

# frames_outside.rb - Here for test/ruby/lib/frames_fixture.rb: the stacks are those that `heapprof stacks` reads
# while this process waits for it.

require "json"

module Here
  MARKS = []

  def self.mark
    MARKS << [caller_locations(1), stack(Thread.current.native_thread_id)]
    MARKS.size - 1
  end

  def self.stack(native_id)
    json = IO.popen([ENV.fetch("HEAPPROF_PROGRAM"), "stacks", "--json", Process.pid.to_s], external_encoding: "UTF-8", &:read)
    thread = JSON.parse(json).first["threads"].find { |each| each["native_id"] == native_id }
    frames = thread["frames"].map { |frame| [frame["path"], frame["line"] || 0, frame["label"]] }
    frames.drop_while { |frame| frame.last != "Here.mark" }.drop(1)
  end

  def self.compare
    MARKS.each_with_index do |(locations, got), number|
      expected = Backtrace.frames(locations)
      puts "Mark#{number}:", "  expected #{expected}", "  got      #{got}" if got != expected
    end
    puts "#{MARKS.size} stacks compared"
  end
end
