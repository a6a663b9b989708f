# frozen_string_literal: true

# labels_test.rb - what the tests share: the gems, the labels that there are, and those in a profile.

require_relative "activate"
require "open3"
require "test/unit"

module LabelsTest
  # What a test keeps alive, to find it in a profile.
  Kept = Class.new

  # The labels that the code has which calls this.
  def self.current = ObjectSpace::HeapProfile.labels

  # Notes the labels that the code has which calls this, under a name.
  def self.note(name) = (NOTED[name] = current)

  NOTED = {}

  def setup = NOTED.clear

  def teardown = assert_equal({}, LabelsTest.current, "labels are left")

  def noted = NOTED

  # The labels that a class's objects have in a profile: those which the block has made, and keeps or returns.
  def labels_in_profile(klass = Kept)
    ObjectSpace::HeapProfile.start(interval: 1)
    kept = yield
    rows = ObjectSpace::HeapProfile.snapshot.select { |sample| sample.class_name == klass.name && sample.inuse_objects > 0 }
    rows.map { |sample| sample.labels.except(:thread) }.uniq.tap { kept.itself }
  ensure
    ObjectSpace::HeapProfile.stop
  end

  # Runs a program with the gems, in a process of its own, and returns what follows "labels: " in its lines.
  def labels_printed_by(program, *arguments)
    File.write("program.rb", program)
    library = File.expand_path("../../../lib", __dir__)
    out, status = Open3.capture2e(RbConfig.ruby, "-I", library, "-r", File.join(__dir__, "activate.rb"), "program.rb", *arguments)
    assert status.success?, out
    out.scan(/labels: (.*)$/).flatten
  end
end
