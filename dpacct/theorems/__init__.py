"""Published bounds, one file per paper, each with its verdict; everything else calls them."""
