"""For those who test what they built on Horae, or a store of their own: factories, and contracts that a store keeps."""
