require "minitest/autorun"
require "wordcount"

class WordCountTest < Minitest::Test
  def test_words_are_counted
    count = WordCount.new("a rose is a rose is a rose")
    assert_equal [3, 3, 2, 0], [count["a"], count["rose"], count["is"], count["thorn"]]
    assert_equal 3, count.size
  end

  def test_long_words_are_refused
    assert_raises(ArgumentError) { WordCount.new("a rose " + "x" * 100) }
  end
end
