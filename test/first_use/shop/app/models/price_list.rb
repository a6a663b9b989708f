# Leak 2: a cache whose keys never come again.
class PriceList
  @prices = {}

  class << self
    def quote(id)
      @prices[id] ||= Array.new(40) { |i| "#{i} #{id} #{'.' * 2_000}" }
    end
  end
end
