# frozen_string_literal: true

# frames_inside.rb - Here for frames_fixture.rb: the stacks are those of the profiler's samples.

module Here
  MARKS = []

  def self.mark
    number = MARKS.size
    klass = Object.const_set("Mark#{number}", Class.new)
    MARKS << [caller_locations(1), klass.new]
    number
  end

  def self.found(profile)
    profile.select { |sample| sample.class_name.start_with?("Mark") && sample.inuse_objects > 0 }
           .to_h do |sample|
      frames = sample.frames.map { |frame| [frame.path, frame.lineno, frame.label] }
      [sample.class_name, frames.drop_while { |frame| frame.last != "Here.mark" }.drop(1)]
    end
  end

  def self.compare
    found = found(ObjectSpace::HeapProfile.snapshot)
    MARKS.each_with_index do |(locations, _), number|
      expected, got = Backtrace.frames(locations), found["Mark#{number}"]
      puts "Mark#{number}:", "  expected #{expected}", "  got      #{got}" if got != expected
    end
    puts "#{MARKS.size} stacks compared"
  end
end

ObjectSpace::HeapProfile.start(interval: 1, depth: 1000)
