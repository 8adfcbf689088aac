"""Drawing that all figures share: blank figures, colours and heat maps."""
