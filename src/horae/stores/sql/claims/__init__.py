"""Claims of the SQL stores: order, lanes and rates, ordinary batches."""
