"""What lies under a notebook: its entries, durable changes, and the journal of them."""
