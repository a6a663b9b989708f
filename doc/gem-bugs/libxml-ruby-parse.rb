# frozen_string_literal: true

# libxml-ruby 6.0.0 on any Ruby:
#   heapprof memcheck -- ruby libxml-ruby-parse.rb
#   definitely lost: xmlNewDoc (libxml2.so.2) for rxml_parser_parse (libxml_ruby.so)
# When LibXML::XML::Parser#parse raises, what was parsed until then is lost: here half a kilobyte each time, and with a large
# document all of it. libxml-ruby-parse.patch mends it: the parser's context frees the document, unless parse has returned it.

require "libxml-ruby"

LibXML::XML::Error.set_handler { nil } # nothing on stderr
100.times do
  LibXML::XML::Parser.string("<a><b></a>").parse
rescue LibXML::XML::Error
  # As expected: b has no end.
end
