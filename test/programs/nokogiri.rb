# frozen_string_literal: true

# nokogiri.rb - libxml2, libxslt and gumbo under nokogiri's C extension, on MRI's documentation.

require "rdoc"

class NokogiriProgram < Program
  DOCUMENTS = Dir[File.join(ARCHIVE, "{doc/**/*,*}.{md,rdoc}")].sort

  describe "nokogiri: parse, query, transform, build", gems: %w[nokogiri], holds: /Nokogiri/, compacts: true

  def work
    DOCUMENTS.each_with_index { |source, number| File.write(local(format("%03d.html", number)), html(source)) }
    ruby(File.join(SOURCE, "nokogiri/work.rb"), @directory)
  end

  private

  def html(source)
    text = File.read(source, encoding: "UTF-8")
    markup = source.end_with?(".md") ? RDoc::Markdown.parse(text) : RDoc::Markup.parse(text)
    body = markup.accept(RDoc::Markup::ToHtml.new(RDoc::Options.new))
    <<~HTML
      <!DOCTYPE html>
      <html><head><meta charset=utf-8><title>#{File.basename(source)}</title></head>
      <body>#{body}</body></html>
    HTML
  end
end
