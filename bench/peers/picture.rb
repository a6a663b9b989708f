# frozen_string_literal: true

# picture.rb - overhead against the share of objects sampled, of the first workload: an SVG.
#
# Both axes are logarithmic: the share from one object in a million to all, the overhead (instructions over off, less 1;
# CPU time of what takes too long to be counted) from 0.1 % to 10,000 %. What is below the axis stands on it.

module Picture
  module_function

  WIDTH, HEIGHT = 720, 400
  LEFT, RIGHT, TOP, BOTTOM = 70, 20, 40, 50
  SHARES = (-6..0)
  OVERHEADS = (-3..2)
  COLOURS = { "heapprof" => "#c02020", "vernier" => "#2060c0", "stackprof" => "#208040", "objspace" => "#806020",
              "allocation_tracer" => "#8040a0", "memory_profiler" => "#606060" }.freeze

  def x(share) = LEFT + (log(share, SHARES) - SHARES.min) * (WIDTH - LEFT - RIGHT) / SHARES.size.pred

  def y(overhead)
    HEIGHT - BOTTOM - (log(overhead, OVERHEADS) - OVERHEADS.min) * (HEIGHT - TOP - BOTTOM) / OVERHEADS.size.pred
  end

  def log(value, range) = (value > 0 ? Math.log10(value) : range.min).clamp(range.min, range.max)

  def text(x, y, words, **attributes)
    list = attributes.map { |name, value| %( #{name.to_s.tr('_', '-')}="#{value}") }.join
    %(<text x="#{x.round(1)}" y="#{y.round(1)}"#{list}>#{words}</text>)
  end

  def percent(exponent) = exponent >= -2 ? "#{10**(exponent + 2)} %" : "#{(10.0**(exponent + 2)).round(4)} %"

  def line(x1, y1, x2, y2)
    %(<line x1="#{x1.round(1)}" y1="#{y1.round(1)}" x2="#{x2.round(1)}" y2="#{y2.round(1)}" stroke="#ddd"/>)
  end

  def axes
    vertical = SHARES.flat_map do |exponent|
      at = x(10.0**exponent)
      [line(at, TOP, at, HEIGHT - BOTTOM), text(at, HEIGHT - BOTTOM + 16, percent(exponent), text_anchor: "middle")]
    end
    horizontal = OVERHEADS.flat_map do |exponent|
      at = y(10.0**exponent)
      [line(LEFT, at, WIDTH - RIGHT, at), text(LEFT - 6, at + 4, percent(exponent), text_anchor: "end")]
    end
    vertical + horizontal
  end

  # [name, share, overhead] of each setting.
  def points(workload)
    workload[:results].reject { |result| result[:setting] == "off" || result[:failed] }.map do |result|
      name = result[:setting].include?(",") ? result[:setting][/\A\w+/] : "heapprof"
      [name, result[:share], (result[:instructions] || result[:ratio]) - 1]
    end
  end

  def series(name, points, index)
    colour = COLOURS.fetch(name)
    places = points.map { |_, share, overhead| [x(share).round(1), y(overhead).round(1)] }.sort
    dots = places.map { |px, py| %(<circle cx="#{px}" cy="#{py}" r="4" fill="#{colour}"/>) }
    path = %(<polyline points="#{places.map { |place| place.join(',') }.join(' ')}" fill="none" stroke="#{colour}"/>)
    [path, *dots, text(LEFT + 10, TOP + 14 + index * 16, name, fill: colour)]
  end

  def svg(facts)
    workload = facts[:workloads].first
    all = points(workload).group_by(&:first).each_with_index.flat_map { |(name, list), i| series(name, list, i) }
    <<~SVG
      <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 #{WIDTH} #{HEIGHT}" font-family="sans-serif" font-size="12">
      <rect width="100%" height="100%" fill="#fff"/>
      #{text(WIDTH / 2, 20, "overhead (instructions) against the share of objects sampled: #{workload[:title]}", text_anchor: 'middle', font_size: 14)}
      #{axes.join("\n")}
      #{all.join("\n")}
      #{text(WIDTH / 2, HEIGHT - 10, 'objects sampled', text_anchor: 'middle')}
      </svg>
    SVG
  end
end
