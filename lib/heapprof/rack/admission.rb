# frozen_string_literal: true

# admission.rb - which requests are answered. The rule stands in doc/production.md, "Who may ask". cli/serve/admission.c
# follows it, too.
#
# * With a token, every request that has the token is answered, over any connection.
# * Without a token, a client on this host is answered that root or the owner of this process runs (peer.rb). Its request has
#   to look like a client's: every header is one that clients send, and the host name is a name of this host.
#
# The token is the only part of a request that lets it in. Any part of it may keep it out.

require "digest"
require "ipaddr"
require_relative "peer"

module Heapprof
  class Rack
    class Admission # :nodoc:
      # Why a request is refused.
      class Refused < StandardError; end

      # Headers that curl, Go, Net::HTTP and browsers send by themselves. Any other header is taken for a proxy's. Clients
      # have few headers. Those of proxies have no end (Forwarded, Via, X-..., CF-..., Fastly-..., True-Client-IP, CDN-Loop).
      # HTTP_VERSION is not a header, but old servers have it among them.
      HEADERS = %w[ACCEPT ACCEPT_CHARSET ACCEPT_ENCODING ACCEPT_LANGUAGE AUTHORIZATION CACHE_CONTROL CONNECTION COOKIE DNT
                   HOST IF_MODIFIED_SINCE IF_NONE_MATCH KEEP_ALIVE PRAGMA PRIORITY RANGE REFERER TE UPGRADE_INSECURE_REQUESTS
                   USER_AGENT VERSION].to_h { |name| ["HTTP_#{name}", true] }.freeze

      # Headers of browsers that share a prefix.
      FAMILIES = /\AHTTP_SEC_(?:CH|FETCH|GPC)(?:_|\z)/

      # [token] A String, or +nil+.
      # [local] Whether a client on this host is answered if there is no token.
      def initialize(token, local = true)
        raise ArgumentError, "token: is empty" if token&.empty?
        @token = token && Digest::SHA256.digest(token)
        @local = local
      end

      def token? = !@token.nil?

      # Returns if the request may be answered; otherwise raises. [parameter] the query's token, or +nil+.
      def admit(env, parameter)
        raise Refused, "the request is no UTF-8" unless text?(env)
        return admit_token(env, parameter) if @token
        raise Refused, "no token is set, and local: is false" unless @local
        admit_headers(env)
        admit_peer(env)
      rescue Peer::Unknown => e
        raise Refused, e.message
      end

      private

      # Variables that are made of the request's bytes have names in capitals. The server adds the rest.
      def text?(env)
        env.all? do |name, value|
          utf8?(name) && (!value.is_a?(String) || !name.match?(/\A[A-Z]/) || utf8?(value))
        end
      end

      # The server may have set any encoding.
      def bytes(env, name) = env[name].to_s.b

      def utf8?(text) = text.dup.force_encoding(Encoding::UTF_8).valid_encoding?

      # ---- the token ----

      def admit_token(env, parameter)
        given = bytes(env, "HTTP_AUTHORIZATION")[/\ABearer +(\S+)\s*\z/i, 1] || parameter.to_s
        raise Refused, "the token is missing or wrong" unless same?(Digest::SHA256.digest(given))
      end

      # Compares in a time that does not depend on where the two differ.
      def same?(digest)
        digest.bytes.zip(@token.bytes).reduce(0) { |difference, (a, b)| difference | (a ^ b) }.zero?
      end

      # ---- reasons to refuse a request ----

      def admit_headers(env)
        env.each_key do |name|
          next if !name.start_with?("HTTP_") || HEADERS.key?(name) || name.match?(FAMILIES)
          raise Refused, "a client of this host sends no header #{name.delete_prefix('HTTP_').tr('_', '-').downcase}"
        end
        admit_browser(env)
      end

      # If a page of another site has sent the browser here, the browser says so. A browser that is too old to say so is
      # refused.
      def admit_browser(env)
        browser = bytes(env, "HTTP_USER_AGENT").match?(/\AMozilla\b/i) || env.key?("HTTP_REFERER") || env.key?("HTTP_COOKIE")
        return if env.key?("HTTP_SEC_FETCH_SITE") ? %w[none same-origin].include?(bytes(env, "HTTP_SEC_FETCH_SITE")) : !browser
        raise Refused, "a page of another site has sent the browser here"
      end

      def admit_peer(env)
        socket = Peer.socket(env) or raise Refused, "this server does not give the connection to its applications"
        admit_addresses(env) unless socket.local_address.unix?
        Peer.user(socket, users)
      rescue SystemCallError, IOError
        raise Refused, "the connection is closed"
      end

      # Another name that leads here (DNS rebinding) counts as another host. An address that the server was told (PROXY) may
      # be another host, too.
      def admit_addresses(env)
        raise Refused, "the request is not for localhost" unless loopback_host?(bytes(env, "HTTP_HOST"))
        raise Refused, "the client is not on this host" unless env["REMOTE_ADDR"].nil? || loopback?(bytes(env, "REMOTE_ADDR"))
      end

      def loopback_host?(host)
        name = host[/\A\[([^\]]*)\](?::\d+)?\z/, 1] || host.sub(/:\d*\z/, "")
        name.casecmp?("localhost") || loopback?(name)
      end

      def loopback?(address)
        address = IPAddr.new(address)
        address = address.native if address.ipv4_mapped?
        address.loopback? && address.to_range.first == address.to_range.last
      rescue IPAddr::Error
        false
      end

      # Returns root and the owner of this process. A setuid program has no owner.
      def users
        Process.uid == Process.euid ? [0, Process.uid] : [0]
      end
    end
  end
end
