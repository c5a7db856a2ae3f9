"""Learning and labelling on several machines: shards of the data in actors, and what goes on between them."""
