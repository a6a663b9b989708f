# frozen_string_literal: true

# proxies.rb - HAProxy, nginx and Caddy as Debian has them, each with a front port for each route.
#
# A route leads to a server over IPv4, IPv6 or a Unix socket, in one of three ways:
#
#   plain      as the proxy does by default: HAProxy adds nothing, nginx speaks HTTP/1.0, Caddy adds X-Forwarded-For
#   localhost  with "Host: localhost", and without any header that says that there is a proxy
#   nameless   the same without Host, where the proxy can

require "fileutils"

module Proxies
  WAYS = %w[plain localhost nameless].freeze

  # backend: "127.0.0.1:80", "[::1]:80" or the path of a socket; front: a port.
  Route = Struct.new(:front, :backend, :way) do
    def socket? = backend.start_with?("/")
  end

  module_function

  PACKAGES = { "haproxy" => "haproxy", "nginx" => "nginx", "caddy" => "caddy" }.freeze
  USERS = { "haproxy" => "haproxy", "nginx" => "www-data", "caddy" => "caddy" }.freeze

  # The command that runs it in the foreground; user: NIL for Debian's own.
  def command(name, user, routes, directory)
    file = File.join(directory, "configuration")
    File.write(file, public_send(:"#{name}_configuration", user, routes, directory))
    as = ->(who, *words) { ["setpriv", "--reuid", who, "--regid", Etc.getpwnam(who).gid.to_s, "--clear-groups", *words] }
    case name
    when "haproxy" then user && user != "root" ? as.(user, "haproxy", "-db", "-f", file) : ["haproxy", "-db", "-f", file]
    when "nginx" then user && user != "root" ? as.(user, "nginx", "-p", directory, "-c", file) : ["nginx", "-p", directory, "-c", file]
    when "caddy" then as.(user || USERS[name], "caddy", "run", "--config", file, "--adapter", "caddyfile")
    end
  end

  def haproxy_configuration(user, routes, _directory)
    text = +"global\n"
    text << "  user haproxy\n  group haproxy\n" unless user
    text << "defaults\n  mode http\n  timeout connect 5s\n  timeout client 30s\n  timeout server 30s\n"
    routes.each_with_index do |route, i|
      text << "listen route#{i}\n  bind 127.0.0.1:#{route.front}\n"
      text << "  http-request set-header Host localhost\n" if route.way == "localhost"
      text << "  http-request del-header Host\n" if route.way == "nameless"
      text << "  server backend #{route.socket? ? "unix@#{route.backend}" : route.backend.delete('[]')}\n"
    end
    text
  end

  # Its master binds, and the workers of another user ask.
  def nginx_configuration(user, routes, directory)
    text = +"daemon off;\npid #{directory}/pid;\nerror_log #{directory}/log;\nworker_processes 1;\n"
    text << "user #{user || 'www-data'};\n" if user.nil? || user == "root"
    text << "events { worker_connections 512; }\nhttp {\n  access_log off;\n"
    %w[client_body proxy fastcgi uwsgi scgi].each { |kind| text << "  #{kind}_temp_path #{directory}/#{kind};\n" }
    routes.each do |route|
      header = { "localhost" => "proxy_set_header Host localhost;", "nameless" => 'proxy_set_header Host "";' }[route.way]
      backend = route.socket? ? "unix:#{route.backend}:" : route.backend
      text << "  server { listen 127.0.0.1:#{route.front}; location / { #{header} proxy_pass http://#{backend}; } }\n"
    end
    text << "}\n"
  end

  # It always sends a Host, so "nameless" is "localhost" with nothing in it.
  def caddy_configuration(_user, routes, directory)
    text = +"{\n  admin off\n  auto_https off\n  storage file_system #{directory}\n}\n"
    routes.each do |route|
      text << "http://:#{route.front} {\n  bind 127.0.0.1\n  reverse_proxy #{route.socket? ? "unix/#{route.backend}" : route.backend}"
      unless route.way == "plain"
        text << " {\n    header_up Host #{route.way == 'localhost' ? 'localhost' : '""'}\n"
        %w[X-Forwarded-For X-Forwarded-Proto X-Forwarded-Host].each { |header| text << "    header_up -#{header}\n" }
        text << "  }"
      end
      text << "\n}\n"
    end
    text
  end
end
