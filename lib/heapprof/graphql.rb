# frozen_string_literal: true

# heapprof/graphql - labels each query with the name of its operation: operation: "CartPage".
#
#   require "heapprof/graphql"
#
#   class ShopSchema < GraphQL::Schema
#     use Heapprof::GraphQL
#   end
#
# A query without a name is "(anonymous)", and queries that come together (Schema.multiplex) are "(several)".
# Clients choose the names. So a client that makes them up may use up the values of this key; what is beyond them is "(other)".

require "graphql"
require_relative "labels"

module Heapprof
  module GraphQL
    def self.use(schema)
      schema.respond_to?(:trace_with) ? schema.trace_with(Trace) : schema.tracer(Tracer)
    end

    # All of it is labelled, not each query: fields are run by a Dataloader's fibers, which serve all queries.
    def self.label(queries, &)
      Labels.with(late: :operation) { Labels.with(operation: name_of(queries), &) }
    end

    # Parses the query if that has not been done. So its name comes late.
    def self.name_of(queries)
      queries.size == 1 ? queries.first.selected_operation_name || "(anonymous)" : "(several)"
    end
    private_class_method :name_of

    # For GraphQL 2.
    module Trace
      def execute_multiplex(multiplex:) = GraphQL.label(multiplex.queries) { super }
    end

    # For GraphQL 1.
    module Tracer
      def self.trace(event, data, &)
        event == "execute_multiplex" ? GraphQL.label(data[:multiplex].queries, &) : yield
      end
    end
  end
end
