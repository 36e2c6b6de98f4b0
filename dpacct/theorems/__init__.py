"""Published bounds, one file per paper; everything else calls them."""
