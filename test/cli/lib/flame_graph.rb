# frozen_string_literal: true

# flame_graph.rb - reads the picture that `heapprof convert --to svg` writes. It takes only what XML allows: a text with a
# stray "<" or "&", or an element that is not closed, is an error.

class FlameGraph
  Frame = Struct.new(:name, :place, :value, :x, :y, :width, :fill, :label)

  attr_reader :frames, :texts, :script

  def initialize(svg)
    @texts = []
    @frames = []
    body = svg.sub(/\A<\?xml version="1.0" encoding="UTF-8"\?>\n/, "").sub(/<!\[CDATA\[(.*?)\]\]>/m, "")
    @script = $1
    read(body)
  end

  # By depth and then by place: each frame's caller.
  def caller_of(frame) = frames.find { |other| other.y == frame.y - 17 && other.x <= frame.x + 0.02 && other.x + other.width >= frame.x + frame.width - 0.02 }

  # The names from the outermost frame to this one.
  def stack(frame) = (frame.y == frames[0].y ? [] : stack(caller_of(frame))) + [frame.name]

  private

  def read(body)
    open = []
    body.scan(/<(\/?)([a-z]+)((?: [a-zA-Z-]+="[^"<]*")*)(\/?)>|((?:[^<>&]|&(?:amp|lt|gt|quot);)+)|(.)/m) do |close, name, attributes, empty, text, stray|
      raise "stray #{stray.inspect}" if stray
      if text then take_text(open.last, text)
      elsif close == "/" then open.pop == name || raise("#{name} is not open")
      else
        take_element(name, attributes.scan(/([a-zA-Z-]+)="([^"]*)"/).to_h)
        open << name if empty.empty?
      end
    end
    raise "not closed: #{open}" unless open.empty?
  end

  def take_element(name, attributes)
    frames << Frame.new if name == "g"
    return if name != "rect" || frames.empty?
    frame = frames.last
    frame.x, frame.y, frame.width = attributes.values_at("x", "y", "width").map(&:to_f)
    frame.fill = attributes["fill"]
  end

  def take_text(element, text)
    text = text.gsub("&lt;", "<").gsub("&gt;", ">").gsub("&quot;", '"').gsub("&amp;", "&")
    if element == "title"
      lines = text.split("\n")
      frames.last.name, frames.last.value = lines.first, lines.last
      frames.last.place = lines[1..-2].first
    elsif element == "text" && frames.empty? then texts << text
    elsif element == "text" then frames.last.label = text
    end
  end
end
