# frozen_string_literal: true
#
# test_agreement.rb - heapprof and go tool pprof say the same of the same files: totals, and of each function
# what it allocated and what was allocated from there; of merges and differences, too. pprof knows functions by their
# names. Of functions of one name in several files only what they allocated can be added up. heapprof charges no function
# for the VM's own tables: of pprof's, their samples are left out.
#
# The files are Go's own profiles of every kind, and ours of programs of several kinds; and what check-ruby has
# kept, if it has run. Needs go, and fails without.

require_relative "lib/heapprof_command"

class TestHeapprofAgreement < Test::Unit::TestCase
  include HeapprofCommand

  GO = File.expand_path("go/profiles.go", __dir__)
  UNITS = { "bytes" => "B", "nanoseconds" => "ns" }
  KEPT = 40 # of what check-ruby has kept

  PROGRAMS = {
    "strings" => "KEPT = Array.new(20_000) { |i| \"text \#{i}\" * 4 }",
    "hashes" => "KEPT = Array.new(500) { |i| Array.new(30) { |j| [j, i.to_s] }.to_h }",
    "deep" => "def deep(n) = n.zero? ? Array.new(100) { Object.new } : [deep(n - 1)]\nKEPT = Array.new(20) { deep(60) }",
    "classes" => "KEPT = Array.new(200) { |i| Class.new { define_method(:\"m\#{i}\") { i } } }",
    "dead" => "100_000.times { |i| i.to_s * 3 }",
    "nothing" => ""
  }
  SETTINGS = %w[interval=1 interval=4096 interval=64k,rss=0 interval=512,owners=0 interval=512,malloc_interval=0]

  def test_of_go_s_own_profiles
    in_directory do
      make_go_profiles
      files = Dir["go-*.pb.gz"].sort
      assert_equal 8, files.size
      files.each { |file| assert_same_figures(file) }
      assert_same_merge("go-heap.pb.gz", "go-heap-2.pb.gz")
      assert_same_difference("go-heap.pb.gz", "go-heap-2.pb.gz")
    end
  end

  def test_of_our_own
    in_directory do
      make_our_profiles
      files = Dir["*.pb.gz"].sort
      assert_equal PROGRAMS.size * SETTINGS.size, files.size
      files.each { |file| assert_same_figures(file) }
      files.sort_by { |file| heapprof!("info", "--json", file).json["time_ns"] }.each_slice(2) do |one, two|
        assert_same_merge(one, two)
        assert_same_difference(one, two)
      end
    end
  end

  def test_of_what_check_ruby_has_kept
    kept = Dir[File.join(TOP, "build/kept/*.pb.gz")].sort
    kept.each_slice([kept.size / KEPT, 1].max) { |files| assert_same_figures(files.first) }
  end

  private

  def make_go_profiles
    out, status = Open3.capture2e("go", "run", GO, Dir.pwd)
    assert status.success?, out
  end

  def make_our_profiles
    PROGRAMS.each do |name, program|
      File.write("#{name}.rb", program)
      SETTINGS.each_with_index do |settings, i|
        env = { "RUBY_HEAPPROF" => "#{settings},seed=#{i},out=#{name}-#{i}.pb.gz" }
        _, err, status = EnvUtil.invoke_ruby([env, "--disable-gems", "#{name}.rb"], "", true, true)
        assert_equal ["", true], [err, status.success?]
      end
    end
  end

  def assert_same_figures(file)
    types(file).each do |type, unit|
      assert_same go_figures(type, unit, file), our_figures("top", type, file), "#{file} #{type}"
      assert_equal go_total(type, unit, file), heapprof!("top", "--json", "--by", type, file).json["total"]["value"]
    end
  end

  def assert_same_merge(one, two)
    heapprof!("merge", one, two, "-o", "sum")
    types(one).each do |type, unit|
      assert_same go_figures(type, unit, one, two), our_figures("top", type, "sum"), "#{one} + #{two} #{type}"
    end
  ensure
    FileUtils.rm_f("sum")
  end

  def assert_same_difference(one, two)
    types(one).each do |type, unit|
      expected = go_figures(type, unit, "-diff_base=#{one}", two)
      assert_same expected, our_figures("diff", type, one, two), "#{two} - #{one} #{type}"
    end
  end

  # ours may have several figures of a name.
  def assert_same(gos, ours, message)
    tables = ours.keys.grep(/\A\[VM\]/) - gos.keys # those that are rungs of RSS are functions in the file
    sums = ours.except(*tables).to_h do |name, all|
      [name, all.size == 1 ? all.first : [all.sum(&:first), gos.fetch(name, [0, 0]).last]]
    end
    none = ->(_, figures) { figures == [0, 0] }
    assert_equal gos.reject(&none), sums.reject(&none), message
  end

  def types(file)
    heapprof!("info", "--json", file).json["values"].map { |value| value.values_at("type", "unit") }
  end

  def go_figures(type, unit, *files)
    rows = go(type, unit, *files)[/^ *flat .*cum%\n(.*)/m, 1].to_s.lines
    rows.to_h do |row|
      flat, _, _, cum, _, name = row.strip.split(/\s+/, 6)
      [name.strip.sub(/ \(inline\)\z/, ""), [flat.to_i, cum.to_i]]
    end
  end

  # In bytes or nanoseconds the total is exact.
  def go_total(type, unit, file)
    go(type, unit, file)[/ of (-?\d+)\D*total$/, 1].to_i
  end

  def go(type, unit, *files)
    (@go ||= {})[[type, files.map { |file| File.mtime(file.sub("-diff_base=", "")).to_r }, files]] ||= begin
      command = ["go", "tool", "pprof", "-top", "-functions", "-tagignore=owner=^\\[VM\\]", "-sample_index=#{type}", "-trim=false",
                 "-nodecount=1000000", "-nodefraction=0", "-edgefraction=0", "-unit=#{UNITS.fetch(unit, "count")}"]
      out, err, status = Open3.capture3({ "HOME" => Dir.pwd, "PPROF_BINARY_PATH" => "/nowhere" }, *command, *files)
      assert status.success?, err
      out
    end
  end

  # Go does not show samples without a stack.
  def our_figures(command, type, *files)
    rows = heapprof!(command, "--json", "-n0", "--group=function", "--by", type, *files).json["rows"]
    rows.reject { |row| row["what"] == "(none)" }.group_by { |row| row["what"][/.*?(?=  |\z)/] }
        .transform_values { |all| all.map { |row| [row["value"] || row["growth"], row["cumulative"]] } }
  end
end
