# frozen_string_literal: true

# pg 1.7.0 on any Ruby:
#   RUBY_WBCHECK=1 ruby pg-type-maps.rb
#   write barrier missed: PG::TypeMapByColumn (PG::TypeMapByColumn+0x30) -> PG::TypeMapAllStrings
# and heapprof barriers --extconf says it of the source, with six more stores of this kind. When a result gets a type map that is
# written in Ruby, PG::TypeMapInRuby stores its default type map into the map that #fit_to_result has returned, without a write
# barrier. If that map is old, a minor GC frees the default type map once nothing else refers to it, and the next value that is
# cast calls a function of what is there then. pg-type-maps.patch adds the barriers. No database is needed: the script has a server
# that knows one answer.

require "pg"
require "socket"

# A server that knows one answer: a row of one column.
server = TCPServer.new("127.0.0.1", 0)
Thread.new do
  client = server.accept
  message = ->(kind, body) { client.write(kind, [body.bytesize + 4].pack("N"), body) }
  client.read(client.read(4).unpack1("N") - 4) # whom the client is
  message.("R", [0].pack("N"))
  message.("Z", "I")
  while client.read(1) == "Q"
    client.read(client.read(4).unpack1("N") - 4)
    message.("T", [1].pack("n") + "a\0" + [0, 0, 23, 4, -1, 0].pack("NnNnNn"))
    message.("D", [1, 1].pack("nN") + "7")
    message.("C", "SELECT 1\0")
    message.("Z", "I")
  end
end
connection = PG.connect(host: "127.0.0.1", port: server.addr[1], dbname: "none", sslmode: "disable", gssencmode: "disable")

# It answers with a map that it made long ago.
class Old < PG::TypeMapInRuby
  attr_accessor :map

  def fit_to_result(_result) = map
end

old = Old.new
old.map = PG::TypeMapByColumn.new([nil])
4.times { GC.start }
old.default_type_map = PG::TypeMapAllStrings.new
result = connection.exec("select 7")
result.type_map = old
puts result.getvalue(0, 0)
