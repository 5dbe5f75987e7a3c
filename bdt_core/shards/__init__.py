"""Tables larger than memory: typed columns in files, worked through one shard after the other.

The source is read once, in batches. Each batch is typed and written as one shard, a file of columns in Arrow's format
that is mapped into memory afterwards. What is random follows from the content of the rows, and what is added up over
shards is whole numbers, so that neither the division into shards nor their order can be seen in the result.
"""
