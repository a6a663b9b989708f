# frozen_string_literal: true

# vt100.rb - what a terminal shows. It knows what ncurses sends to a VT100, and raises at anything else.

class Vt100
  def initialize(rows, columns)
    @rows, @columns = rows, columns
    @row = @column = @top = 0
    @bottom = rows - 1
    @rest = "".b
    clear(0, 0)
  end

  def lines = @cells.map { |cells| cells.join.rstrip }

  def write(bytes)
    @rest << bytes
    until @rest.empty?
      token = @rest[/\A(\e\[\??[\d;]*[a-zA-Z]|\e[()][A-Z0-9]|\e[=>78DM]|[^\e])/n]
      break unless token
      @rest = @rest.byteslice(token.bytesize..)
      obey(token)
    end
  end

  private

  def clear(row, column)
    @cells ||= Array.new(@rows)
    @cells[row] = (@cells[row] || []).first(column) + [" "] * (@columns - column)
    (row + 1...@rows).each { |below| @cells[below] = [" "] * @columns }
  end

  def obey(token)
    case token
    when "\r" then @column = 0
    when "\n", "\eD" then down
    when "\eM" then up
    when "\b" then @column -= 1 if @column > 0
    when "\t" then @column = (@column / 8 + 1) * 8
    when "\x0e", "\x0f", "\a", "\0" then nil
    when /\A\e\[(.*)([A-Za-z])\z/n then control($2, $1.split(";").map(&:to_i))
    when "\e7" then @saved = [@row, @column]
    when "\e8" then @row, @column = @saved
    when /\A\e[()=>]/n then nil
    when /\A[\x20-\x7e]\z/n then put(token)
    else raise "unknown: #{token.inspect}"
    end
  end

  def put(character)
    if @column >= @columns
      @column = 0
      down
    end
    @cells[@row][@column] = character if @row < @rows
    @column += 1
  end

  def down
    if @row != @bottom then @row = [@row + 1, @rows - 1].min
    else
      @cells.delete_at(@top)
      @cells.insert(@bottom, [" "] * @columns)
    end
  end

  def up
    if @row != @top then @row = [@row - 1, 0].max
    else
      @cells.delete_at(@bottom)
      @cells.insert(@top, [" "] * @columns)
    end
  end

  def set_region(top, bottom)
    @top, @bottom = (top || 1) - 1, [bottom || @rows, @rows].min - 1
    @row = @column = 0
  end

  def control(letter, numbers)
    count = [numbers.first || 1, 1].max
    case letter
    when "H" then @row, @column = (numbers[0] || 1) - 1, (numbers[1] || 1) - 1
    when "J" then clear(@row, @column)
    when "K" then erase(numbers.first || 0)
    when "A" then @row = [@row - count, 0].max
    when "B" then @row = [@row + count, @rows - 1].min
    when "C" then @column = [@column + count, @columns - 1].min
    when "D" then @column = [@column - count, 0].max
    when "r" then set_region(*numbers)
    when "m", "h", "l" then nil
    else raise "unknown: #{letter}"
    end
  end

  def erase(part)
    return unless @row < @rows
    columns = part == 1 ? 0..@column : @column...@columns
    columns.each { |column| @cells[@row][column] = " " if column < @columns }
  end
end
