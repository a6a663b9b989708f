# hunks.rb - a patch file as its message and its hunks. For check-patch.rb and apply-patches.rb.

Hunk = Struct.new(:file, :header, :lines) do
  # [message, hunks] of a patch file, in bytes.
  def self.read(path)
    message, *diffs = File.binread(path).split(/^diff --git .*\n/)
    hunks = diffs.flat_map do |diff|
      head, *rest = diff.split(/^(?=@@ )/)
      file = head[%r{^\+\+\+ b/(.*)}, 1]
      rest.map do |text|
        header, *lines = text.lines(chomp: true)
        new(file, header, lines)
      end
    end
    [message, hunks]
  end

  def added = lines.count { |line| line.start_with?("+") }
  def removed = lines.count { |line| line.start_with?("-") }

  # The first line, from 1, in the file as it was before.
  def start = header[/\A@@ -(\d+)/, 1].to_i

  # What git shows of the function: the last line above that begins at the left margin.
  def function = header[/\A@@ .*? @@ ?(.*)/, 1]

  def before = lines_of(" ", "-")
  def after = lines_of(" ", "+")

  # Whether a trailer's `file:name` is this place.
  def hooked_by?(hook)
    hooked_file, name = hook.split(":", 2)
    hooked_file == file && name && shows?(name)
  end

  # The name stands where upstream's own lines show it: one of our own proves nothing.
  def shows?(name)
    shown = [header, *lines.select { |line| line.start_with?(" ") }]
    shown.any? { |line| line.match?(/(?<![\w$])#{Regexp.escape(name)}(?!\w)/) }
  end

  private

  def lines_of(*signs) = lines.select { |line| signs.include?(line[0]) }.map { |line| line[1..] }
end
