# frozen_string_literal: true

# test_graphql.rb - heapprof/graphql with GraphQL, also for what comes later: a Dataloader's fibers, and queries that come together.

require_relative "lib/labels_test"
require "graphql"
require "heapprof/graphql"

class LinesSource < GraphQL::Dataloader::Source
  def fetch(ids)
    LabelsTest.note(:fetch)
    ids
  end
end

class QueryType < GraphQL::Schema::Object
  graphql_name "Query"
  field :total, Integer, null: false do
    argument :as, String, required: false
  end
  field :line, Integer, null: false
  field :fails, Integer, null: false

  KEPT = []

  def total(as: "total")
    LabelsTest.note(as.to_sym)
    KEPT << LabelsTest::Kept.new
    1
  end

  def line = dataloader.with(LinesSource).load(1)

  def fails = raise(GraphQL::ExecutionError, "fails")
end

class ShopSchema < GraphQL::Schema
  query QueryType
  use GraphQL::Dataloader
  use Heapprof::GraphQL
end

class TestGraphQL < Test::Unit::TestCase
  include LabelsTest

  def test_a_query_has_the_name_of_its_operation
    answer = ShopSchema.execute("query CartPage { total }")
    assert_equal [{ "data" => { "total" => 1 } }, { operation: "CartPage" }], [answer.to_h, noted[:total]]
  end

  def test_of_several_operations_it_is_the_chosen_one
    ShopSchema.execute("query One { total } query Two { total }", operation_name: "Two")
    assert_equal({ operation: "Two" }, noted[:total])
  end

  def test_a_query_without_a_name_is_anonymous
    ShopSchema.execute("{ total }")
    assert_equal({ operation: "(anonymous)" }, noted[:total])
  end

  def test_what_a_dataloader_fetches_has_the_name
    ShopSchema.execute("query Lines { line }")
    assert_equal({ operation: "Lines" }, noted[:fetch])
  end

  def test_queries_that_come_together_are_several
    ShopSchema.multiplex([{ query: 'query One { total(as: "one") }' }, { query: 'query Two { total(as: "two") }' }])
    assert_equal({ one: { operation: "(several)" }, two: { operation: "(several)" } }, noted)
  end

  def test_what_is_no_query_is_answered_as_ever
    assert_match(/parse|expected|unexpected/i, ShopSchema.execute("query {").to_h["errors"].first["message"])
    assert_equal ["fails"], ShopSchema.execute("query A { fails }").to_h["errors"].map { |error| error["message"] }
    assert_match(/No operation/i, ShopSchema.execute("query A { total }", operation_name: "B").to_h["errors"].first["message"])
  end

  # Its name is known when it has been parsed.
  def test_a_query_that_is_kept_has_its_own_name
    query = GraphQL::Query.new(ShopSchema, "query Kept { total }")
    assert_equal [{ operation: "Kept" }], labels_in_profile(GraphQL::Language::Nodes::OperationDefinition) { query.result && query }
  end

  def test_what_a_query_keeps_has_its_name_in_a_profile
    assert_equal [{ operation: "CartPage" }], labels_in_profile { ShopSchema.execute("query CartPage { total }") && QueryType::KEPT }
  end
end
