"""What all figures share: canvas, colours and heat maps."""
