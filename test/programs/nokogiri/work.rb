# frozen_string_literal: true

# work.rb DIRECTORY - every large part of nokogiri on the HTML files there, one line a part: how much
# was found, and the checksum of all of it. Objects of libxml2's and of Ruby's point at each other in each part.

require "nokogiri"
require "digest"

FILES = Dir[File.join(ARGV.fetch(0), "*.html")].sort
TEXTS = FILES.map { |file| File.read(file, encoding: "UTF-8") }

# The rest of the parts keep what this one made: parsed twice, by libxml2 and by gumbo.
HTML4 = TEXTS.map { |text| Nokogiri::HTML4(text, nil, "UTF-8") }
HTML5 = TEXTS.map { |text| Nokogiri::HTML5(text, max_errors: 100) }

def part(name)
  results = yield
  puts "#{name}: #{results.size}, #{Digest::SHA256.hexdigest(results.join("\n"))}"
end

# Ruby called from libxml2, for a CSS pseudo-class and an XPath function.
class Functions
  def shouting(nodes) = nodes.select { |node| node.text.match?(/\b[A-Z]{3,}\b/) }

  def stem(nodes)
    words = nodes.map { |node| node.text[/\w+/].to_s.downcase }
    words.tally.max_by { |word, count| [count, word] }.to_a.join(" ")
  end
end

# Ruby called from libxslt.
class Words
  def count(text) = text.split.size
end

# Ruby called for each event of a parser.
class Events < Nokogiri::XML::SAX::Document
  attr_reader :seen

  def initialize = @seen = []

  def start_element(name, attributes = []) = @seen << [name, *attributes.flatten].join(" ")

  def characters(text) = @seen << text.strip

  def comment(text) = @seen << text
end

# Decorates nodes of one document with methods.
module Counted
  def words = text.split.size
end

part("html4") { HTML4.map(&:to_html) }
part("html4 errors") { HTML4.flat_map(&:errors).map(&:to_s) }
part("html5") { HTML5.map(&:to_html) }
part("html5 errors") do
  TEXTS.flat_map { |text| Nokogiri::HTML5(text.gsub("</p>", "</div>"), max_errors: 100).errors.map(&:to_s) }
end
part("xpath") { HTML4.flat_map { |document| document.xpath("//pre[preceding-sibling::p]|//a/@href").map(&:to_s) } }
part("css") { HTML5.flat_map { |document| document.css("h1 ~ p:has(code), li > p:first-child, span").map(&:to_html) } }
part("css functions") { HTML5.flat_map { |document| document.css("p:shouting()", Functions.new).map(&:text) } }
part("xpath functions") { HTML4.map { |document| document.xpath("nokogiri:stem(//code)", Functions.new).to_s } }

part("sax") do
  TEXTS.flat_map do |text|
    events = Events.new
    Nokogiri::HTML4::SAX::Parser.new(events, "UTF-8").parse(text)
    events.seen
  end
end

part("sax, pushed") do
  TEXTS.first(60).flat_map do |text|
    events = Events.new
    parser = Nokogiri::HTML4::SAX::PushParser.new(events, nil, "UTF-8")
    text.each_char.each_slice(997) { |chunk| parser << chunk.join }
    parser.finish
    events.seen
  end
end

part("reader") do
  HTML5.flat_map do |document|
    Nokogiri::XML::Reader(document.to_xhtml).map { |node| [node.depth, node.name, *node.attributes].join(" ") }
  end
end

Nokogiri::XSLT.register("urn:words", Words)
OUTLINE = Nokogiri::XSLT(File.read(File.join(__dir__, "outline.xsl")))
OUTLINES = HTML4.zip(FILES).map do |document, file|
  OUTLINE.transform(document, Nokogiri::XSLT.quote_params(["name", File.basename(file)]))
end
GRAMMAR = Nokogiri::XML::RelaxNG(File.read(File.join(__dir__, "outline.rng")))
part("xslt") { OUTLINES.map(&:to_xml) }
part("relax ng") { OUTLINES.reject { |outline| GRAMMAR.valid?(outline) }.map(&:to_s) }
part("relax ng errors") do
  wrong = OUTLINES.map(&:dup).each { |outline| outline.xpath("//heading[1]").remove_attr("words") }
  wrong.flat_map { |outline| GRAMMAR.validate(outline).map(&:to_s) }
end

LIBRARY = Nokogiri::XML::Builder.new(encoding: "UTF-8") do |xml|
  xml.library("xmlns" => "urn:library", "xmlns:o" => "urn:other") do
    OUTLINES.each do |outline|
      xml.document(name: outline.root["name"]) do
        xml["o"].headings do
          outline.xpath("//heading").each { |heading| xml.heading(heading.text, level: heading["level"]) }
        end
        xml.cdata outline.xpath("//constant").map(&:text).uniq.join(" ")
      end
    end
  end
end.doc
part("builder") { LIBRARY.to_xml(indent: 1).lines }
part("canonical") { LIBRARY.canonicalize(Nokogiri::XML::XML_C14N_1_1).lines }

# Nodes change documents; what they leave behind dies, what holds them must not.
part("moved") do
  home = Nokogiri::HTML5("<body></body>")
  HTML5.map(&:dup).each do |document|
    document.css("pre").each { |node| node.replace("<p>code</p>") }
    document.css("p, ul").each_slice(2) { |node, _| home.at("body").add_child(node) }
  end
  GC.start
  home.css("li").each { |node| node.wrap("<div class=item></div>") }
  home.css("p").each { |node| node["n"] = node.path.size.to_s }
  home.css("p:empty, em").unlink
  home.to_html.lines
end

part("fragments") do
  fragments = TEXTS.map { |text| Nokogiri::HTML5.fragment(text[/<body>(.*)/m, 1]) }
  fragments.each { |fragment| fragment.css("a").each { |link| link.swap(link.children) } }
  fragments.map(&:to_html)
end

part("decorated") do
  OUTLINES.flat_map do |outline|
    outline = outline.dup
    outline.decorators(Nokogiri::XML::Node) << Counted
    outline.decorate!
    outline.xpath("//heading").map(&:words)
  end
end

part("encodings") do
  TEXTS.last(60).map do |text|
    latin = text.encode("ISO-8859-1", undef: :replace, invalid: :replace)
    wide = Nokogiri::HTML4(latin, nil, "ISO-8859-1").to_html(encoding: "UTF-16LE")
    wide.encode("UTF-8", invalid: :replace, undef: :replace)
  end
end

part("threads") do
  TEXTS.each_slice(TEXTS.size.fdiv(4).ceil).map do |texts|
    Thread.new do
      texts.flat_map { |text| Nokogiri::HTML5(text).css("p, pre").map { |node| "#{node.path} #{node.content.size}" } }
    end
  end.flat_map(&:value)
end

# A GC at each allocation; then everything moves, and is looked at again.
part("GC.stress") do
  small = TEXTS.min_by(2, &:size)
  GC.stress = true
  begin
    small.map { |text| Nokogiri::HTML5(text).css("p").to_html + OUTLINE.transform(Nokogiri::HTML4(text)).to_xml }
  ensure
    GC.stress = false
  end
end

part("compacted") do
  [HTML4, HTML5, OUTLINES].flat_map do |documents|
    GC.compact
    documents.map { |document| [*document.root.enum_for(:traverse).map(&:name), document.to_s].join(" ") }
  end
end

part("auto_compact") do
  before = GC.auto_compact
  GC.auto_compact = true
  TEXTS.last(60).map { |text| Nokogiri::HTML5(text).to_xhtml }
ensure
  GC.auto_compact = before
end
